/**
 * Connecting to a process of the house: bounded patience while it is still starting, then the hello.
 * `dial` gives a Link; `dialFrames` gives the bare frames, for a relay.
 */
import { connect, type Socket } from 'node:net';
import { AgentError, errnoOf, errorTable, isAgentError, type ErrorCode } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { abortReason, sleep, within } from '../base/time.ts';
import { hello, HelloAnswer, type Hello } from './contracts/peer.ts';
import { encodeFrame, FrameDecoder } from './frames.ts';
import { Link, type Handler, type NoticeHandler } from './link.ts';

export interface DialOptions {
  /** Content of `run/token`; a function is called at each attempt, for a peer that makes the file while it starts. */
  token: string | (() => string);
  /** Who is calling: a slot, or `cli`. */
  slot: string;
  code?: string;
  relay?: boolean;
  signal?: AbortSignal | undefined;
  /** How long to keep trying while nothing listens yet, or what listens says no hello; 0 = fail at once. */
  startingMs?: number;
  handlers?: Handler[];
  notices?: NoticeHandler[];
}

/** Errors: PEER_UNREACHABLE, TIMEOUT and PEER_GONE of the hello, BAD_TOKEN, PROTOCOL_MISMATCH, TOO_MANY_CONNECTIONS. */
export function dial(path: string, options: DialOptions): Promise<Link> {
  return patiently(path, options, (socket) => linkOver(socket, path, options));
}

async function linkOver(socket: Socket, path: string, options: DialOptions): Promise<Link> {
  const link = new Link(socket, { slot: path, pid: 0, code: '', relay: false });
  link.handle(...(options.handlers ?? []));
  link.on(...(options.notices ?? []));
  try {
    const answer = await link.call(hello, helloOf(options), { signal: options.signal });
    link.peer = { slot: answer.slot, pid: answer.pid, code: answer.code, relay: false };
    return link;
  } catch (thrown) {
    link.destroy();
    throw thrown;
  }
}

export interface FrameStream {
  answer: HelloAnswer;
  socket: Socket;
  /** Calls back with each frame body, those already received first. */
  listen(onBody: (body: Buffer) => void): void;
  /** Sends one frame; false = the peer does not keep up, wait for the socket's `drain`. */
  send(body: string): boolean;
}

/** Dials and says hello, then hands over the frames unread. Errors as `dial`. */
export function dialFrames(path: string, options: DialOptions): Promise<FrameStream> {
  return patiently(path, options, (socket) => framesOver(socket, path, options));
}

async function framesOver(socket: Socket, path: string, options: DialOptions): Promise<FrameStream> {
  const decoder = new FrameDecoder();
  const early: Buffer[] = [];
  const answered = Promise.withResolvers<HelloAnswer>();
  let onBody = (body: Buffer): void => {
    const message = JSON.parse(body.toString()) as HelloReply;
    if (message.id !== 'hello') early.push(body);
    else if (message.error) answered.reject(refusal(message.error));
    else answered.resolve(HelloAnswer.parse(message.result));
  };
  socket.on('data', (chunk) => {
    try {
      for (const body of decoder.push(chunk)) onBody(body);
    } catch (thrown) {
      socket.destroy(thrown as Error);
    }
  });
  socket.once('close', () => answered.reject(new AgentError('PEER_GONE', `${path} closed during the hello`)));
  socket.on('error', () => {});
  socket.write(encodeFrame(JSON.stringify({ jsonrpc: '2.0', id: 'hello', method: hello.name, params: helloOf(options) })));
  try {
    const answer = await within(answered.promise, { ms: limits.ipc.helloMs, signal: options.signal, what: `hello of ${path}` });
    return {
      answer,
      socket,
      listen(callback) {
        onBody = callback;
        for (const body of early.splice(0)) callback(body);
      },
      send: (body) => socket.write(encodeFrame(body)),
    };
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}

interface HelloReply {
  id?: unknown;
  result?: unknown;
  error?: { message: string; data?: { code?: string } };
}

function refusal({ message, data }: { message: string; data?: { code?: string } }): AgentError {
  const code = data?.code && data.code in errorTable ? (data.code as ErrorCode) : 'INTERNAL';
  return new AgentError(code, message);
}

function helloOf({ token, slot, code = '', relay }: DialOptions): Hello {
  return {
    token: typeof token === 'string' ? token : token(),
    protocol: limits.ipc.protocol,
    slot,
    pid: process.pid,
    code,
    ...(relay ? { relay } : {}),
  };
}

/** Nothing there yet: worth another try while the peer may still be starting. */
const NOT_YET = new Set(['ENOENT', 'ECONNREFUSED', 'EAGAIN']);
/** It is there and says no hello: it stands still for a moment, or leaves, and another one comes. */
const NO_HELLO: ReadonlySet<string> = new Set<ErrorCode>(['TIMEOUT', 'PEER_GONE']);

async function patiently<T>(path: string, { signal, startingMs = 0 }: DialOptions, greet: (socket: Socket) => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + startingMs;
  for (let pauseMs: number = limits.ipc.redialMinMs; ; pauseMs = Math.min(pauseMs * 2, limits.ipc.redialMaxMs)) {
    try {
      return await greet(await connectOnce(path, signal));
    } catch (thrown) {
      if (signal?.aborted) throw abortReason(signal);
      const leftMs = deadlineMs - performance.now();
      const mayPass = isAgentError(thrown) ? NO_HELLO.has(thrown.code) : NOT_YET.has(errnoOf(thrown) ?? '');
      if (!mayPass || leftMs <= 0) {
        if (isAgentError(thrown)) throw thrown;
        throw new AgentError('PEER_UNREACHABLE', `nothing answers at ${path}`, { cause: thrown, facts: { errno: errnoOf(thrown) } });
      }
      await sleep(Math.min(pauseMs, leftMs), signal);
    }
  }
}

function connectOnce(path: string, signal: AbortSignal | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const fail = (thrown: Error) => {
      socket.destroy();
      reject(thrown);
    };
    const onAbort = () => fail(abortReason(signal!) as Error);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      signal?.removeEventListener('abort', onAbort);
      resolve(socket);
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
