/**
 * Webhooks as a platform: `POST /webhooks/<route>` makes a prompt from the payload; its answer goes
 * where the route says. Order of a request: route, method, size, authenticity, rate, parse, store,
 * 202. Loopback unless every route is authenticated. What a payload says is untrusted, signed or not.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentError, errnoOf, messageOf } from '../../../base/errors.ts';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import { inheritedListener } from '../../inherited.ts';
import { checked } from '../../../ipc/link.ts';
import { WebhookSettings } from '../../../state/config/platformSettings.ts';
import { SendError, type Adapter, type AdapterHost, type Connection } from '../adapter.ts';
import { deliveryIdOf, INSECURE_NO_AUTH, isAuthentic, MinuteRate } from './webhookAuth.ts';
import { UnheardAnswers } from './unheardAnswers.ts';
import { eventNames, isWanted, shownHeaders } from './webhookEvents.ts';
import { Guesses, senderOf } from './webhookGuesses.ts';
import { fillTemplate } from './webhookTemplate.ts';

interface Route {
  name: string;
  prompt: string;
  deliver: string;
  secret: string | undefined;
  profile: string | undefined;
  /** Names of events that make a turn; undefined = all. */
  events: readonly string[] | undefined;
  rate: MinuteRate;
  /** Guessing a secret is bounded as well. */
  guesses: Guesses;
}

export const createWebhookAdapter = (host: AdapterHost): Adapter => new WebhookAdapter(host);

