/**
 * An HTTP route of the dashboard as a value: what it takes, what it answers, who may call it. The checks, the
 * OpenAPI document and the types of the page's calls come from it. The page imports types only.
 */
import type { z } from 'zod';
import type { ErrorCode } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { whole, type GivenSchema } from './method.ts';

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * - `signedIn`: the session token or the session of a sign-in (interface spec, Authentication 3);
 * - `public`: nobody is asked;
 * - `outside`: called by programs of other hosts under other names; the handler checks a proof of its own.
 */
export type Access = 'signedIn' | 'public' | 'outside';

/** Key `K` is `<verb> <path>`; a path names its parameters as `:name`. */
export interface HttpRoute<K extends string = string, P = unknown, Q = unknown, B = unknown, R = unknown, QI = Q, BI = B> {
  readonly key: K;
  readonly method: Verb;
  readonly path: string;
  /** Groups the routes of the document. */
  readonly tag: string;
  /** One sentence. */
  readonly summary: string;
  readonly access: Access;
  /** Takes `profile` in the query and, when it has one, in the body, which wins (interface spec, http.16). */
  readonly profile: boolean;
  /** Null = it takes none. */
  readonly params: z.ZodType<P> | null;
  readonly query: z.ZodType<Q, QI> | null;
  /** Null = it takes none. */
  readonly body: z.ZodType<B, BI> | null;
  /** Null = not JSON: the handler sends bytes of `type`. */
  readonly result: z.ZodType<R> | null;
  readonly type: string;
  /** Status of success. */
  readonly status: number;
  /** Expected refusals beside those that every route has. */
  readonly errors: readonly ErrorCode[];
  /** Limit of the body in bytes. */
  readonly bodyMaxBytes: number;
  /** The body is not JSON; the handler reads the stream: `multipart/form-data`. */
  readonly upload: boolean;
}

interface Shape<P, Q, B, R, QI, BI> {
  tag: string;
  summary: string;
  access?: Access;
  profile?: boolean;
  params?: GivenSchema<P>;
  query?: GivenSchema<Q, QI>;
  body?: GivenSchema<B, BI>;
  result?: GivenSchema<R>;
  type?: string;
  status?: number;
  errors?: readonly ErrorCode[];
  bodyMaxBytes?: number;
  upload?: boolean;
}

export function httpRoute<
  const K extends `${Verb} /${string}`,
  P = Record<string, never>,
  Q = Record<string, never>,
  B = null,
  R = null,
  QI = Q,
  BI = B,
>(key: K, shape: Shape<P, Q, B, R, QI, BI>): HttpRoute<K, P, Q, B, R, QI, BI> {
  const [method, path] = key.split(' ') as [Verb, string];
  return {
    key,
    method,
    path,
    tag: shape.tag,
    summary: shape.summary,
    access: shape.access ?? 'signedIn',
    profile: shape.profile ?? false,
    params: shape.params ? whole(shape.params) : null,
    query: shape.query ? whole(shape.query) : null,
    body: shape.body ? whole(shape.body) : null,
    result: shape.result ? whole(shape.result) : null,
    type: shape.type ?? 'application/json',
    status: shape.status ?? 200,
    errors: shape.errors ?? [],
    bodyMaxBytes: shape.bodyMaxBytes ?? limits.dashboard.bodyMaxBytes,
    upload: shape.upload ?? false,
  };
}

/** What the page has to give and gets, by key: `CallOf<typeof listSessions>`. */
export type KeyOf<T> = T extends HttpRoute<infer K, infer _P, infer _Q, infer _B, infer _R, infer _QI, infer _BI> ? K : never;
export type AnswerOf<T> = T extends HttpRoute<infer _K, infer _P, infer _Q, infer _B, infer R, infer _QI, infer _BI> ? R : never;
export type ParamsOf<T> = T extends HttpRoute<infer _K, infer P, infer _Q, infer _B, infer _R, infer _QI, infer _BI> ? P : never;
export type QueryOf<T> = T extends HttpRoute<infer _K, infer _P, infer _Q, infer _B, infer _R, infer QI, infer _BI> ? QI : never;
export type BodyOf<T> = T extends HttpRoute<infer _K, infer _P, infer _Q, infer _B, infer _R, infer _QI, infer BI> ? BI : never;
