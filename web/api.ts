/** HTTP calls to the dashboard: token, problem+json, and one silent renewal of a stale token. */
import { renewToken, token } from './token.ts';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly fix: string | undefined;

  constructor(status: number, { code, detail, fix }: { code?: string; detail?: string; fix?: string }) {
    super(detail ?? `the dashboard answered ${status}`);
    this.status = status;
    this.code = code ?? 'INTERNAL';
    this.fix = fix;
  }
}

interface Options {
  method?: 'GET' | 'POST' | 'DELETE';
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** Errors: ApiError; TypeError when the dashboard cannot be reached. */
export async function api<T>(path: string, options: Options = {}): Promise<T> {
  let answer = await send(path, options);
  if (answer.status === 401 && (await renewToken())) answer = await send(path, options);
  const type = answer.headers.get('Content-Type') ?? '';
  const body: unknown = type.includes('json') ? await answer.json() : {};
  if (!answer.ok) throw new ApiError(answer.status, body as ConstructorParameters<typeof ApiError>[1]);
  return body as T;
}

function send(path: string, { method = 'GET', body, signal }: Options): Promise<Response> {
  return fetch(path, {
    method,
    cache: 'no-store',
    headers: { 'X-Agent-Session-Token': token(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
