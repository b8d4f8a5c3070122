/** What the operator wrote: config.yaml, and whether the programs, keys and names in it are there. */
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isProviderKind, kindOf, kindTable, providerKinds } from '../../agent/models/kinds.ts';
import { resolveNamed, usableProviders, type ProviderEntry, type ResolveInput } from '../../agent/models/resolve.ts';
import { isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isZone } from '../../base/time.ts';
import { readJson } from '../../state/atomicFile.ts';
import { newerForm } from '../../state/config/schema.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import type { ProfilePaths } from '../../state/home.ts';
import { readSubscriptions, subscriptionsPath } from '../../state/webhookSubscriptions.ts';
import { installedUnit } from '../../systemd/unit.ts';
import { currentUser } from '../currentUser.ts';
import { sidecarSpecs } from '../sidecarSpecs.ts';
import { fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const configurationChecks: readonly Check[] = [
  { id: 'config', group: 'configuration', what: 'config.yaml', look: configFiles },
  { id: 'providers', group: 'configuration', what: 'model provider', look: providers },
  { id: 'platforms', group: 'configuration', what: 'chat platform', look: platforms },
  { id: 'webhooks', group: 'configuration', what: 'webhook routes made by command', look: webhooks },
  { id: 'gateway-state', group: 'configuration', what: 'intent of the gateway', look: gatewayStates },
  { id: 'mcp', group: 'configuration', what: 'MCP server', look: mcpServers },
  { id: 'sidecars', group: 'configuration', what: 'sidecar', look: sidecars },
  { id: 'timezone', group: 'configuration', what: 'time zone', look: timeZone },
];

const forEachProfile = ({ profiles }: Scene, look: (profile: ProfilePaths) => Finding): Finding[] =>
  profiles.map((profile) => (profiles.length > 1 ? { of: profile.name, ...look(profile) } : look(profile)));

function configFiles(scene: Scene): Finding[] {
  return forEachProfile(scene, (profile) => {
    if (!existsSync(profile.config)) return ok('there is none: defaults serve');
    const { problem, ineffective, config } = scene.config(profile);
    if (problem) return fail(`${problem.path}:${problem.line}:${problem.column}: ${problem.message}`, problem.fix);
    const newer = newerForm(config);
    if (newer) return warn(newer, 'use that release again, or set _config_version back once the file has been looked through');
    if (ineffective.length > 0)
      return warn(ineffective.map((one) => `line ${one.line}: ${one.message}`).join('; '), 'correct or remove them: agent config edit');
    return ok(profile.config);
  });
}

/** Resolved as the agent worker resolves them: what this calls healthy answers. */
async function providers(scene: Scene): Promise<Finding[]> {
  const { providers: entries = {}, model } = scene.config().config;
  const input = resolveInput(scene);
  const named = model?.provider;
  const names = Object.keys(entries);
  if (named !== undefined && named !== 'demo' && !isProviderKind(named) && !names.includes(named))
    return [fail(`model.provider names "${named}", which is not under providers`, 'agent config edit')];
  if (names.length === 0 && (named === undefined || named === 'demo')) {
    const usable = usableProviders(input);
    if (usable.length > 0) return Promise.all(usable.map((name) => provider(scene, name, input)));
    return [
      named === 'demo'
        ? ok('the rehearsal model')
        : warn('none is configured', 'put OPENAI_API_KEY=… into .env, or name a local server: docs/models.md'),
    ];
  }
  const all = named === undefined || named === 'demo' || names.includes(named) ? names : [...names, named];
  return Promise.all(all.map((name) => provider(scene, name, input)));
}

async function provider(scene: Scene, name: string, input: ResolveInput): Promise<Finding> {
  const entry: ProviderEntry = input.providers?.[name] ?? {};
  const kind = kindOf(name, entry.kind);
  if (kind === 'demo') return { ...ok('the rehearsal model'), of: name };
  // Which model is chosen is no matter of the provider's own settings.
  const settings = resolveNamed(`${name}:any`, input);
  if (typeof settings === 'string') return fail(settings, providerFix(scene, name, entry), { of: name });
  const unset = placeholders(entry.headers, (variable) => input.secret(variable));
  if (unset.length) return warn(`${unset.join(', ')} in its headers is not set`, `put it into ${scene.home.env}`, { of: name });
  const seen = settings.signedIn ? 'signed in' : settings.keyEnv ? `${settings.keyEnv} is set` : 'needs no key';
  return { ...(scene.online ? await reach(settings.baseUrl, seen) : ok(seen)), of: name };
}

function providerFix({ home }: Scene, name: string, { kind, key_env: keyEnv, base_url: baseUrl, oauth }: ProviderEntry): string {
  if (oauth && !keyEnv) return `agent auth login ${name}`;
  const dialect = kindOf(name, kind);
  const facts = isProviderKind(dialect) ? kindTable[dialect] : undefined;
  if (!facts) return `use one of ${providerKinds.join(', ')}`;
  if (!baseUrl && !facts.baseUrl) return `agent config set providers.${name}.base_url http://…`;
  return `put ${keyEnv ?? facts.keyEnvs[0] ?? 'its key'}=… into ${home.env}`;
}

function resolveInput(scene: Scene): ResolveInput {
  const { config } = scene.config();
  const secrets = scene.secrets();
  return {
    providers: config.providers,
    secret: (name) => secrets.get(name),
    bearer: (name) => signInOf(scene.home.auth, name),
    demo: false,
    envFile: scene.home.env,
  };
}

/** The access token of a provider that was signed in to. */
function signInOf(file: string, provider: string): string | undefined {
  try {
    const { providers = {} } = readJson(file) as { providers?: Record<string, { access_token?: string }> };
    return (Object.hasOwn(providers, provider) && providers[provider]!.access_token) || undefined;
  } catch {
    return undefined;
  }
}

/** No request of the model's: whether anything answers at its address. */
async function reach(url: string, seen: string): Promise<Finding> {
  try {
    const { status } = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(limits.doctor.onlineMs), redirect: 'manual' });
    return ok(`${seen}; ${new URL(url).host} answers (${status})`);
  } catch (thrown) {
    const cause = (thrown as { cause?: unknown }).cause;
    return fail(
      `${new URL(url).host} does not answer: ${messageOf(cause ?? thrown)}`,
      'is the server up, the address right, the network there?',
    );
  }
}

