/** HTTP with server-sent events, as servers before 2025-03-26 have it: one stream for all answers, a POST for each message. */
import { AgentError } from '../../base/errors.ts';
import { fetchAtOrigin } from '../../base/fetchAtOrigin.ts';
import { abortReason } from '../../base/time.ts';
import { readEvents } from './eventStream.ts';
import { mediaTypeOf, statusFailure, type HttpParts } from './httpWire.ts';
import { failed, networkFailure, type Wire, type WireEvents } from './wire.ts';

/** Resolves when the server has said where messages go. Errors: MCP_FAILED, the signal's reason. */
export async function openSseWire(parts: HttpParts, events: WireEvents, signal: AbortSignal): Promise<Wire> {
  const { url, headers, fetch = fetchAtOrigin } = parts;
  const closed = new AbortController();
  const stop = () => closed.abort(abortReason(signal));
  signal.addEventListener('abort', stop, { once: true });
  let version: string | undefined;
  try {
    const response = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal: closed.signal });
    if (!response.ok) throw await statusFailure(response);
    if (mediaTypeOf(response) !== 'text/event-stream') {
      await response.body?.cancel();
      throw failed('answer', `it answered with ${mediaTypeOf(response) || 'no content type'}, not with an event stream`, {
        permanent: true,
        fix: 'check its url, or leave transport out',
      });
    }
    const endpoint = Promise.withResolvers<URL>();
    const listen = async () => {
      for await (const { type, data } of readEvents(response.body, {})) {
        if (type === 'endpoint') endpoint.resolve(endpointOf(data, url));
        else if (type === 'message') events.onMessage(parsed(data));
      }
    };
    // However the stream ends, nothing more can be answered.
    listen().then(
      () => (endpoint.reject(failed('broken', 'it ended its stream')), events.onClosed()),
      (thrown: unknown) => (
        endpoint.reject(closed.signal.aborted ? abortReason(closed.signal) : networkFailure(thrown)),
        events.onClosed()
      ),
    );
    const address = await endpoint.promise;
    return {
      async send(message, sending) {
        const own = new Headers({ ...headers, 'content-type': 'application/json' });
        if (version !== undefined) own.set('mcp-protocol-version', version);
        try {
          const answer = await fetch(address, { method: 'POST', headers: own, body: JSON.stringify(message), signal: sending });
          if (!answer.ok) throw await statusFailure(answer, { inSession: true });
          await answer.body?.cancel();
        } catch (thrown) {
          throw sending.aborted ? abortReason(sending) : networkFailure(thrown);
        }
      },
      opened: (negotiated) => void (version = negotiated),
      async close() {
        closed.abort(new AgentError('CANCELLED', 'the session was closed'));
      },
    };
  } catch (thrown) {
    closed.abort(thrown);
    throw signal.aborted ? abortReason(signal) : networkFailure(thrown);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function endpointOf(data: string, url: string): URL {
  const address = URL.parse(data, url);
  if (address?.origin === new URL(url).origin) return address;
  throw failed('answer', `it names ${address?.origin ?? 'no address'} for its messages; they are only sent to its own origin`, {
    permanent: true,
  });
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
