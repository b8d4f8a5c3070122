/** HTTP calls to the dashboard, typed by its routes: proof of who asks, problem+json, one silent renewal of a stale token, the way to the sign-in. */
import type { RouteKey, RouteOf } from '../ipc/contracts/http/table.ts';
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../ipc/httpRoute.ts';
import { goToLogin, renewToken, signedIn, token } from './token.ts';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly fix: string | undefined;
  /** Wrong fields of a 422, each with its path. */
  readonly errors: readonly { path: string; message: string }[];
  /** Place in config.yaml that cannot be used. */
  readonly at: ProblemBody['at'];
  /** What somebody else changed meanwhile; null = not known. */
  readonly changed: ProblemBody['changed'];

  constructor(status: number, { code, detail, fix, errors = [], at, changed }: ProblemBody) {
    super(detail ?? `the dashboard answered ${status}`);
    this.status = status;
    this.code = code ?? 'INTERNAL';
    this.fix = fix;
    this.errors = errors;
    this.at = at;
    this.changed = changed;
  }
}

interface ProblemBody {
  code?: string;
  detail?: string;
  fix?: string;
  errors?: { path: string; message: string }[];
  /** Of the gate's own 401; a 401 without it is a matter of the route. */
  login_url?: string;
  at?: { line: number; column: number; key: string };
  changed?: readonly { key: string; before: unknown; after: unknown }[] | null;
}

/** Values that a query may hold; what is undefined is left out. */
type QueryValues = Record<string, string | number | boolean | null | undefined>;

/** Any route takes a profile; one without a query of its own takes nothing else. */
type QueryFor<Q> = { profile?: string | undefined } & (Q extends Record<string, never> ? unknown : Partial<Q>);

export interface Call<K extends RouteKey> {
  params?: ParamsOf<RouteOf<K>>;
  query?: QueryFor<QueryOf<RouteOf<K>>>;
  body?: BodyOf<RouteOf<K>> | FormData;
  signal?: AbortSignal | undefined;
}

/** `request('GET /api/sessions/:id', { params: { id } })`. Errors: ApiError; TypeError when the dashboard cannot be reached. */
export async function request<K extends RouteKey>(key: K, { params, query, body, signal }: Call<K> = {}): Promise<AnswerOf<RouteOf<K>>> {
  const [method, path] = key.split(' ') as [string, string];
  const address = addressOf(path, params ?? {}, (query ?? {}) as QueryValues);
  const answer = await answered(address, { method, body, signal, cache: 'no-store' });
  return (await saidBy(answer)) as AnswerOf<RouteOf<K>>;
}

/** The bytes of a route that does not answer JSON, from the browser's own store when it may keep them. Errors: as of `request`. */
export async function requestBytes<K extends RouteKey>(key: K, { params, query, signal }: Omit<Call<K>, 'body'> = {}): Promise<Blob> {
  const [method, path] = key.split(' ') as [string, string];
  const address = addressOf(path, params ?? {}, (query ?? {}) as QueryValues);
  return (await answered(address, { method, signal, cache: 'default' })).blob();
}

/** An answer of success. */
async function answered(address: string, sent: Sent): Promise<Response> {
  let answer = await send(address, sent);
  if (answer.status === 401 && !signedIn && (await renewToken())) answer = await send(address, sent);
  if (answer.ok) return answer;
  const said = ((await saidBy(answer)) ?? {}) as ProblemBody;
  if (answer.status === 401 && said.login_url !== undefined) return goToLogin(said.login_url);
  throw new ApiError(answer.status, said);
}

async function saidBy(answer: Response): Promise<unknown> {
  return (answer.headers.get('Content-Type') ?? '').includes('json') ? answer.json() : {};
}

function addressOf(path: string, params: Record<string, string>, query: QueryValues): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}

interface Sent {
  method: string;
  body?: unknown;
  signal: AbortSignal | undefined;
  cache: RequestCache;
}

function send(address: string, { method, body, signal, cache }: Sent): Promise<Response> {
  const json = body !== undefined && !(body instanceof FormData);
  return fetch(address, {
    method,
    cache,
    credentials: 'include',
    headers: { ...proof(), ...(json ? { 'Content-Type': 'application/json' } : {}) },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
    ...(signal ? { signal } : {}),
  });
}

/** A signed-in browser sends its cookies by itself; the header says that this page made the call, and no form of another. */
export const proof = (): Record<string, string> => (signedIn ? { 'X-Agent-Requested-With': 'page' } : { 'X-Agent-Session-Token': token() });

/** Address of a WebSocket of the dashboard, with its proof: the token, or a ticket that is good for this one dial. Errors: as of `request`. */
export async function socketAddress(path: string, query: Record<string, string | number | undefined> = {}): Promise<string> {
  const address = new URL(path, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, String(value));
  if (signedIn) address.searchParams.set('ticket', (await request('POST /api/auth/ws-ticket')).ticket);
  else address.searchParams.set('token', token());
  return address.href;
}
