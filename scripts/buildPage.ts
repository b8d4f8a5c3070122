/**
 * Builds the dashboard page with Vite into `dist/page`, each text file also as brotli and gzip, so that
 * the dashboard worker never compresses anything itself.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

export interface PageSize {
  /** Scripts that the first load needs, gzipped. */
  firstLoadBytes: number;
  files: { name: string; gzipBytes: number }[];
}

const COMPRESSED = new Set(['.js', '.css', '.svg', '.webmanifest']);
/** Stands in the built page where the dashboard puts the session token. */
const BOOT_MARK = '<!--agent:boot-->';

/** Answers the sizes, for the budget. `root` is the directory of the package. */
export async function buildPage(root: string): Promise<PageSize> {
  // Loaded here: the rest of a build, and `pageIsFresh`, must not pay for Vite.
  const [{ build }, { default: react }, { default: tailwind }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
    import('@tailwindcss/vite'),
  ]);
  // Built aside and put in place at the end: nobody ever reads half a page.
  const outDir = join(root, 'dist', `.page-${process.pid}`);
  await build({
    configFile: false,
    root: join(root, 'web'),
    logLevel: 'warn',
    plugins: [react(), tailwind()],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 700,
    },
  });
  const html = readFileSync(join(outDir, 'index.html'), 'utf8');
  if (!html.includes(BOOT_MARK)) throw new Error(`web/index.html lost its ${BOOT_MARK}`);
  compress(outDir);
  const sizes = sizesOf(outDir, html);
  rmSync(join(root, 'dist', 'page'), { recursive: true, force: true });
  renameSync(outDir, join(root, 'dist', 'page'));
  return sizes;
}

/** Whether `dist/page` is newer than everything it is made of. */
export function pageIsFresh(root: string): boolean {
  const built = statSync(join(root, 'dist', 'page', 'index.html'), { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return false;
  if (!existsSync(join(root, 'web'))) return true;
  const sources = [...filesBelow(join(root, 'web')), join(root, 'scripts', 'buildPage.ts'), join(root, 'package-lock.json')];
  return sources.every((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) <= built);
}

function compress(dir: string): void {
  for (const file of filesBelow(dir).filter((path) => COMPRESSED.has(extname(path)))) {
    const bytes = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(
      `${file}.br`,
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
  }
}

function sizesOf(dir: string, html: string): PageSize {
  const files = filesBelow(dir)
    .filter((path) => path.endsWith('.gz'))
    .map((path) => ({ name: path.slice(dir.length + 1, -3), gzipBytes: statSync(path).size }));
  const first = files.filter(({ name }) => name.endsWith('.js') && html.includes(name));
  return { firstLoadBytes: first.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0), files };
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

if (import.meta.main) {
  const { firstLoadBytes, files } = await buildPage(join(import.meta.dirname, '..'));
  for (const { name, gzipBytes } of files) process.stdout.write(`${String(Math.ceil(gzipBytes / 1_000)).padStart(6)} kB gz  ${name}\n`);
  process.stdout.write(`${String(Math.ceil(firstLoadBytes / 1_000)).padStart(6)} kB gz  first load, scripts\n`);
}