class WebhookAdapter implements Adapter {
  readonly #host: AdapterHost;
  #settings!: WebhookSettings;
  #routes = new Map<string, Route>();
  /** Made by command; kept for their rates, by name. */
  #subscribed = new Map<string, Pick<Route, 'rate' | 'guesses'>>();
  /** What a delivery for no route is judged by: it has no secret, so it refuses everything, and counts guesses. */
  readonly #unknown: Route = {
    name: '',
    prompt: '',
    deliver: 'none',
    secret: undefined,
    profile: undefined,
    events: undefined,
    ...newRates(),
  };
  readonly #unheard = new UnheardAnswers();
  #server: Server | undefined;

  constructor(host: AdapterHost) {
    this.#host = host;
  }

  provision({ settings, secrets }: Parameters<Adapter['provision']>[0]): void {
    this.#settings = checked(WebhookSettings, settings, 'CONFIG_INVALID', 'platforms.webhook');
    for (const [name, { prompt, deliver, secret, profile, events }] of Object.entries(this.#settings.routes))
      this.#routes.set(name, { name, prompt, deliver, secret: secret ?? secrets.get('WEBHOOK_SECRET'), profile, events, ...newRates() });
  }

  validate(): void {
    const { host } = this.#settings;
    for (const route of this.#routes.values()) {
      const at = `platforms.webhook.routes.${route.name}`;
      if (!route.secret || /\$\{\w+\}/.test(route.secret)) {
        throw new AgentError('CONFIG_INVALID', `${at} has no secret`, {
          fix: `set WEBHOOK_SECRET in .env, or secret: \${NAME} at the route; secret: ${INSECURE_NO_AUTH} lets anybody on this machine in`,
        });
      }
      if (route.secret === INSECURE_NO_AUTH && !isLoopback(host)) {
        throw new AgentError('CONFIG_INVALID', `${at} is open to anybody and ${host} is no loopback address`, {
          fix: 'give the route a secret, or listen on 127.0.0.1',
        });
      }
      if (route.profile !== undefined && !this.#host.isProfile(route.profile)) {
        throw new AgentError('CONFIG_INVALID', `${at}.profile: there is no profile "${route.profile}"`, { fix: 'agent profile list' });
      }
      if (!isNowhere(route.deliver) && !this.#host.target(route.deliver)) {
        throw new AgentError('CONFIG_INVALID', `${at}.deliver: nothing answers to "${route.deliver}"`, {
          fix: 'write none, or a configured platform and chat such as "irc:#room"',
        });
      }
    }
  }

  async connect(signal: AbortSignal): Promise<Connection> {
    await this.cleanup();
    const { host, port } = this.#settings;
    const server = createServer((request, response) => void this.#answer(request, response));
    server.requestTimeout = limits.gateway.webhookRequestMs;
    server.headersTimeout = limits.gateway.webhookRequestMs;
    server.maxConnections = limits.gateway.webhookConnectionsMax;
    this.#server = server;
    const closed = new Promise<Error>((resolve) =>
      server.once('close', () => resolve(new AgentError('PLATFORM_DOWN', 'the webhook server was closed'))),
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', (thrown) => reject(listenError(thrown, host, port)));
      const fd = inheritedListener('webhook');
      server.listen(fd === undefined ? { host, port, signal } : { fd, signal }, resolve);
    });
    this.#host.log.info(`webhook: listening on http://${host}:${(server.address() as AddressInfo).port}/webhooks/`, {
      routes: [...this.#routes.keys()],
    });
    return { closed };
  }

  isReady(): boolean {
    return false;
  }

  split(_chat: string, text: string): string[] {
    return [text];
  }

  async send(): Promise<void> {
    throw new SendError('permanent', 'the webhook platform only receives');
  }

  async cleanup(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server?.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), 500).unref();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#take(request, response);
    } catch (thrown) {
      if (thrown instanceof HttpProblem) return sendProblem(response, thrown);
      this.#host.log.error(`webhook: ${request.url}: ${messageOf(thrown)}`);
      sendProblem(response, new HttpProblem(503, 'Not stored', 'the message could not be stored; send it again', 10));
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = /^\/webhooks\/([\w.-]+)\/?(?:\?.*)?$/.exec(request.url ?? '')?.[1];
    if (name === undefined) throw new HttpProblem(404, 'Not found', `no webhook is delivered to ${(request.url ?? '').split('?')[0]}`);
    if (request.method !== 'POST')
      throw new HttpProblem(405, 'Method not allowed', 'a webhook is delivered with POST', undefined, { allow: 'POST' });
    // An unknown route refuses as one whose secret is wrong, so that names cannot be probed.
    const route = this.#routes.get(name) ?? this.#subscription(name) ?? this.#unknown;
    const body = await readBody(request);
    const nowMs = Date.now();
    const sender = senderOf(request);
    const blockedMs = route.guesses.waitMs(sender, nowMs);
    if (blockedMs > 0) throw tooManyGuesses(blockedMs);
    if (!isAuthentic(route.secret, request.headers, body)) {
      route.guesses.wrong(sender, nowMs);
      if (route === this.#unknown) this.#host.log.warn(`webhook: a delivery came for the unknown route ${name}`);
      throw new HttpProblem(401, 'Not authentic', `there is no route ${name} with this signature or secret`);
    }
    route.guesses.right(sender, nowMs);
    // Open to programs of this machine; a browser brings what any page of the web made up.
    if (route.secret === INSECURE_NO_AUTH && isFromPage(request))
      throw new HttpProblem(403, 'From a web page', `${route.name} has no secret, so nothing is taken from a browser`);
    const waitMs = route.rate.take(nowMs);
    if (waitMs > 0) throw tooMany(waitMs);
    const raw = body.toString('utf8');
    const payload = parsePayload(raw, request.headers['content-type'] ?? '');
    // Slack proves an address by asking for this word back.
    if (isRecord(payload) && payload.type === 'url_verification' && typeof payload.challenge === 'string')
      return sendJson(response, 200, { challenge: payload.challenge });
    const names = eventNames(request.headers, payload);
    if (!isWanted(names, route.events)) return sendJson(response, 200, { status: 'ignored', event: names[0] ?? null });
    this.#requirePlaces(route);
    const text = fillTemplate(route.prompt, payload, raw, shownHeaders(request.headers));
    const named = deliveryIdOf(request.headers, payload);
    // A sender that gave up waiting repeats the event: what it was never told of is not stored twice.
    const deliveryId = named ?? (await this.#unheard.idOf(digest(`${route.name}\n${raw}`), request.socket));
    this.#store(route, { text, deliveryId, nowMs }, response);
  }

  /** One that was made by command, as its file says now. Its rates live as long as this connection. */
  #subscription(name: string): Route | undefined {
    const of = this.#host.subscription(name);
    if (!of) return undefined;
    const rates = this.#subscribed.get(name) ?? newRates();
    this.#subscribed.set(name, rates);
    const secret = /\$\{\w+\}/.test(of.secret) || of.secret === INSECURE_NO_AUTH ? undefined : of.secret;
    return { name, prompt: of.prompt, deliver: of.deliver, secret, profile: of.profile, events: of.events, ...rates };
  }

  /** What config.yaml says is checked at the start; a route made by command may point to what has gone since. */
  #requirePlaces({ name, deliver, profile }: Route): void {
    const gone = (what: string) => new HttpProblem(503, 'Not deliverable', `the route ${name} cannot be used: ${what}`, 60);
    if (profile !== undefined && !this.#host.isProfile(profile)) throw gone(`its profile is gone`);
    if (!isNowhere(deliver) && !this.#host.target(deliver)) throw gone('nothing answers to where its answers go');
  }

  #store(route: Route, { text, deliveryId, nowMs }: { text: string; deliveryId: string; nowMs: number }, response: ServerResponse): void {
    const received = this.#host.receive({
      chat: route.name,
      chatType: 'route',
      user: route.name,
      identities: [],
      text,
      messageId: deliveryId,
      at: nowMs,
      reply: isNowhere(route.deliver) ? null : (this.#host.target(route.deliver) ?? null),
      trusted: true,
      fresh: true,
      ...(route.profile === undefined ? {} : { profile: route.profile }),
      dedupeMs: limits.gateway.webhookIdempotencyMs,
    });
    if (received.kind === 'full') throw new HttpProblem(503, 'Queue full', `too many deliveries of ${route.name} wait for the agent`, 60);
    sendJson(response, received.kind === 'duplicate' ? 200 : 202, {
      status: received.kind === 'duplicate' ? 'duplicate' : 'accepted',
      delivery_id: deliveryId,
    });
  }
}

