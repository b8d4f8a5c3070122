/**
 * `/api/ws`: one connection to the agent worker of the query's profile per browser socket, frames handed on unread in
 * both directions; the worker of another profile is started when it does not run. The browser socket outlives the agent worker: calls in flight are answered PEER_GONE, the
 * worker is dialled again, and its `gateway.ready` tells the page to resume by `session.events.since`.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { WebSocket } from 'ws';
import { isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { errorFields } from '../../../base/log.ts';
import { event } from '../../../ipc/contracts/rpcEvents.ts';
import { ensureSlot } from '../../../ipc/contracts/supervisor.ts';
import { errorText, invalidMessage, type CallId } from '../../../ipc/frames.ts';
import { dialFrames, type FrameStream } from '../../../ipc/dial.ts';
import { DEFAULT_PROFILE, requireProfile } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { createOutlet } from './outlet.ts';
import { watchSockets, type SocketWatch } from './socketWatch.ts';
import type { SocketRoute } from './upgrade.ts';

export function createAgentRelay(dashboard: Dashboard): SocketRoute & Disposable {
  const { context } = dashboard;
  const watch = watchSockets(context.home.run.dir);
  const nameOf = (query: URLSearchParams) => query.get('profile') || DEFAULT_PROFILE;
  return {
    prepare: (query) => void requireProfile(context.home, nameOf(query)),
    serve: (socket, query) =>
      void relay(socket, { dashboard, watch, profile: nameOf(query) }).catch((thrown: unknown) => {
        context.log.error('a relay to the agent worker failed', errorFields(thrown));
        socket.close(1011, 'the relay failed');
      }),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

interface RelayParts {
  dashboard: Dashboard;
  watch: SocketWatch;
  profile: string;
}

async function relay(socket: WebSocket, { dashboard, watch, profile }: RelayParts): Promise<void> {
  const { context } = dashboard;
  const slot = profile === DEFAULT_PROFILE ? 'agent' : `agent@${profile}`;
  const life = new AbortController();
  socket.once('close', () => life.abort());
  const calls = new Calls();
  let stream: FrameStream | undefined;

  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) return socket.send(errorText(null, 'FRAME_MALFORMED', 'a message must be text'));
    const value = readJson(data);
    if (value === undefined) return socket.send(errorText(null, 'PARSE_ERROR', 'a message must be JSON'));
    const invalid = invalidMessage(value);
    if (invalid) return socket.send(errorText(invalid.id, 'INVALID_REQUEST', invalid.why));
    const frame = frameOf(value);
    if (calls.open(frame) > limits.dashboard.callsMax) {
      calls.take(frame.id);
      return socket.send(errorText(frame.id, 'QUEUE_FULL', `${limits.dashboard.callsMax} calls of this page are waiting`));
    }
    if (!stream) return calls.fail(socket, 'the agent worker is not there yet');
    if (stream.send(data.toString())) return;
    // The agent does not keep up: the browser waits.
    holdUntilDrained(socket, stream);
  });
  // What a page says before the agent has answered waits in its socket.
  socket.pause();

  while (!life.signal.aborted) {
    const path = context.home.run.socket(slot);
    const name = basename(path, '.sock');
    const seen = watch.count(name);
    try {
      stream = await dialFrames(path, {
        token: context.token,
        slot: context.slot,
        code: context.release.code,
        relay: true,
        signal: AbortSignal.any([life.signal, context.signal]),
      });
    } catch (thrown) {
      if (isAgentError(thrown) && !thrown.retry) context.log.warn(`the agent worker refuses a browser: ${messageOf(thrown)}`);
      socket.resume();
      calls.fail(socket, 'the agent worker does not run');
      if (profile !== DEFAULT_PROFILE && !existsSync(context.home.profile(profile).soul)) return socket.close(1008, 'the profile is gone');
      await wake(dashboard, slot);
      await watch.after(name, seen, life.signal);
      continue;
    }
    socket.resume();
    await pump(stream, socket, calls);
    stream = undefined;
    calls.fail(socket, 'the agent worker ended before it answered');
    if (!life.signal.aborted) socket.send(away('the agent worker ended'));
  }
}

/** Of another profile it starts on demand; that of the default profile is the supervisor's business. */
async function wake({ context, overview }: Dashboard, slot: string): Promise<void> {
  if (slot === 'agent') return;
  await overview.supervisor.call(ensureSlot, { slot }, { signal: context.signal }).catch((thrown: unknown) => {
    context.log.warn(`${slot} could not be started: ${messageOf(thrown)}`);
  });
}

function holdUntilDrained(browser: WebSocket, { socket: agent }: FrameStream): void {
  const goOn = () => {
    agent.off('drain', goOn).off('close', goOn);
    browser.resume();
  };
  browser.pause();
  agent.once('drain', goOn).once('close', goOn);
}

/** Agent to browser, until either side is gone. */
function pump(stream: FrameStream, socket: WebSocket, calls: Calls): Promise<void> {
  const agent = stream.socket;
  const outlet = createOutlet(socket, agent);
  return new Promise((resolve) => {
    const end = () => agent.destroy();
    socket.once('close', end);
    agent.once('close', () => {
      socket.off('close', end);
      resolve();
    });
    if (socket.readyState !== socket.OPEN) end();
    if (agent.destroyed) return resolve();
    stream.listen((body) => {
      calls.close(body);
      outlet.send(body, { binary: false });
    });
  });
}

interface Frame {
  id: CallId | null;
  method: string | null;
}

/** Undefined for what is not JSON. */
function readJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

function frameOf(value: unknown): Frame {
  const { id, method } = (value ?? {}) as { id?: unknown; method?: unknown };
  return { id: typeof id === 'string' || typeof id === 'number' ? id : null, method: typeof method === 'string' ? method : null };
}

/** The calls of one page that the agent has not answered yet. */
class Calls {
  #open = new Set<CallId>();

  /** Notes a call on its way to the agent; answers how many are open. */
  open({ id, method }: Frame): number {
    if (id !== null && method !== null) this.#open.add(id);
    return this.#open.size;
  }

  take(id: CallId | null): void {
    if (id !== null) this.#open.delete(id);
  }

  /** Notes the answer in a frame of the agent, not its own calls. Events, nearly all of the traffic, are told by their first bytes. */
  close(body: Buffer): void {
    if (this.#open.size === 0 || body.subarray(0, 60).includes(EVENT_MARK)) return;
    const { id, method } = frameOf(readJson(body));
    if (method === null) this.take(id);
  }

  /** Answers what is open: the page sends it again, with its idempotency key. */
  fail(socket: WebSocket, why: string): void {
    for (const id of this.#open) socket.send(errorText(id, 'PEER_GONE', why));
    this.#open.clear();
  }
}

const EVENT_MARK = `"method":"${event.name}"`;

function away(reason: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    method: event.name,
    params: { type: 'gateway.away', session_id: null, seq: null, payload: { reason } },
  });
}