const PLATFORMS: ReadonlySet<string> = new Set(['irc', 'webhook']);

function platforms(scene: Scene): Finding[] {
  const found = scene.profiles.flatMap((profile) =>
    Object.entries(scene.config(profile).config.platforms ?? {}).flatMap(([name, settings]) =>
      settings.enabled === false
        ? []
        : [{ ...platform(scene, profile, name, settings), of: profile.name === 'default' ? name : `${name}@${profile.name}` }],
    ),
  );
  return found.length ? found : [skip('none is configured')];
}

function platform(scene: Scene, profile: ProfilePaths, name: string, settings: Record<string, unknown>): Finding {
  const secrets = scene.secrets(profile);
  if (!PLATFORMS.has(name)) return fail('this version has no such platform', `platforms: ${[...PLATFORMS].join(', ')}`);
  const unset = placeholders(settings, secrets.get);
  if (unset.length) return fail(`${unset.join(', ')} is not set`, `put it into ${profile.env}`);
  if (name === 'webhook') {
    const open = Object.entries((settings.routes ?? {}) as Record<string, { secret?: string }>).filter(([, { secret }]) => !secret);
    if (open.length && !secrets.get('WEBHOOK_SECRET'))
      return fail(
        `no secret for ${open.map(([route]) => route).join(', ')}: everything is refused there`,
        `put WEBHOOK_SECRET=… into ${profile.env}`,
      );
    return ok('its routes have secrets');
  }
  if (!settings.host && !secrets.get('IRC_HOST')) return fail('it has no host', 'agent config set platforms.irc.host irc.example.org');
  const users = settings.allowed_users;
  if (!Array.isArray(users) || users.length === 0)
    return warn('nobody may talk to it', 'agent config set platforms.irc.allowed_users \'["nick"]\'');
  return ok(secrets.get('IRC_PASSWORD') ? 'IRC_PASSWORD is set' : 'without a password');
}

