/** Joins the contract of a route (ipc/contracts/http) to its handler, and puts it on the server: checks, profile scope, ETag. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { AgentError } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import type { HttpRoute } from '../../ipc/httpRoute.ts';
import { DEFAULT_PROFILE, requireProfile, type Home, type ProfilePaths } from '../../state/home.ts';
import { parseRequest } from './problem.ts';

export interface RouteInput<P = unknown, Q = unknown, B = unknown> {
  params: P;
  query: Q;
  body: B;
  /** Of the request's `profile`; the default one when it names none. */
  profile: ProfilePaths;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  request: FastifyRequest;
  /** For another status or headers; the answer itself is what the handler returns. */
  reply: FastifyReply;
}

export interface HttpHandler {
  route: HttpRoute;
  /** May answer the reply itself, for what is not JSON. */
  run(input: RouteInput): unknown;
}

/** A handler with the types of its contract. */
export function on<K extends string, P, Q, B, R, QI, BI>(
  route: HttpRoute<K, P, Q, B, R, QI, BI>,
  run: (input: RouteInput<P, Q, B>) => (R extends null ? unknown : R | FastifyReply) | Promise<R extends null ? unknown : R | FastifyReply>,
): HttpHandler {
  return { route: route as unknown as HttpRoute, run: run as HttpHandler['run'] };
}

/** Every route of the list. `home` is asked whether a profile exists. */
export function addRoutes(app: FastifyInstance, handlers: readonly HttpHandler[], home: Home): void {
  for (const handler of handlers) addRoute(app, handler, home);
}

function addRoute(app: FastifyInstance, { route, run }: HttpHandler, home: Home): void {
  app.route({
    method: route.method as HTTPMethods,
    url: route.path,
    bodyLimit: route.bodyMaxBytes,
    config: { access: route.access },
    handler: async (request, reply) => {
      const input: RouteInput = {
        params: parseRequest(route.params, request.params),
        query: parseRequest(route.query, request.query),
        body: route.body && !route.upload ? parseRequest(route.body, request.body) : null,
        profile: route.profile ? profileOf(request, home) : home,
        signal: request.signal,
        request,
        reply,
      };
      if (route.status !== 200) void reply.status(route.status);
      const answer = await run(input);
      if (reply.sent || answer === reply) return reply;
      if (route.result === null) return answer;
      return route.method === 'GET' ? sendTagged(request, reply, answer) : answer;
    },
  });
}

/** Interface spec, http.16: the body wins over the query, none means the default, an unknown one is a 404. */
function profileOf({ query, body }: FastifyRequest, home: Home): ProfilePaths {
  const said = [body, query].map((part) => (part as { profile?: unknown } | null | undefined)?.profile).find((name) => name !== undefined);
  if (said === undefined || said === null || said === '') return home.profile(DEFAULT_PROFILE);
  if (typeof said !== 'string') throw new AgentError('UNKNOWN_PROFILE', 'a profile is named by one word');
  return requireProfile(home, said);
}

/** A page that asks again and again is told in a few bytes that nothing has changed. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, answer: unknown): FastifyReply {
  const text = JSON.stringify(answer);
  const tag = `"${digest(text, 20)}"`;
  void reply.header('ETag', tag);
  if (request.headers['if-none-match'] === tag) return reply.status(304).send();
  return reply.type('application/json; charset=utf-8').send(text);
}
