/**
 * The network of a session: a namespace without any interface but loopback, kept by a sleeping process so that a server
 * in the background and the next command share it. What leaves it goes through the proxy, which listens inside.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { networkArgs, type SandboxSupport } from '../../../agent/sandbox/support.ts';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { nodeProgram } from '../../../state/nodeProgram.ts';

export type Bubblewrap = Extract<SandboxSupport, { kind: 'bubblewrap' }>;

/** Inside, where nothing else listens. */
export const PROXY_PORT = 3128;

export interface SessionNetwork extends AsyncDisposable {
  /** What starts a command in it. */
  enter: readonly string[];
  readonly isAlive: boolean;
}

/** `proxy`: not listening yet; without one nothing leaves. Errors: SANDBOX_FAILED. */
export async function startNetwork(support: Bubblewrap, proxy: Server | undefined): Promise<SessionNetwork> {
  const keeper = spawn(support.bwrap, [...networkArgs, '--', '/bin/sh', '-c', 'echo $$; exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: '/usr/bin:/bin' },
  });
  keeper.on('error', () => {});
  try {
    const pid = await inTime(pidInside(keeper));
    const enter = [support.nsenter, '-t', String(pid), '-U', '--preserve-credentials', '-n', '--'];
    if (proxy) proxy.listen(await inTime(listenInside(enter)));
    return {
      enter,
      get isAlive() {
        return keeper.exitCode === null && keeper.signalCode === null;
      },
      async [Symbol.asyncDispose]() {
        proxy?.close();
        proxy?.closeAllConnections();
        await end(keeper);
      },
    };
  } catch (thrown) {
    proxy?.close();
    await end(keeper);
    throw new AgentError('SANDBOX_FAILED', `the network of the sandbox could not be started: ${messageOf(thrown)}`, {
      cause: thrown,
      fix: 'agent doctor checks the sandbox',
    });
  }
}

/** Its own word: by then bwrap has set up the namespaces. The number is that of this machine, since pids are shared. */
async function pidInside(keeper: ChildProcess): Promise<number> {
  let text = '';
  for await (const chunk of keeper.stdout!) {
    text += String(chunk);
    if (text.endsWith('\n')) return Number(text);
  }
  throw new Error('bubblewrap ended before it was ready');
}

/** Listens in the namespace and hands the socket over; the parent accepts from then on. */
const LISTENER = `const server = require('node:net').createServer();
server.listen(${PROXY_PORT}, '127.0.0.1', () => process.send('listening', server, () => process.disconnect()));`;

async function listenInside([program, ...args]: readonly string[]): Promise<NetServer> {
  const child = spawn(program!, [...args, nodeProgram(), '-e', LISTENER], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} });
  try {
    const failed = once(child, 'exit').then(() => {
      throw new Error('nothing can listen in it');
    });
    const [, server] = (await Promise.race([once(child, 'message'), failed])) as [string, NetServer];
    failed.catch(() => {});
    return server;
  } finally {
    child.once('error', () => {});
    await end(child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limits.sandbox.networkStartMs} ms`)), limits.sandbox.networkStartMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