function webhooks(scene: Scene): Finding[] {
  return forEachProfile(scene, (profile) => {
    try {
      const routes = Object.keys(readSubscriptions(profile));
      return routes.length > 0 ? ok(routes.join(', ')) : skip('there are none');
    } catch (thrown) {
      return fail(messageOf(thrown), (isAgentError(thrown) && thrown.fix) || `check ${subscriptionsPath(profile)}`);
    }
  });
}

function gatewayStates(scene: Scene): Finding[] {
  return forEachProfile(scene, ({ gatewayState, name }) => {
    const read = readGatewayState(gatewayState);
    const slot = name === 'default' ? 'gateway' : `gateway@${name}`;
    if (read.kind === 'corrupt') return fail(read.problem, `agent start ${slot}, or agent stop ${slot}`);
    if (read.kind === 'absent') return ok(`never started: agent start ${slot} does`);
    const { desired_state, gateway_state, restart_requested, session_store } = read.state;
    const seen = `${desired_state ?? 'none'}, last seen ${gateway_state ?? 'nowhere'}${restart_requested ? ', being restarted' : ''}`;
    if (session_store?.state === 'failing')
      return fail(
        `${seen}; it cannot write gateway.db${session_store.error ? `: ${session_store.error}` : ''}`,
        'make room on the disk, then `agent logs gateway`',
      );
    return ok(seen);
  });
}

function mcpServers(scene: Scene): Finding[] {
  const entries = Object.entries(scene.config().config.mcp_servers ?? {}).filter(([, { enabled }]) => enabled !== false);
  if (entries.length === 0) return [skip('none is configured')];
  const { get } = scene.secrets();
  return entries.map(([of, entry]): Finding => {
    const unset = placeholders([entry.env, entry.headers, entry.url], get);
    if (unset.length) return fail(`${unset.join(', ')} is not set`, `put it into ${scene.home.env}`, { of });
    if (!entry.command && !entry.url) return fail('it has neither command nor url', `agent mcp add ${of} --url … or --command …`, { of });
    return { ...(entry.command ? program(entry.command) : ok(entry.url!)), of };
  });
}

function sidecars({ home, config }: Scene): Finding[] {
  const specs = sidecarSpecs(home, config().config).filter(({ start }) => start !== 'manual');
  return specs.length ? specs.map(({ slot, command }) => ({ ...program(command[0]), of: slot })) : [skip('none is configured')];
}

/** On the PATH that the service has: that of the installed unit, else of this shell. */
function program(command: string): Finding {
  const path = installedUnit('user', currentUser())?.path ?? installedUnit('system', currentUser())?.path ?? process.env.PATH ?? '';
  const places = isAbsolute(command) ? [command] : path.split(':').map((dir) => join(dir, command));
  const found = places.find((file) => existsSync(file));
  if (!found) {
    const here = !isAbsolute(command) && (process.env.PATH ?? '').split(':').some((dir) => existsSync(join(dir, command)));
    return here
      ? fail(`${command} is on your PATH and not on that of the service`, 'agent service install: it takes over the PATH of this shell')
      : fail(`${command} is not ${isAbsolute(command) ? 'there' : 'on the PATH'}`, 'install it, or write its whole path');
  }
  try {
    accessSync(found, constants.X_OK);
    return ok(found);
  } catch {
    return fail(`${found} cannot be executed`, `chmod +x ${found}`);
  }
}

function timeZone(scene: Scene): Finding {
  const { TZ } = process.env;
  if (TZ && !isZone(TZ.replace(/^:/, ''))) return fail(`TZ is "${TZ}", which is not a time zone`, 'write one like Europe/Berlin, or UTC');
  return ok(scene.config().config.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
}

/** Names in `${NAME}` that nothing sets. */
function placeholders(value: unknown, get: (name: string) => string | undefined): string[] {
  const names = [...JSON.stringify(value ?? null).matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name]) => name!);
  return [...new Set(names)].filter((name) => !get(name));
}