const newRates = (): Pick<Route, 'rate' | 'guesses'> => ({
  rate: new MinuteRate(limits.gateway.webhookPerMinute),
  guesses: new Guesses(),
});

/** Browsers name the page behind every POST, and no page can keep them from it. */
const isFromPage = ({ headers }: IncomingMessage): boolean => headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isNowhere = (deliver: string): boolean => deliver === 'none' || deliver === 'local' || deliver === '';
const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);

function listenError(thrown: unknown, host: string, port: number): unknown {
  if (errnoOf(thrown) === 'EADDRINUSE')
    return new AgentError('PORT_IN_USE', `port ${port} on ${host} is taken by another program`, {
      cause: thrown,
      fix: 'set platforms.webhook.port to a free one',
    });
  if (errnoOf(thrown) === 'EACCES' || errnoOf(thrown) === 'EADDRNOTAVAIL')
    return new AgentError('CONFIG_INVALID', `cannot listen on ${host}:${port} (${errnoOf(thrown)})`, {
      cause: thrown,
      fix: 'use 127.0.0.1 and a port above 1023',
    });
  return thrown;
}

class HttpProblem extends Error {
  readonly status: number;
  readonly title: string;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Record<string, string>;

  constructor(status: number, title: string, detail: string, retryAfterSeconds?: number, headers: Record<string, string> = {}) {
    super(detail);
    this.status = status;
    this.title = title;
    this.retryAfterSeconds = retryAfterSeconds;
    this.headers = headers;
  }
}

const tooMany = (waitMs: number): HttpProblem =>
  new HttpProblem(
    429,
    'Too many deliveries',
    `a route takes ${limits.gateway.webhookPerMinute} deliveries a minute`,
    Math.ceil(waitMs / 1_000),
  );

const tooManyGuesses = (waitMs: number): HttpProblem =>
  new HttpProblem(429, 'Too many wrong signatures', 'this route was sent too many wrong signatures or secrets', Math.ceil(waitMs / 1_000));

/** Keeps at most the limit. A little more is read and dropped, because a sender that is cut off never sees the answer. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const max = limits.gateway.webhookBodyMaxBytes;
  const tooLarge = () => new HttpProblem(413, 'Too large', `a delivery has at most ${max} bytes`, undefined, { connection: 'close' });
  if (Number(request.headers['content-length'] ?? 0) > DRAINED_TIMES * max) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > DRAINED_TIMES * max) throw tooLarge();
    if (size <= max) chunks.push(chunk);
  }
  if (size > max) throw tooLarge();
  return Buffer.concat(chunks);
}

/** Bodies up to this many times the limit are read to their end before they are refused. */
const DRAINED_TIMES = 8;

function parsePayload(raw: string, type: string): unknown {
  if (/^text\/plain\b/i.test(type)) return {};
  try {
    if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return JSON.parse(raw) as unknown;
    const form = Object.fromEntries(new URLSearchParams(raw));
    return form.payload === undefined ? form : (JSON.parse(form.payload) as unknown);
  } catch {
    throw new HttpProblem(400, 'Not JSON', 'the body is not JSON; for plain text send Content-Type: text/plain');
  }
}

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function sendProblem(response: ServerResponse, problem: HttpProblem): void {
  const { status, title, message, retryAfterSeconds, headers } = problem;
  if (response.headersSent) return void response.destroy();
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  sendJson(
    response,
    status,
    { type: 'about:blank', title, status, detail: message },
    { 'content-type': 'application/problem+json', ...retry, ...headers },
  );
}
