/** What the operator wrote: config.yaml, and whether the programs, keys and names in it are there. */
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { newerForm } from '../../state/config/schema.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import type { ProfilePaths } from '../../state/home.ts';
import { installedUnit } from '../../systemd/unit.ts';
import { currentUser } from '../currentUser.ts';
import { sidecarSpecs } from '../sidecarSpecs.ts';
import { fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const configurationChecks: readonly Check[] = [
  { id: 'config', group: 'configuration', what: 'config.yaml', look: configFiles },
  { id: 'providers', group: 'configuration', what: 'model provider', look: providers },
  { id: 'platforms', group: 'configuration', what: 'chat platform', look: platforms },
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

/** Kinds this release speaks, and the key each takes by default. */
const KINDS: Readonly<Record<string, string | undefined>> = { 'openai-compatible': undefined, openai: 'OPENAI_API_KEY', demo: undefined };

async function providers(scene: Scene): Promise<Finding[]> {
  const { providers: entries = {}, model } = scene.config().config;
  const secrets = scene.secrets();
  const named = model?.provider;
  if (named !== undefined && named !== 'demo' && named !== 'openai' && !(named in entries))
    return [fail(`model.provider names "${named}", which is not under providers`, 'agent config edit')];
  const rows = Object.entries(entries);
  if (rows.length === 0) {
    if (secrets.get('OPENAI_API_KEY')) return [ok('OPENAI_API_KEY is set')];
    return [
      named === 'demo'
        ? ok('the rehearsal model')
        : warn('none is configured', 'put OPENAI_API_KEY=… into .env, or name a local server: docs/models.md'),
    ];
  }
  return Promise.all(
    rows.map(async ([name, entry]): Promise<Finding> => {
      const kind = entry.kind ?? (name === 'openai' ? 'openai' : 'openai-compatible');
      if (!(kind in KINDS))
        return fail(`kind ${kind} is not spoken by this version`, `use one of ${Object.keys(KINDS).join(', ')}`, { of: name });
      const key = entry.key_env ?? KINDS[kind];
      if (key && !secrets.get(key)) return fail(`${key} is not set`, `put ${key}=… into ${scene.home.env}`, { of: name });
      if (kind === 'openai-compatible' && !entry.base_url)
        return fail('it has no base_url', `agent config set providers.${name}.base_url http://…`, { of: name });
      const unset = placeholders(entry.headers, secrets.get);
      if (unset.length) return warn(`${unset.join(', ')} in its headers is not set`, `put it into ${scene.home.env}`, { of: name });
      const seen = key ? `${key} is set` : 'needs no key';
      return { ...(scene.online && entry.base_url ? await reach(entry.base_url, seen) : ok(seen)), of: name };
    }),
  );
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
  for (const [name, zone] of Object.entries({ timezone: scene.config().config.timezone, TZ: process.env.TZ })) {
    if (!zone) continue;
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone.replace(/^:/, '') });
    } catch {
      return fail(`${name} is "${zone}", which is no time zone`, 'write one like Europe/Berlin, or UTC');
    }
  }
  return ok(scene.config().config.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
}

/** Names in `${NAME}` that nothing sets. */
function placeholders(value: unknown, get: (name: string) => string | undefined): string[] {
  const names = [...JSON.stringify(value ?? null).matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name]) => name!);
  return [...new Set(names)].filter((name) => !get(name));
}
