/**
 * The HTTP side: one fastify instance, the guard and the token before every route, problem+json for
 * every error. Routes that need no token say so in their config; everything else needs one.
 */
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { AgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import type { Client } from '../../ipc/client.ts';
import type { Access } from '../../ipc/httpRoute.ts';
import type { ProfilePaths } from '../../state/home.ts';
import type { WorkerContext } from '../worker.ts';
import type { Actions } from './actions.ts';
import type { Binding } from './binding.ts';
import type { Gate } from './auth/contract.ts';
import type { Identity } from './auth/identity.ts';
import { addSignInRoutes, loginAddress } from './auth/routes.ts';
import { boundConnections, type Connections } from './connections.ts';
import { checkOrigin, isDirect, requireOneHost, tokenOf, type SessionToken } from './guard.ts';
import type { HostFigures } from './hostFigures.ts';
import type { Overview } from './overview.ts';
import { encodingFor, type Page } from './page.ts';
import { pinnedProfile } from './pinned.ts';
import { problem, problemOf, problemText, sendProblem } from './problem.ts';
import { addRoutes } from './route.ts';
import { apiHeaders, securityHeaders } from './securityHeaders.ts';
import { addCronFireRoute } from './routes/cronFire.ts';
import { allRoutes } from './routes/table.ts';
import { isSocketRequest } from './sockets/upgrade.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call it; absent = signed in. */
    access?: Access;
    /** Its answers bring every header themselves (route.ts). */
    prepared?: boolean;
    /** A file comes in: it may take `limits.files.uploadMs`. */
    upload?: boolean;
  }
  interface FastifyRequest {
    /** Who asks; null on routes that ask nobody. */
    who: Identity | null;
  }
}

export interface Dashboard {
  context: WorkerContext;
  binding: Binding;
  token: SessionToken;
  gate: Gate;
  page: Page;
  overview: Overview;
  actions: Actions;
  /** Memory and disk of the machine. */
  host: () => HostFigures;
  /** The agent worker of a profile; started when it does not run. */
  agentOf(profile: ProfilePaths): Client;
}

export function buildHttp(dashboard: Dashboard): { app: FastifyInstance; connections: Connections } {
  const { context, binding, gate } = dashboard;
  const handlers = allRoutes(dashboard);
  const routes: Served[] = [];
  const app = fastify({
    http: { shouldUpgradeCallback: isSocketRequest, connectionsCheckingInterval: limits.dashboard.headCheckMs },
    clientErrorHandler: answerBroken,
    logger: false,
    bodyLimit: limits.dashboard.bodyMaxBytes,
    requestTimeout: limits.files.uploadMs,
    forceCloseConnections: true,
    schemaController: withoutCompilers,
    // An address that cannot even be parsed: refused before any hook.
    frameworkErrors: (thrown, _request, reply) => void sendProblem(reply as FastifyReply, thrown),
  });

  // Contract §9: a route takes JSON, and a form of another site could send plain text.
  app.removeContentTypeParser('text/plain');
  app.server.headersTimeout = limits.dashboard.headMs;
  const connections = boundConnections(app.server, (address) => gate.clients.isTrusted(address));
  app.decorateRequest('who', null);
  app.addHook('onRequest', (request, reply, done) => {
    const { access = 'signedIn', upload = false, prepared = false } = request.routeOptions.config ?? {};
    if (!prepared) void reply.headers(isApi(request) ? apiHeaders : securityHeaders);
    // A target with a host in it is for proxies; this is none.
    if (!request.url.startsWith('/')) throw new AgentError('NOT_FOUND', 'there is no such address');
    requireOneHost(request.raw);
    const bodyMayTakeLong = boundBody(request, reply);
    if (access !== 'outside') checkOrigin(request.raw, binding);
    // Whatever is no route at all is a place of the page, which asks for the sign-in itself.
    if (access !== 'signedIn' || (request.is404 && !isApi(request))) return done();
    gate.admit(request.raw, reply).then((who) => {
      request.who = who;
      connections.proved(request.raw.socket);
      if (upload) bodyMayTakeLong();
      // oxlint-disable-next-line promise/no-callback-in-promise -- the public routes go the short way, without a promise
      done();
    }, done);
  });
  app.setErrorHandler((thrown, request, reply) => {
    logFailure(context.log, request, { thrown, from: gate.clients.addressOf(request.raw) });
    return sendProblem(reply.headers(isApi(request) ? apiHeaders : securityHeaders), thrown);
  });
  app.setNotFoundHandler((request, reply) => {
    const other = otherMethods(routes, request);
    if (other.length > 0) {
      void reply.header('Allow', other.join(', '));
      throw new AgentError('METHOD_NOT_ALLOWED', `${pathOf(request)} does not take ${request.method}`, {
        fix: `it takes ${other.join(' and ')}`,
      });
    }
    if (isApi(request)) throw new AgentError('NOT_FOUND', `there is no ${request.method} ${pathOf(request)}`);
    return servePage(dashboard, request, reply);
  });

  app.addHook('onRoute', ({ method, url }) => void routes.push(...[method].flat().map((one) => ({ method: one, path: url }))));
  addRoutes(app, handlers, { home: context.home, pinned: pinnedProfile(context) });
  addCronFireRoute(app, dashboard);
  addSignInRoutes(app, dashboard);
  return { app, connections };
}

