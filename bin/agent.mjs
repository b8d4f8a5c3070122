#!/usr/bin/env node
/**
 * The launcher where there is no POSIX shell: runs `agent` on the pinned Node as a child, forwards
 * signals to it and leaves as it left. `bin/agent` does the same without a second process.
 */
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const main = [join(root, 'bin', 'main.ts'), join(root, 'dist', 'bin', 'main.js')].find((path) => existsSync(path));
if (!main) fail(`${root} holds neither bin/main.ts nor dist/bin/main.js — install the package again`);

const child = spawn(pinnedNode() ?? ownNode(), [main, ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
child.on('error', (thrown) => fail(thrown.message));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  // Die of the same signal, so that a shell sees what really happened; where it is caught, use its number.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});

function pinnedNode() {
  const pin = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  return [join(root, 'node_modules'), dirname(root)].map((dir) => join(dir, pin, 'bin', executable)).find((path) => existsSync(path));
}

function ownNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 24 || (major === 24 && minor < 12))
    fail(`node ${process.version} is too old — install Node.js 24.12 or newer, from https://nodejs.org`);
  return process.execPath;
}

function fail(message) {
  process.stderr.write(`agent: ${message}\n`);
  process.exit(1);
}
