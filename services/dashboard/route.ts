/** Joins the contract of a route (ipc/contracts/http) to its handler, and puts it on the server: checks, profile scope, ETag. */
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AgentError } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { HttpRoute } from '../../ipc/httpRoute.ts';
import { DEFAULT_PROFILE, requireProfile, type Home, type ProfilePaths } from '../../state/home.ts';
import type { Identity } from './auth/identity.ts';
import { withinPinned } from './pinned.ts';
import { parseRequest } from './problem.ts';
import { apiHeaders } from './securityHeaders.ts';

export interface RouteInput<P = unknown, Q = unknown, B = unknown> {
  params: P;
  query: Q;
  body: B;
  /** Of the request's `profile`; the default one when it names none. */
  profile: ProfilePaths;
  /** Who asks; null on routes that ask nobody. */
  who: Identity | null;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  request: FastifyRequest;
  /** For another status or headers; the answer itself is what the handler returns. */
  reply: FastifyReply;
}

export interface HttpHandler {
  route: HttpRoute;
  cache?: RouteCache | undefined;
  /** May answer the reply itself, for what is not JSON. */
  run(input: RouteInput): unknown;
}

/** For what many ask often: the finished text of an answer serves all who have the same key, for so long. */
export interface RouteCache {
  forMs: number;
  key(request: FastifyRequest): string;
}

/** A handler with the types of its contract. */
export function on<K extends string, P, Q, B, R, QI, BI>(
  route: HttpRoute<K, P, Q, B, R, QI, BI>,
  run: (input: RouteInput<P, Q, B>) => (R extends null ? unknown : R | FastifyReply) | Promise<R extends null ? unknown : R | FastifyReply>,
  cache?: RouteCache,
): HttpHandler {
  // Erased: the check of a request brings exactly the types that this handler was written for.
  const handler: { route: unknown; run: unknown; cache: RouteCache | undefined } = { route, run, cache };
  return handler as HttpHandler;
}

export interface Profiles {
  /** Asked whether a profile exists. */
  home: Home;
  /** The only one that is served; null = all. */
  pinned: string | null;
}

/** Every route of the list. */
export function addRoutes(app: FastifyInstance, handlers: readonly HttpHandler[], profiles: Profiles): void {
  for (const handler of handlers.filter(({ route }) => !route.upload)) addRoute(app, handler, profiles);
  const uploads = handlers.filter(({ route }) => route.upload);
  // Forms are read by routes that take one, and by no other.
  void app.register(async (scope) => {
    await scope.register(multipart, {
      limits: { files: 1, fields: 10, fieldSize: 8 * 1024, fieldNameSize: 100, headerPairs: 50, fileSize: limits.files.uploadMaxBytes },
    });
    for (const handler of uploads) addRoute(scope, handler, profiles);
  });
}

function addRoute(app: FastifyInstance, { route, run, cache }: HttpHandler, profiles: Profiles): void {
  const kept = cache && keepTexts(cache);
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.bodyMaxBytes,
    config: { access: route.access, upload: route.upload, prepared: kept !== undefined },
    handler: (request, reply) => {
      const known = kept?.find(request);
      return known ? sendPrepared(request, reply, known) : answerOf(request, reply);
    },
  });

  async function answerOf(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const input: RouteInput = {
      params: route.params ? parseRequest(route.params, request.params) : {},
      query: route.query ? parseRequest(route.query, request.query) : {},
      body: route.body && !route.upload ? parseRequest(route.body, request.body) : null,
      profile: route.profile ? profileOf(request, profiles) : profiles.home,
      who: request.who,
      get signal() {
        return clientSignal(reply);
      },
      request,
      reply,
    };
    if (route.status !== 200) void reply.status(route.status);
    const answer = await run(input);
    if (reply.sent || answer === reply) return reply;
    if (route.result === null) return answer;
    if (route.method !== 'GET') return answer;
    const tagged = tag(answer);
    if (!kept) return sendTagged(request, reply, tagged);
    kept.keep(request, tagged);
    return sendPrepared(request, reply, tagged);
  }
}

/** fastify's own signal aborts as soon as the body of a request has been read: the request is over then, its client is not gone. */
function clientSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  raw.once('close', () => raw.writableFinished || gone.abort());
  return gone.signal;
}

/** Interface spec, http.16: the body wins over the query, none means the default, an unknown one is a 404. */
function profileOf({ query, body }: FastifyRequest, { home, pinned }: Profiles): ProfilePaths {
  const name = [body, query]
    .map((part) => (part as { profile?: unknown } | null | undefined)?.profile)
    .find((given) => (given ?? '') !== '');
  if (name === undefined) return home.profile(pinned ?? DEFAULT_PROFILE);
  if (typeof name !== 'string') throw new AgentError('UNKNOWN_PROFILE', 'a profile is named by one word');
  return requireProfile(home, withinPinned(pinned, name)!);
}

interface Tagged {
  text: string;
  etag: string;
}

function tag(answer: unknown): Tagged {
  const text = JSON.stringify(answer);
  return { text, etag: `"${digest(text, 20)}"` };
}

/** A page that asks again and again is told in a few bytes that nothing has changed. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, { text, ...made }: Tagged): FastifyReply {
  // A handler may name the version of what it shows itself.
  const etag = String(reply.getHeader('ETag') ?? made.etag);
  void reply.header('ETag', etag);
  if (request.headers['if-none-match'] === etag) return reply.status(304).send();
  return reply.header('Content-Type', 'application/json; charset=utf-8').send(text);
}

/** Past fastify's own way out, whose hooks and header by header work cost more than the rest of such an answer (measured: a quarter of the requests a second). */
function sendPrepared({ headers }: FastifyRequest, reply: FastifyReply, { text, etag }: Tagged): undefined {
  reply.hijack();
  const head = { ...apiHeaders, ETag: etag };
  if (headers['if-none-match'] === etag) return void reply.raw.writeHead(304, head).end();
  reply.raw
    .writeHead(200, { ...head, 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(text) })
    .end(text);
}

/** The latest text of each key; keys change with what the answer depends on, so old ones are dropped. */
function keepTexts({ forMs, key }: RouteCache): {
  find(request: FastifyRequest): Tagged | undefined;
  keep(request: FastifyRequest, answer: Tagged): void;
} {
  const texts = new Map<string, Tagged & { atMs: number }>();
  return {
    find(request) {
      const found = texts.get(key(request));
      return found && performance.now() - found.atMs <= forMs ? found : undefined;
    },
    keep(request, answer) {
      if (texts.size > KEYS_MAX) texts.clear();
      texts.set(key(request), { ...answer, atMs: performance.now() });
    },
  };
}

const KEYS_MAX = 8;
