/**
 * The built page, held in memory as it was compressed at build time: about half a megabyte, and an
 * update of the files on disk cannot mix two releases in one tab. Refuses every path it did not read.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { digest } from '../../base/ids.ts';

export interface Asset {
  type: string;
  etag: string;
  /** Its name carries the hash of its content, so it never changes. */
  immutable: boolean;
  plain?: Buffer;
  gzip?: Buffer;
  brotli?: Buffer;
}

export interface Page {
  built: boolean;
  asset(path: string): Asset | undefined;
  index(boot: Boot): { html: string; policy: string };
}

/** What the page starts with: the token (null: it asks for it), or the word that its cookies are its proof. */
export type Boot = { token: string | null } | { signedIn: true };

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

/** Where scripts/buildPage.ts puts the element that the token goes into. */
const BOOT_MARK = '<!--agent:boot-->';

/** `dir` is `dist/page`; a missing one serves a page that says how to build it. */
export function loadPage(dir: string): Page {
  const indexFile = join(dir, 'index.html');
  const built = existsSync(indexFile);
  const template = built ? readFileSync(indexFile, 'utf8') : notBuilt;
  const assets = built ? readAssets(dir) : new Map<string, Asset>();
  return {
    built,
    asset: (path) => assets.get(path),
    index(boot) {
      const nonce = randomBytes(16).toString('base64');
      // `<` cannot end the script element early, whatever a pinned token holds.
      const value = 'token' in boot ? JSON.stringify(boot.token).replaceAll('<', '\\u003c') : 'null';
      const words = 'token' in boot ? `window.__AGENT_SESSION_TOKEN__=${value}` : 'window.__AGENT_AUTH_REQUIRED__=true';
      const script = `<script nonce="${nonce}">${words}</script>`;
      // A replacement function: a token with `$&` in it is no pattern.
      const html = template.replaceAll('__NONCE__', nonce).replace(BOOT_MARK, () => script);
      return { html, policy: policyOf(nonce) };
    },
  };
}

/** Scripts and styles of this origin or with this nonce, nothing embedded, nothing sent elsewhere. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    // Attributes alone: the terminal sets colours cell by cell. What a model wrote never keeps a style attribute.
    "style-src-attr 'unsafe-inline'",
    // No string becomes HTML except through the sanitizer of the chat.
    "require-trusted-types-for 'script'",
    'trusted-types dompurify',
    // `blob:` is what this page made itself: pictures of a conversation, fetched with the proof of who asks.
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function readAssets(dir: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || ['.gz', '.br', '.html'].includes(extname(entry.name))) continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(dir.length).replaceAll('\\', '/');
    const gzip = optional(`${file}.gz`);
    const brotli = optional(`${file}.br`);
    const plain = readFileSync(file);
    assets.set(path, {
      type: types[extname(entry.name)] ?? 'application/octet-stream',
      etag: `"${digest(plain, 32)}"`,
      immutable: path.startsWith('/assets/'),
      ...(gzip ? { gzip } : { plain }),
      ...(brotli ? { brotli } : {}),
    });
  }
  return assets;
}

function optional(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined;
}

/** The smallest form the client takes. */
export function encodingFor(asset: Asset, accepts: string): { body: Buffer; encoding?: 'br' | 'gzip' } {
  if (asset.brotli && /\bbr\b/.test(accepts)) return { body: asset.brotli, encoding: 'br' };
  if (asset.gzip && /\bgzip\b/.test(accepts)) return { body: asset.gzip, encoding: 'gzip' };
  return { body: asset.plain ?? gunzipSync(asset.gzip!) };
}

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Agent</title>
<body><h1>The page is not built</h1><p>Run <code>npm run build</code> in the directory of the service, then load this page again.
The API below <code>/api/</code> works without it.</p></body></html>
`;
