/**
 * `fetch` for requests that carry a key: redirects are followed within the origin that the key was given for. Node's
 * own takes `Authorization` out on the way to another origin and leaves every other header in: `x-api-key` too.
 */
import { AgentError } from './errors.ts';
import { limits } from './limits.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Errors: REDIRECT_REFUSED, and those of `fetch`. `init.redirect` is ours. */
export async function fetchAtOrigin(address: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  if (address instanceof Request) throw new TypeError('an address is needed here, and what to send beside it');
  let url = new URL(address);
  let sent = init.method === 'POST' ? { ...init, dispatcher: await patientDispatcher() } : init;
  for (let hops = 0; hops <= limits.redirectsMax; hops++) {
    const response = await fetch(url, { ...sent, redirect: 'manual' });
    const location = response.headers.get('location');
    if (!REDIRECTS.has(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, url.href);
    if (next?.origin !== url.origin) throw refused(url, next);
    sent = after(response.status, sent);
    url = next;
  }
  throw new AgentError('REDIRECT_REFUSED', `${withoutQuery(new URL(address))} redirects more than ${limits.redirectsMax} times`, {
    fix: 'write the address at which the server really answers',
  });
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>;
let patient: Promise<Dispatcher> | undefined;

/**
 * Node's fetch ends a request whose answer does not begin within 300 s, and one with a pause of 300 s: less than a model on
 * this machine or a tool may take. The caller's signal is the limit here; this one is an upper bound. Node has no way to set
 * it but a dispatcher of its own kind (one that knows of proxies, where it was told of them), which it shares under this name.
 */
const patientDispatcher = (): Promise<Dispatcher> =>
  (patient ??= fetch('data:,').then(() => {
    const shared = (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')] as object;
    const Kind = shared.constructor as new (options: object) => Dispatcher;
    return new Kind({ headersTimeout: limits.answerWaitMaxMs, bodyTimeout: limits.answerWaitMaxMs });
  }));

/** As the Fetch standard has it: 307 and 308 send the same again, the others ask with GET. */
function after(status: number, { body, headers, method = 'GET', ...rest }: RequestInit): RequestInit {
  const same = { ...rest, method, ...(headers ? { headers } : {}) };
  if (status === 307 || status === 308 || method === 'GET' || method === 'HEAD') return body == null ? same : { ...same, body };
  const fewer = new Headers(headers);
  for (const name of ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location']) fewer.delete(name);
  return { ...rest, method: 'GET', headers: fewer };
}

function refused(from: URL, to: URL | null): AgentError {
  const where = to === null ? 'no address' : to.origin;
  return new AgentError('REDIRECT_REFUSED', `${withoutQuery(from)} redirects to ${where}; keys and messages are not sent there`, {
    fix: to === null ? 'write the address at which the server really answers' : `write ${withoutQuery(to)} as its address if you trust it`,
    facts: { from: from.origin, to: to?.origin ?? null },
  });
}

/** A query may hold a key. */
const withoutQuery = ({ origin, pathname }: URL): string => `${origin}${pathname}`;
