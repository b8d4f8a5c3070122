/**
 * A standing relation to another process: dials when first needed, dials again after it is gone, and
 * repeats a call that is safe to repeat. Callers see PEER_GONE only for calls that are not.
 */
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { jitteredDelayMs, sleep, within } from '../base/time.ts';
import type { CallOptions, Link } from './link.ts';
import type { Method } from './method.ts';

export interface ClientCall extends CallOptions {
  /** The call carries an idempotency key or only reads: repeat it after PEER_GONE, for this long (default: the start-up budget). */
  repeatForMs?: number;
}

export interface Client extends Disposable {
  /** Errors: of the method, and PEER_UNREACHABLE, PEER_GONE. */
  call<P, R, I>(method: Method<P, R, I>, params: I, options?: ClientCall): Promise<R>;
  /** The open connection, dialling if there is none. */
  link(signal?: AbortSignal): Promise<Link>;
  /** Whether a connection is open right now. */
  readonly isOpen: boolean;
}

/** `connect` bounds its own patience by the start of a worker; this is the net below it. */
const DIAL_MS = 2 * limits.ipc.startingMs;

/** `connect` dials once; it should bound its own patience. Its signal aborts when the client is closed. */
export function createClient(connect: (signal?: AbortSignal) => Promise<Link>): Client {
  let current: Link | undefined;
  let pending: Promise<Link> | undefined;
  const closing = new AbortController();

  // One dial for all who wait; who stops waiting does not stop it for the others.
  const redial = async (): Promise<Link> => {
    try {
      const link = await connect(closing.signal);
      if (closing.signal.aborted) link.close();
      return (current = link);
    } finally {
      pending = undefined;
    }
  };

  const link = async (signal?: AbortSignal): Promise<Link> => {
    closing.signal.throwIfAborted();
    if (current?.isOpen) return current;
    pending ??= redial();
    return within(pending, { ms: DIAL_MS, signal, what: 'the connection to another worker' });
  };

  const call: Client['call'] = async (method, params, { repeatForMs = 0, ...options } = {}) => {
    const deadlineMs = performance.now() + repeatForMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const open = await link(options.signal);
        return await open.call(method, params, options);
      } catch (thrown) {
        if (!isTransport(thrown) || performance.now() >= deadlineMs || closing.signal.aborted) throw thrown;
        await sleep(jitteredDelayMs(attempt, { baseMs: 2 * limits.ipc.redialMinMs, maxMs: limits.ipc.redialMaxMs }), options.signal);
      }
    }
  };

  return {
    call,
    link,
    get isOpen() {
      return current?.isOpen ?? false;
    },
    [Symbol.dispose]() {
      closing.abort(new AgentError('CANCELLED', 'the client is closed'));
      current?.close();
    },
  };
}

/** The other end, not the call, was the trouble. */
export function isTransport(thrown: unknown): boolean {
  return isAgentError(thrown) && (thrown.code === 'PEER_GONE' || thrown.code === 'PEER_UNREACHABLE' || thrown.code === 'DRAINING');
}
