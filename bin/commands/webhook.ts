/** `agent webhook …`: routes of the webhook platform that are made without touching config.yaml. Needs no service. */
import { request } from 'node:http';
import { createHmac } from 'node:crypto';
import { AgentError, messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { platformGuides } from '../../ipc/contracts/platformGuides.ts';
import { loadConfig } from '../../state/config/load.ts';
import { interpolate, readSecrets } from '../../state/env.ts';
import { isPaused, resumeAdvice } from '../../state/pause.ts';
import { openHome, prepareHome, requireProfile, type ProfilePaths } from '../../state/home.ts';
import { readPlatform } from '../../state/platforms.ts';
import { readSubscriptions, ROUTE_NAME, subscribe, unsubscribe, WEBHOOK_EVENTS_MAX } from '../../state/webhookSubscriptions.ts';
import { jsonOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const name: Argument = { name: 'name', summary: 'of the route: letters, digits, dots and dashes' };

export const command: Command = {
  name: 'webhook',
  summary: 'Make and remove webhook routes',
  details:
    'A route takes POST /webhooks/<name>, makes a prompt of it and sends the answer where it says. Routes stand in webhook_subscriptions.json of the profile (-p chooses whose); a running gateway sees a change at once. Routes of config.yaml are not touched.',
  examples: [
    { line: 'agent webhook subscribe build --prompt "Build {status}" --deliver "irc:#room"', does: 'prints the address and the secret' },
    { line: 'agent webhook test build \'{"status":"green"}\'', does: 'posts to it, signed, as a sender would' },
  ],
  commands: [
    {
      name: 'subscribe',
      summary: 'Make a route, or change it',
      details: 'The secret is shown once, when the route is made. Doing it again changes what is given; the secret and the profile stay.',
      arguments: [name],
      options: [
        { flags: '--prompt <text>', summary: 'what the agent is asked; {field.path} is taken from the payload (default all of it)' },
        { flags: '--deliver <target>', summary: 'where the answer goes: none (default), <platform>, <platform>:<chat>' },
        { flags: '--events <names>', summary: 'events that make a turn, separated by commas; "" for every event but a ping' },
        { flags: '--route-profile <profile>', summary: 'whose agent answers (default: that of the gateway)', complete: 'profile' },
        jsonOption,
      ],
      examples: [
        { line: 'agent webhook subscribe deploys --prompt "{__raw__}" --deliver irc', does: 'to the home chat of IRC' },
        { line: 'agent webhook subscribe hub --events push,pull_request.opened', does: 'other events are answered with ignored' },
        { line: 'agent webhook subscribe invoices --route-profile work', does: 'answered by the agent of the profile work' },
      ],
      run: subscribeRoute,
    },
    {
      name: 'list',
      summary: 'List routes, of config.yaml too',
      options: [jsonOption],
      examples: [{ line: 'agent webhook list', does: 'name, where answers go, address' }],
      run: list,
    },
    {
      name: 'remove',
      summary: 'Remove a route and its secret',
      arguments: [name],
      options: [jsonOption],
      examples: [{ line: 'agent webhook remove build', does: 'the address answers 404 at once' }],
      run: remove,
    },
    {
      name: 'test',
      summary: 'Post to a route of the running gateway, signed with its secret',
      arguments: [name, { name: 'json', summary: 'the payload (default {})', optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent webhook test build \'{"status":"red"}\'', does: 'a real delivery: the agent answers it' }],
      run: test,
    },
  ],
};

async function subscribeRoute(input: Input): Promise<number> {
  const route = routeName(input);
  const profile = textOption(input, 'routeProfile');
  if (profile !== undefined) requireProfile(openHome(), profile);
  const deliver = textOption(input, 'deliver');
  if (deliver !== undefined && !/^(?:none|local|[a-z][a-z0-9_-]*(?::[^\s:]+){0,2})$/i.test(deliver))
    throw new AgentError('USAGE', `"${deliver}" is no delivery target`, { fix: 'write none, <platform> or <platform>:<chat>' });
  const prompt = textOption(input, 'prompt');
  if (prompt?.trim() === '') throw new AgentError('USAGE', 'the prompt is empty', { fix: '--prompt "{__raw__}" is all of the payload' });
  const events = eventsOf(textOption(input, 'events'));
  const where = profileOf(input);
  if (Object.hasOwn(configured(where).routes, route))
    throw new AgentError('USAGE', `platforms.webhook.routes of config.yaml has a route "${route}" already`, {
      fix: 'choose another name, or change it there',
    });
  prepareHome(openHome());
  const made = await subscribe(where, route, { prompt, deliver, profile, events });
  const shown = { name: route, ...viewOf(where, route, made.route), secret: made.secret, enabled: configured(where).enabled };
  if (input.json) printJson(shown);
  else {
    print(`${shown.url}${made.secret === null ? '' : `\nSecret (shown once): ${made.secret}`}`);
    if (!shown.enabled) note('agent: the webhook platform is switched off — agent gateway enable webhook, then agent gateway start');
  }
  return exitCodes.ok;
}

function eventsOf(text: string | undefined): string[] | undefined {
  const events = text
    ?.split(',')
    .map((event) => event.trim())
    .filter(Boolean);
  if (events === undefined || events.length <= WEBHOOK_EVENTS_MAX) return events;
  throw new AgentError('USAGE', `a route lists at most ${WEBHOOK_EVENTS_MAX} events`, { fix: 'list fewer, or leave --events out' });
}

function list(input: Input): Promise<number> {
  const where = profileOf(input);
  const fixed = Object.entries(configured(where).routes).map(([route, { prompt = '{__raw__}', deliver = 'none', ...more }]) => ({
    name: route,
    ...viewOf(where, route, { ...more, prompt, deliver }),
    from: 'config.yaml' as const,
  }));
  const made = Object.entries(readSubscriptions(where)).map(([route, entry]) => ({
    name: route,
    ...viewOf(where, route, entry),
    from: 'webhook_subscriptions.json' as const,
  }));
  const routes = [...fixed, ...made.filter((one) => fixed.every((other) => other.name !== one.name))];
  if (input.json) printJson({ routes, enabled: configured(where).enabled });
  else if (routes.length === 0) note('agent: no routes yet — agent webhook subscribe --help shows how');
  else {
    const rows = routes.map((one) => [one.name, one.deliver, one.profile ?? '-', one.url, one.from]);
    print(table([['NAME', 'DELIVER', 'PROFILE', 'ADDRESS', 'FROM'].map((title) => painter(out)('dim', title)), ...rows]));
  }
  return Promise.resolve(exitCodes.ok);
}

async function remove(input: Input): Promise<number> {
  const route = routeName(input);
  const where = profileOf(input);
  if (!(await unsubscribe(where, route))) throw unknownName('webhook route', route, Object.keys(readSubscriptions(where)), 'NOT_FOUND');
  if (input.json) printJson({ removed: route });
  else print(`Route ${route} is removed, with its secret.`);
  return exitCodes.ok;
}

async function test(input: Input): Promise<number> {
  const route = routeName(input);
  const body = input.args[1] ?? '{}';
  const where = profileOf(input);
  const fixed = configured(where).routes;
  const made = readSubscriptions(where);
  const entry = Object.hasOwn(fixed, route) ? fixed[route] : Object.hasOwn(made, route) ? made[route] : undefined;
  if (!entry) throw unknownName('webhook route', route, [...Object.keys(fixed), ...Object.keys(made)], 'NOT_FOUND');
  const secret = interpolate(entry.secret ?? '${WEBHOOK_SECRET}', readSecrets(where.env));
  const { status, text } = await post(urlOf(where, route), body, secret);
  if (status !== 202) {
    throw new AgentError('PLATFORM_DOWN', `the route answered ${status}: ${text.slice(0, 300)}`, { fix: 'agent logs gateway says more' });
  }
  const profile = entry.profile ?? input.profile;
  const held = isPaused(openHome(), 'gateway', profile);
  if (input.json) printJson({ name: route, status, held, answer: JSON.parse(text) as unknown });
  else if (held) print(`Accepted (${status}) and held by a pause — ${resumeAdvice(openHome(), 'gateway', profile)}`);
  else print(`Accepted (${status}): the agent answers it.`);
  return exitCodes.ok;
}

function post(url: string, body: string, secret: string): Promise<{ status: number; text: string }> {
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-webhook-signature': signature };
    const sent = request(url, { method: 'POST', headers, signal: AbortSignal.timeout(limits.gateway.webhookRequestMs) }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.once('error', (cause) =>
      reject(
        new AgentError('PLATFORM_DOWN', `nothing takes webhooks at ${url} (${messageOf(cause)})`, {
          cause,
          fix: 'agent gateway enable webhook, then agent gateway start',
        }),
      ),
    );
    sent.end(body);
  });
}

interface ConfigRoute {
  prompt?: string;
  deliver?: string;
  secret?: string;
  profile?: string | undefined;
  events?: string[] | undefined;
}

function configured(where: ProfilePaths): { enabled: boolean; routes: Record<string, ConfigRoute> } {
  const { enabled } = readPlatform(openHome(), where, 'webhook', platformGuides.webhook);
  const { routes } = (loadConfig(openHome(), where).config.platforms?.webhook ?? {}) as { routes?: Record<string, ConfigRoute> };
  return { enabled, routes: routes ?? {} };
}

function viewOf(
  where: ProfilePaths,
  route: string,
  { prompt, deliver, profile, events }: ConfigRoute & { prompt: string; deliver: string },
) {
  return { url: urlOf(where, route), prompt, deliver, events: events ?? null, profile: profile ?? null };
}

/** As a program of this machine reaches it; others come through a proxy. */
function urlOf(where: ProfilePaths, route: string): string {
  const { host = limits.gateway.webhookHost, port } = loadConfig(openHome(), where).config.platforms?.webhook ?? {};
  const known = port ?? (Number(readSecrets(where.env).get('WEBHOOK_PORT')) || limits.gateway.webhookPort);
  return `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${known}/webhooks/${route}`;
}

function routeName(input: Input): string {
  const route = input.args[0]!;
  if (!ROUTE_NAME.test(route) || route in {})
    throw new AgentError('USAGE', `"${route}" is not the name of a route`, { fix: 'use letters, digits, dots and dashes, at most 64' });
  return route;
}

const profileOf = (input: Input): ProfilePaths => openHome().profile(input.profile);
