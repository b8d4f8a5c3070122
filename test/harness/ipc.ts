/** A served socket in a temporary directory, and calls to try on it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { dial, type DialOptions } from '../../ipc/dial.ts';
import { encodeFrame, FrameDecoder } from '../../ipc/frames.ts';
import { handle, type Handler, type Link } from '../../ipc/link.ts';
import { method, notice } from '../../ipc/method.ts';
import { serve, type ServeOptions, type SocketServer } from '../../ipc/serve.ts';
import { deferred } from '../../base/time.ts';

export const token = 'token-of-this-test';

export const echo = method('t.echo', { params: z.object({ text: z.string() }), result: z.object({ text: z.string() }) });
export const repeat = method('t.repeat', { params: z.object({ bytes: z.number().int().min(0) }), result: z.object({ text: z.string() }) });
/** Never answers by itself. */
export const wait = method('t.wait', { params: z.object({}), result: z.object({}), timeoutMs: 0 });
export const fail = method('t.fail', { params: z.object({ how: z.string() }), result: z.object({}) });
export const nested = method('t.nested', { params: z.object({ list: z.array(z.object({ n: z.number() })) }), result: z.object({}) });
export const shout = notice('t.shout', z.object({ text: z.string() }));

export interface TestSocket extends AsyncDisposable {
  path: string;
  server: SocketServer;
  /** What aborted each `t.wait`, in order. */
  aborted: unknown[];
  /** Resolves when the first `t.wait` runs. */
  waiting: Promise<void>;
  dial(options?: Partial<DialOptions>): Promise<Link>;
}

/** A path for a socket, in a directory that is gone after the test. */
export function socketPath(): { path: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-ipc-'));
  return { path: join(dir, 's.sock'), [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

export async function testSocket(options: Partial<ServeOptions> = {}): Promise<TestSocket> {
  const place = socketPath();
  const { path } = place;
  const aborted: unknown[] = [];
  const waiting = deferred<void>();
  const server = await serve({
    path,
    slot: 'test',
    token,
    code: 'c',
    nonce: 'n',
    handlers: handlers(aborted, () => waiting.resolve()),
    ...options,
  });
  return {
    path,
    server,
    aborted,
    waiting: waiting.promise,
    dial: (more = {}) => dial(path, { token, slot: 'caller', ...more }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

export function handlers(aborted: unknown[] = [], onWait: () => void = () => {}): Handler[] {
  return [
    handle(echo, ({ text }) => ({ text })),
    handle(repeat, ({ bytes }) => ({ text: 'x'.repeat(bytes) })),
    handle(nested, () => ({})),
    handle(wait, (_params, { signal }) => {
      onWait();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason as Error);
        });
      });
    }),
    handle(fail, ({ how }) => {
      if (how === 'defect') throw new TypeError('x is not a function');
      throw new AgentError('QUEUE_FULL', 'no room', { fix: 'wait', retryAfterMs: 5, facts: { waiting: 3 } });
    }),
  ];
}

export interface RawPeer extends Disposable {
  socket: Socket;
  send(message: object): void;
  /** Messages received so far. */
  received: { id?: unknown; result?: unknown; error?: { code: number; data?: { code?: string } } }[];
  closed: Promise<void>;
}

/** A peer that speaks frames by hand, for what a well-behaved client never sends. */
export async function rawPeer(path: string): Promise<RawPeer> {
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => {});
  const decoder = new FrameDecoder();
  const received: RawPeer['received'] = [];
  socket.on('data', (chunk) =>
    received.push(...decoder.push(chunk).map((body) => JSON.parse(body.toString()) as RawPeer['received'][number])),
  );
  return {
    socket,
    received,
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
    send: (message) => void socket.write(encodeFrame(JSON.stringify({ jsonrpc: '2.0', ...message }))),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

export const helloMessage = (id: number, more: object = {}): object => ({
  id,
  method: 'hello',
  params: { token, protocol: limits.ipc.protocol, slot: 'raw', pid: process.pid, code: '', ...more },
});
