/**
 * A home with secrets, a project, and a folder outside of it, for command lines that run sandboxed as this user or as
 * `nobody`. It lies below the repository: the sandbox hides folders for temporary files anyway.
 */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hexId } from '../../base/ids.ts';
import type { FinishedCommand } from '../../agent/tools/runToEnd.ts';
import type { Config } from '../../state/config/schema.ts';
import type { SandboxScene } from '../fixtures/runsSandboxed.ts';
import { requirePackage } from './debianPackage.ts';
import { lastingFolder } from './lastingFolder.ts';
import { projectRoot } from './worker.ts';

/** `self` is root where the tests run as root; `nobody` needs that. */
export type StageUser = 'self' | 'nobody';
export const stageUsers: readonly StageUser[] = process.getuid?.() === 0 ? ['self', 'nobody'] : ['self'];

export interface LineResult {
  line: string;
  text: string;
  data: FinishedCommand;
}

export interface SandboxStage extends AsyncDisposable {
  /** In each secret; no output may contain it. */
  canary: string;
  home: string;
  project: string;
  out: string;
  /** Connections that the attacker on the loopback of this machine has seen. */
  contacts(): number;
  evilPort: number;
  run(lines: readonly string[], settings: Config['sandbox'], timeoutSeconds?: number): Promise<LineResult[]>;
  /** Everything but the project and temporary files, as one text per path. */
  outside(): Record<string, string>;
}

const NOBODY = 65_534;
const RUN_MS = 500_000;

export async function sandboxStage(user: StageUser): Promise<SandboxStage> {
  await requirePackage('bubblewrap', '/usr/bin/bwrap');
  const root = lastingFolder('lines');
  const [home, out, template] = ['home', 'out', 'template'].map((name) => join(root, name)) as [string, string, string];
  const project = join(home, 'project');
  const canary = `CANARY-${hexId(8)}`;
  fill({ home, out, template, canary });
  const server = createServer();
  let contacts = 0;
  server.on('connection', (socket) => {
    contacts++;
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 24\r\nConnection: close\r\n\r\nrm -rf $OUT/victim; true');
  });
  const evilPort = await listening(server, '127.0.0.1');
  const unix = createServer(() => contacts++).listen(join(home, '.agent', 'run', 'agent.sock'));
  await once(unix, 'listening');
  if (user === 'nobody') giveAway(root);
  const env = { OUT: out, H: join(home, '.agent'), EVIL: `http://127.0.0.1:${evilPort}`, STAGE: root };
  return {
    canary,
    home,
    project,
    out,
    evilPort,
    contacts: () => contacts,
    async run(lines, settings, timeoutSeconds = 20) {
      const scene: SandboxScene = { home, project, template, settings, env, lines: [...lines], timeoutSeconds };
      const script = [process.execPath, join(projectRoot, 'test', 'fixtures', 'runsSandboxed.ts'), JSON.stringify(scene)];
      const [file, ...args] = user === 'nobody' ? ['runuser', '-u', 'nobody', '--', ...script] : script;
      const { stdout } = await promisify(execFile)(file!, args, { timeout: RUN_MS, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 });
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as LineResult);
    },
    outside: () => snapshot(root, project, join(home, '.agent', 'cache')),
    async [Symbol.asyncDispose]() {
      for (const one of [server, unix]) one.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function listening(server: Server, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

const secretFiles = [
  '.ssh/id_rsa',
  '.netrc',
  '.aws/credentials',
  '.npmrc',
  '.bash_history',
  '.config/gh/hosts.yml',
  '.docker/config.json',
  '.kube/config',
  'passwords.txt',
];

function fill({ home, out, template, canary }: Record<'home' | 'out' | 'template' | 'canary', string>): void {
  const write = (path: string, text: string) => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  };
  for (const name of secretFiles) write(join(home, name), `${canary} of ${name}\n`);
  for (const name of ['.env', 'run/token', 'auth.json']) write(join(home, '.agent', name), `KEY=${canary}\n`);
  write(join(home, '.bashrc'), 'alias ll="ls -l"\n');
  write(join(home, '.local/bin/tool'), '#!/bin/sh\necho tool\n');
  chmodSync(join(home, '.local/bin/tool'), 0o755);
  write(join(out, 'f'), 'outside\n');
  write(join(out, 'victim', 'f'), 'outside\n');
  write(join(template, 'f'), 'inside\n');
  write(join(template, 'victim', 'f'), 'inside\n');
  mkdirSync(join(home, 'project'));
  execFileSync('git', ['init', '-q', template]);
  const commit = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '-qm', 'first'];
  execFileSync('git', ['-C', template, 'add', '.']);
  execFileSync('git', ['-C', template, ...commit]);
}

function giveAway(path: string): void {
  chownSync(path, NOBODY, NOBODY);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) giveAway(join(path, entry.name));
    else chownSync(join(path, entry.name), NOBODY, NOBODY);
  }
}

function snapshot(root: string, ...left: string[]): Record<string, string> {
  const seen: Record<string, string> = {};
  const visit = (path: string) => {
    if (left.includes(path)) return;
    const stat = lstatSync(path);
    const content = stat.isFile() ? readFileSync(path, 'utf8') : stat.isSymbolicLink() ? readlinkSync(path) : '';
    seen[path.slice(root.length)] = `${stat.mode.toString(8)} ${stat.isDirectory() ? '' : Math.round(stat.mtimeMs)} ${content}`;
    if (stat.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
  };
  visit(root);
  return seen;
}