/**
 * A body that trickles in holds a connection for `limits.dashboard.requestMs`; one that is still arriving when its request
 * has been answered, for `unreadMs`. Answers how to lift the first bound, for an upload that has been admitted.
 */
function boundBody({ raw }: FastifyRequest, reply: FastifyReply): () => void {
  if (raw.complete || !('content-length' in raw.headers || 'transfer-encoding' in raw.headers)) return () => {};
  const closeAfter = (ms: number) => {
    const late = setTimeout(() => raw.complete || raw.destroy(), ms).unref();
    const over = () => clearTimeout(late);
    raw.once('end', over).once('close', over);
    return over;
  };
  reply.raw.once('finish', () => raw.complete || closeAfter(limits.dashboard.unreadMs));
  return closeAfter(limits.dashboard.requestMs);
}

/** What the parser of HTTP itself refuses, or what took too long to arrive. */
function answerBroken(thrown: Error & { code?: string }, socket: Socket): void {
  if (thrown.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, detail } = brokenAs(thrown.code);
  socket.end(problemText(problem('BAD_REQUEST', status, detail)), () => socket.destroy());
}

function brokenAs(code: string | undefined): { status: number; detail: string } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, detail: 'the request did not arrive in time' };
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, detail: 'the headers of the request are too large' };
  return { status: 400, detail: 'the request is not valid HTTP/1.1' };
}

/** Methods that an address takes beside that of the request. */
const otherMethods = (routes: readonly Served[], request: FastifyRequest): string[] => [
  ...new Set(routes.filter(({ method, path }) => method !== 'HEAD' && isSamePath(path, pathOf(request))).map(({ method }) => method)),
];

interface Served {
  method: string;
  path: string;
}

function isSamePath(pattern: string, path: string): boolean {
  const given = path.split('/');
  const parts = pattern.split('/');
  return parts.length === given.length && parts.every((part, index) => part.startsWith(':') || part === given[index]);
}

/** Requests are checked with zod: ajv and its sibling, loaded by default, would only cost memory. */
const withoutCompilers = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0]!;

/** By the route that serves it, not by its spelling: to the router `/%61pi/x` is `/api/x`. */
function isApi(request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? pathOf(request);
  return path === '/api' || path.startsWith('/api/');
}

function servePage(dashboard: Dashboard, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { page, gate } = dashboard;
  const path = pathOf(request);
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new AgentError('NOT_FOUND', `there is no ${request.method} ${path}`);
  const asset = page.asset(path);
  if (asset) {
    void reply.header('ETag', asset.etag).header('Vary', 'Accept-Encoding').type(asset.type);
    void reply.header('Cache-Control', asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache');
    if (request.headers['if-none-match'] === asset.etag) return reply.status(304).send();
    const { body, encoding } = encodingFor(asset, String(request.headers['accept-encoding'] ?? ''));
    return (encoding ? reply.header('Content-Encoding', encoding) : reply).send(body);
  }
  // A name with an extension is a file that does not exist, not a place of the page.
  if (/\.[a-z0-9]+$/i.test(path)) throw new AgentError('NOT_FOUND', `there is no ${path}`);
  if (gate.mode === 'signIn' && !gate.whoIs(request.raw))
    return reply.header('Cache-Control', 'no-store').redirect(loginAddress(request.url), 302);
  const holdsToken = gate.mode === 'token' && mayHoldToken(dashboard, request);
  if (holdsToken) gate.browsers?.give(request.raw, reply);
  const { html, policy } = page.index(gate.mode === 'signIn' ? { signedIn: true } : { token: holdsToken ? dashboard.token.value : null });
  return reply
    .status(page.built ? 200 : 503)
    .headers({ 'Cache-Control': 'no-store', 'Content-Security-Policy': policy })
    .type('text/html; charset=utf-8')
    .send(html);
}

/**
 * Only a browser that has shown a login code gets the page with the token in it (interface spec, Authentication 1), and
 * only on a direct connection: a proxy of the same user looks like a browser, so an address alone proves nothing.
 */
function mayHoldToken({ binding, gate, token }: Dashboard, { raw }: FastifyRequest): boolean {
  const proved = gate.browsers?.isProved(raw) || token.matches(tokenOf(raw));
  return proved && isDirect(raw, binding);
}

/** Refusals are worth a line, defects a stack; neither gets the query, which may hold the token. */
function logFailure(log: Logger, request: FastifyRequest, { thrown, from }: { thrown: unknown; from: string }): void {
  const { status, code } = problemOf(thrown);
  const line = `${request.method} ${pathOf(request).slice(0, 200)} answered ${status} ${code}`;
  if (code === 'INTERNAL') log.error(line, errorFields(thrown));
  else if (status === 401 || status === 403)
    log.warn(line, { from, ...(thrown instanceof Error && thrown.cause ? { cause: messageOf(thrown.cause) } : {}) });
  else log.info(line);
}
