/**
 * Streamable HTTP (MCP 2025-11-25, Transports): each message is a POST, its answer JSON or a stream of events that
 * is resumed when it ends early; what the server sends unasked comes over a GET. Bounded in size, never past the origin.
 */
import { AgentError } from '../../base/errors.ts';
import { fetchAtOrigin } from '../../base/fetchAtOrigin.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, jitteredDelayMs, sleep, within } from '../../base/time.ts';
import { readBody, readEvents, readExcerpt, type Resumption } from './eventStream.ts';
import { failed, networkFailure, type Message, type Wire, type WireEvents } from './wire.ts';

export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

export interface HttpParts {
  url: string;
  headers: Record<string, string>;
  fetch?: Fetch | undefined;
}

export function openHttpWire({ url, headers, fetch = fetchAtOrigin }: HttpParts, events: WireEvents): Wire {
  const closed = new AbortController();
  let sessionId: string | undefined;
  let version: string | undefined;

  const ask = async (method: string, signal: AbortSignal, more: { body?: string; lastEventId?: string } = {}): Promise<Response> => {
    const own = new Headers(headers);
    if (sessionId !== undefined) own.set('mcp-session-id', sessionId);
    if (version !== undefined) own.set('mcp-protocol-version', version);
    if (more.lastEventId !== undefined) own.set('last-event-id', more.lastEventId);
    own.set('accept', method === 'POST' ? 'application/json, text/event-stream' : 'text/event-stream');
    if (more.body !== undefined) own.set('content-type', 'application/json');
    try {
      return await fetch(url, { method, headers: own, signal, ...(more.body === undefined ? {} : { body: more.body }) });
    } catch (thrown) {
      throw signal.aborted ? abortReason(signal) : networkFailure(thrown);
    }
  };

  /** True when it had the answer to `id`. */
  const take = (text: string, id?: Message['id']): boolean => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return false;
    }
    events.onMessage(value);
    return id !== undefined && [value].flat().some((each) => isAnswerTo(each, id));
  };

  /** Reads a stream to the answer of `id`, over as many connections as it takes. */
  const follow = async (first: Response, signal: AbortSignal, id: Message['id']): Promise<void> => {
    const resumption: Resumption = {};
    let response = first;
    for (let tries = 0; ; tries++) {
      try {
        for await (const { type, data } of readEvents(response.body, resumption)) {
          tries = 0;
          if (type === 'message' && take(data, id)) return;
        }
      } catch (thrown) {
        if (signal.aborted) throw abortReason(signal);
        const failure = networkFailure(thrown);
        if (failure.facts?.kind === 'answer') throw failure;
      }
      if (resumption.lastEventId === undefined) throw failed('broken', 'it ended its answer before the result');
      if (tries >= limits.mcp.resumeTriesMax) throw failed('broken', 'it ended its answer again and again before the result');
      await sleep(resumePauseMs(resumption, tries), signal);
      response = await ask('GET', signal, resumption);
      if (!response.ok) {
        const { message, fix } = await statusFailure(response);
        throw failed('broken', `it did not resume its answer: ${message}`, { fix });
      }
    }
  };

  /** Messages that the server sends unasked, until the session is closed. A server without such a stream answers 405. */
  const listen = async (): Promise<void> => {
    const resumption: Resumption = {};
    for (let tries = 0; ; tries++) {
      const openedAtMs = performance.now();
      try {
        const response = await ask('GET', closed.signal, resumption);
        if (!response.ok || mediaTypeOf(response) !== 'text/event-stream') {
          await response.body?.cancel();
          if (response.status < 500) return tries > 0 && !response.ok ? events.onTrouble() : undefined;
        } else for await (const { type, data } of readEvents(response.body, resumption)) if (type === 'message') take(data);
      } catch {
        if (closed.signal.aborted) return;
        events.onTrouble();
      }
      if (performance.now() - openedAtMs > limits.mcp.resumePauseMaxMs) tries = 0;
      await sleep(resumePauseMs(resumption, tries), closed.signal);
    }
  };

  return {
    async send(message, signal) {
      const response = await ask('POST', signal, { body: JSON.stringify(message) });
      sessionId = response.headers.get('mcp-session-id') ?? sessionId;
      if (!response.ok) throw await statusFailure(response, { inSession: sessionId !== undefined });
      const isRequest = message.method !== undefined && message.id !== undefined;
      if (!isRequest) {
        await response.body?.cancel();
        return;
      }
      try {
        if (mediaTypeOf(response) === 'text/event-stream') return await follow(response, signal, message.id);
        if (mediaTypeOf(response) === 'application/json') {
          if (take(await readBody(response.body), message.id)) return;
          throw failed('answer', 'its answer is not that of a JSON-RPC request');
        }
      } catch (thrown) {
        throw signal.aborted ? abortReason(signal) : afterDelivery(networkFailure(thrown));
      }
      await response.body?.cancel();
      throw failed('answer', `it answered with ${mediaTypeOf(response) || 'no content type'}, not with JSON or an event stream`, {
        permanent: true,
        fix: 'check that the url is that of an MCP server',
      });
    },
    opened(negotiated) {
      version = negotiated;
      listen().catch(() => {}); // the session was closed
    },
    async close() {
      if (closed.signal.aborted) return;
      closed.abort(new AgentError('CANCELLED', 'the session was closed'));
      if (sessionId === undefined) return;
      // Tells the server to forget the session; one that does not answer is left to its own clean-up.
      const giveUp = AbortSignal.timeout(limits.mcp.closeMs);
      const forget = async () => {
        const { body } = await ask('DELETE', giveUp);
        await body?.cancel();
      };
      await within(forget(), { ms: limits.mcp.closeMs, what: 'the end of the session' }).catch(() => {});
    },
  };
}

