/** The native module of the terminal worker: where it is, and the command that builds it where npm has not. */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { release } from './release.ts';

/** As package.json pins it. */
const VERSION = '1.1.0';

const here = `${process.platform}-${process.arch}`;

/** In the package's own node_modules, beside it where npm has put all packages into one folder, or where `terminalFix` adds it. */
const folders = (root: string): string[] => [join(root, 'node_modules'), dirname(root), join(root, 'dist', 'node_modules')];

/** Folder of a module that is installed with the package. */
export function installedModule(name: string, root: string): string | undefined {
  return folders(root)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(join(path, 'package.json')));
}

/** Its folder; undefined where npm left it out. */
export const terminalModule = (root: string = release().root): string | undefined => installedModule('node-pty', root);

export const isTerminalBuilt = (module: string): boolean =>
  existsSync(join(module, 'build/Release/pty.node')) || existsSync(join(module, 'prebuilds', here));

/** Holds the headers of the pinned Node, so that none are fetched. */
export function pinnedHeaders(root: string = release().root): string | undefined {
  return folders(root)
    .map((folder) => join(folder, `node-${here}`))
    .find((path) => existsSync(join(path, 'include/node/node_api.h')));
}

/** Programs that the build needs and that are not on the PATH. */
export function missingBuildTools(path: string = process.env.PATH ?? ''): string[] {
  const has = (name: string) => path.split(delimiter).some((folder) => existsSync(join(folder || '.', name)));
  return [['python3'], ['make'], ['c++', 'g++', 'clang++']].filter((names) => !names.some(has)).map(([name]) => name!);
}

/** What to do so that terminals work: what to install first, and a command that needs nothing but the installed files. */
export function terminalFix(root: string = release().root): string {
  const missing = missingBuildTools();
  const first = missing.length ? `install ${missing.join(', ')} (Debian: apt install build-essential python3), then run: ` : '';
  const headers = pinnedHeaders(root);
  const build = (module: string) => `cd ${module} && ${headers === undefined ? '' : `npm_config_nodedir=${headers} `}npm run install`;
  const module = terminalModule(root);
  if (module) return `${first}${build(module)}`;
  // npm leaves an optional package out when it may not run, or cannot run, its script.
  const dist = join(root, 'dist');
  return `${first}npm install --prefix ${dist} --no-save --ignore-scripts node-pty@${VERSION} && ${build(join(dist, 'node_modules', 'node-pty'))}`;
}
