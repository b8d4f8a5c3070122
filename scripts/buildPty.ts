/**
 * npm's `prepare`, first part: builds node-pty where it brings no binary for this machine (Linux), against the
 * headers of the pinned Node that npm has just installed. Its own install script is denied in package.json: without
 * `nodedir` in the npm configuration it fetches headers from nodejs.org. An install without a compiler succeeds: only
 * the terminals of the page need the module, and they name what is missing.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isTerminalBuilt, missingBuildTools, pinnedHeaders, terminalFix, terminalModule } from '../state/terminalModule.ts';

const root = join(import.meta.dirname, '..');
/** Three seconds on an idle machine. */
const BUILD_MS = 300_000;

const module = terminalModule(root);
if (module && !isTerminalBuilt(module) && !(missingBuildTools().length === 0 && build(module))) {
  process.stderr.write(`Terminals of the page are not available: node-pty is not built. To build it: ${terminalFix(root)}\n`);
}

function build(cwd: string): boolean {
  const nodedir = pinnedHeaders(root);
  const env = { ...process.env, ...(nodedir === undefined ? {} : { npm_config_nodedir: nodedir }) };
  const { status } = spawnSync('npm', ['run', 'install'], { cwd, stdio: 'ignore', env, timeout: BUILD_MS });
  return status === 0 && isTerminalBuilt(cwd);
}