/** The server has the request: however reading its answer fails, the request may have taken effect. */
const afterDelivery = (failure: AgentError): AgentError =>
  failure.facts?.kind === 'unreached' ? failed('broken', failure.message, { cause: failure, fix: failure.fix }) : failure;

/** The pause that the server asks for, unless its streams end again and again. */
function resumePauseMs({ retryMs }: Resumption, tries: number): number {
  const { reconnectMinMs, resumePauseMaxMs, resumeTriesMax } = limits.mcp;
  const backoffMs = jitteredDelayMs(tries, { baseMs: reconnectMinMs, maxMs: resumePauseMaxMs });
  return tries < resumeTriesMax ? Math.min(retryMs ?? backoffMs, resumePauseMaxMs) : backoffMs;
}

export const mediaTypeOf = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();

function isAnswerTo(value: unknown, id: Message['id']): boolean {
  const message = value as Message | null;
  if (typeof message !== 'object' || message === null || message.method !== undefined) return false;
  // A server that could not read the id answers with none.
  return String(message.id) === String(id) || ((message.id === null || message.id === undefined) && message.error !== undefined);
}

/** What an HTTP status other than success says. Reads the beginning of the body. */
export async function statusFailure(response: Response, { inSession = false } = {}): Promise<AgentError> {
  const { status, headers } = response;
  const excerpt = await readExcerpt(response.body, limits.mcp.errorBodyBytes).catch(() => '');
  const words = mediaTypeOf(response) === 'text/html' ? '' : wordsOf(excerpt);
  const message = `HTTP ${status}${response.statusText ? ` ${response.statusText}` : ''}${words ? `: ${words}` : ''}`;
  // A session that the server has forgotten: the request had no effect.
  if (status === 404 && inSession) return failed('unreached', message, { status });
  const retryAfterMs = retryAfterOf(headers.get('retry-after'));
  const permanent = status >= 300 && status < 500 && ![404, 408, 425, 429].includes(status);
  return failed('answer', message, { status, permanent, retryAfterMs, fix: statusFix(status, headers, retryAfterMs) });
}

function statusFix(status: number, headers: Headers, retryAfterMs: number | undefined): string | undefined {
  if (status === 401) return 'check the credentials in its headers (values come from .env)';
  const scope = /\bscope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1];
  if (status === 403)
    return scope ? `use a token with the scope "${scope}"` : 'check what its credentials allow (headers, values from .env)';
  if (status === 404 || status === 405) return 'check its url; a server of the older kind needs transport: sse';
  if (retryAfterMs !== undefined) return `repeat the call after ${Math.ceil(retryAfterMs / 1_000)} s`;
  if (status === 429) return 'repeat the call later: the server limits the rate of requests';
  if (status >= 300 && status < 400) return 'write the address that it redirects to';
  return status >= 500 ? 'the fault is in the server: repeat the call later, or see its logs' : undefined;
}

/** The message of a JSON error, or the first line. */
function wordsOf(text: string): string {
  try {
    const { error, message, error_description } = JSON.parse(text) as Record<string, unknown>;
    const found = (error as { message?: unknown } | undefined)?.message ?? error_description ?? message ?? error;
    if (typeof found === 'string') return found.slice(0, limits.mcp.errorShownChars);
  } catch {
    // not JSON
  }
  return text.trim().split('\n', 1)[0]!.slice(0, limits.mcp.errorShownChars);
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfterOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, limits.mcp.retryAfterMaxMs) : undefined;
}
