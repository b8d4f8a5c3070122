/**
 * npm's `prepare`, first part: builds node-pty where it brings no binary for this machine (Linux), against the
 * headers of the pinned Node that npm has just installed. Its own install script is denied in package.json: without
 * `nodedir` in the npm configuration it fetches headers from nodejs.org, and an install that reaches nothing but an
 * npm registry would fail.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const place = join(root, 'node_modules', 'node-pty');
/** Three seconds on an idle machine. */
const BUILD_MS = 300_000;
const here = `${process.platform}-${process.arch}`;

if (existsSync(place) && !isThere()) process.exitCode = build();

function isThere(): boolean {
  return existsSync(join(place, 'build/Release/pty.node')) || existsSync(join(place, 'prebuilds', here));
}

/** Answers the exit code. */
function build(): number {
  const pinned = join(root, 'node_modules', `node-${here}`);
  const nodedir = existsSync(join(pinned, 'include/node/node_api.h')) ? pinned : undefined;
  const { status, error, stdout } = spawnSync('npm', ['run', 'install'], {
    cwd: place,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...(nodedir === undefined ? {} : { npm_config_nodedir: nodedir }) },
    timeout: BUILD_MS,
  });
  if (status === 0 && isThere()) return 0;
  process.stdout.write(stdout ?? '');
  process.stderr.write(
    `node-pty could not be built${error ? ` (${error.message})` : ''}: it wants a C++ compiler, make and python3 (Debian: apt install build-essential python3); then repeat npm ci\n`,
  );
  return 1;
}
