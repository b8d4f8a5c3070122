/** HTTP calls to the dashboard, typed by its routes: token, problem+json, and one silent renewal of a stale token. */
import type { RouteKey, RouteOf } from '../ipc/contracts/http/table.ts';
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../ipc/httpRoute.ts';
import { renewToken, token } from './token.ts';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly fix: string | undefined;
  /** Wrong fields of a 422, each with its path. */
  readonly errors: readonly { path: string; message: string }[];

  constructor(status: number, { code, detail, fix, errors = [] }: ProblemBody) {
    super(detail ?? `the dashboard answered ${status}`);
    this.status = status;
    this.code = code ?? 'INTERNAL';
    this.fix = fix;
    this.errors = errors;
  }
}

interface ProblemBody {
  code?: string;
  detail?: string;
  fix?: string;
  errors?: { path: string; message: string }[];
}

/** Values that a query may hold; what is undefined is left out. */
type QueryValues = Record<string, string | number | boolean | null | undefined>;

export interface Call<K extends RouteKey> {
  params?: ParamsOf<RouteOf<K>>;
  query?: QueryGiven<QueryOf<RouteOf<K>>>;
  body?: BodyOf<RouteOf<K>> | FormData;
  signal?: AbortSignal | undefined;
}

type QueryGiven<Q> = (Q extends Record<string, never> ? unknown : Partial<Q>) & { profile?: string | undefined };

/** `request('GET /api/sessions/:id', { params: { id } })`. Errors: ApiError; TypeError when the dashboard cannot be reached. */
export async function request<K extends RouteKey>(key: K, { params, query, body, signal }: Call<K> = {}): Promise<AnswerOf<RouteOf<K>>> {
  const [method, path] = key.split(' ') as [string, string];
  const address = addressOf(path, (params ?? {}) as Record<string, string>, (query ?? {}) as QueryValues);
  let answer = await send(address, { method, body, signal });
  if (answer.status === 401 && (await renewToken())) answer = await send(address, { method, body, signal });
  const type = answer.headers.get('Content-Type') ?? '';
  const said: unknown = type.includes('json') ? await answer.json() : {};
  if (!answer.ok) throw new ApiError(answer.status, said as ProblemBody);
  return said as AnswerOf<RouteOf<K>>;
}

function addressOf(path: string, params: Record<string, string>, query: QueryValues): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}

function send(
  address: string,
  { method, body, signal }: { method: string; body: unknown; signal: AbortSignal | undefined },
): Promise<Response> {
  const json = body !== undefined && !(body instanceof FormData);
  return fetch(address, {
    method,
    cache: 'no-store',
    headers: { 'X-Agent-Session-Token': token(), ...(json ? { 'Content-Type': 'application/json' } : {}) },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : (body as FormData) }),
    ...(signal ? { signal } : {}),
  });
}

/** Address of a WebSocket of the dashboard, token included. */
export function socketAddress(path: string, query: Record<string, string | number | undefined> = {}): string {
  const address = new URL(path, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, String(value));
  address.searchParams.set('token', token());
  return address.href;
}
