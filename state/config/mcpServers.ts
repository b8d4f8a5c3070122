/**
 * MCP servers in config.yaml: adding, removing, switching on and off, for the command and the dashboard alike.
 * A secret that is given goes into `.env` under a name of its own; config.yaml holds `${NAME}` alone.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { createRedactor, MARK } from '../../base/redact.ts';
import { readSecrets } from '../env.ts';
import { setEnvValue, unsetEnvValue } from '../envFile.ts';
import { DEFAULT_PROFILE, type ProfilePaths } from '../home.ts';
import { mcpCatalog, type CatalogEntry } from '../mcpCatalog.ts';
import { dottedKey } from './diff.ts';
import { setConfigValue } from './edit.ts';
import { parseConfigText, readText } from './load.ts';
import { isSecretHeader } from './mask.ts';
import type { McpServerConfig } from './schema.ts';

/** Tool names are `mcp__<server>__<tool>`: a name must survive that. */
export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface NewServer {
  name: string;
  url?: string | undefined;
  command?: string | undefined;
  args?: string[] | undefined;
  env?: Record<string, string> | undefined;
  headers?: Record<string, string> | undefined;
  transport?: 'stdio' | 'http' | 'sse' | undefined;
  auth?: 'none' | 'header' | 'oauth' | undefined;
  /** Of `auth: header`. */
  bearerToken?: string | undefined;
  enabled?: boolean | undefined;
}

export interface AddedServer {
  settings: McpServerConfig;
  /** Names that were written into `.env`. */
  variables: string[];
}

/** As config.yaml has them. Errors: CONFIG_INVALID. */
export const readMcpServers = ({ config }: ProfilePaths): Record<string, McpServerConfig> =>
  parseConfigText(readText(config), config).config.mcp_servers ?? {};

/** Errors: UNKNOWN_SERVER. */
export function requireServer(paths: ProfilePaths, name: string): McpServerConfig {
  const servers = readMcpServers(paths);
  const found = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (found) return found;
  const names = Object.keys(servers);
  throw new AgentError('UNKNOWN_SERVER', `there is no MCP server "${name}" in config.yaml`, {
    fix: names.length > 0 ? `known servers: ${names.join(', ')}` : 'add one: agent mcp add --help',
  });
}

/** Errors: INVALID_PARAMS (field), CONFIG_INVALID, DISK_FULL, LOCK_HELD. Nothing is left behind when it fails. */
export async function addMcpServer(paths: ProfilePaths, given: NewServer): Promise<AddedServer> {
  checkName(paths, given.name);
  checkWay(given);
  const secrets = new Map<string, string>();
  const settings = settingsOf(given, { secrets, taken: takenVariables(paths) });
  await writeServer(paths, given.name, settings, secrets);
  return { settings, variables: [...secrets.keys()] };
}

async function writeServer(
  paths: ProfilePaths,
  name: string,
  settings: McpServerConfig,
  secrets: ReadonlyMap<string, string>,
): Promise<void> {
  const written: string[] = [];
  try {
    // First what is referred to: a broker that reads in between finds no placeholder without a value.
    for (const [variable, value] of secrets) {
      await setEnvValue(paths.env, variable, value);
      written.push(variable);
    }
    await setConfigValue(paths.config, keyOf(name), settings);
  } catch (thrown) {
    for (const variable of written) await unsetEnvValue(paths.env, variable);
    throw thrown;
  }
}

/** With the variables that `addMcpServer` made for it, unless something else refers to them. Errors: UNKNOWN_SERVER, CONFIG_INVALID. */
export async function removeMcpServer(paths: ProfilePaths, name: string): Promise<{ variables: string[] }> {
  const entry = requireServer(paths, name);
  await setConfigValue(paths.config, keyOf(name), undefined);
  const left = readText(paths.config);
  const isReferredTo = (variable: string) => [`{${variable}}`, `{env:${variable}}`].some((placeholder) => left.includes(placeholder));
  const own = placeholdersOf(entry).filter((variable) => variable.startsWith(variablePrefix(name)) && !isReferredTo(variable));
  const known = readSecrets(paths.env, {});
  const variables = own.filter((variable) => known.names().includes(variable));
  for (const variable of variables) await unsetEnvValue(paths.env, variable);
  return { variables };
}

/** Errors: UNKNOWN_SERVER, CONFIG_INVALID. */
export async function setMcpServerEnabled(paths: ProfilePaths, name: string, enabled: boolean): Promise<void> {
  requireServer(paths, name);
  await setConfigValue(paths.config, `${keyOf(name)}.enabled`, enabled);
}

export const serverExists = (name: string): AgentError =>
  new AgentError('SERVER_EXISTS', `there already is a server "${name}"`, {
    field: 'name',
    fix: `remove it first (agent mcp remove ${name}), or choose another name`,
  });

function checkName(paths: ProfilePaths, name: string): void {
  const wrong = (message: string, fix: string) => new AgentError('INVALID_PARAMS', message, { field: 'name', fix });
  if (!SERVER_NAME.test(name) || name in {}) throw wrong(`"${name}" is not a server name`, 'use letters, digits, _ and -');
  const names = Object.keys(readMcpServers(paths));
  if (names.includes(name)) throw serverExists(name);
  if (names.length >= limits.mcp.serversMax) throw wrong(`there are ${names.length} servers already`, 'remove one first');
}

function checkWay({ url, command, transport, env, headers, args, auth, bearerToken }: NewServer): void {
  const wrong = (field: string, message: string, fix: string) => new AgentError('INVALID_PARAMS', message, { field, fix });
  if ((url === undefined) === (command === undefined || command.trim() === '')) {
    throw wrong(url === undefined ? 'command' : 'url', 'a server needs either an address or a command', 'give one of the two');
  }
  if (url !== undefined) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw wrong('url', 'the url is not an address', 'write it with http:// or https://');
    if (new URL(url).username !== '' || new URL(url).password !== '') {
      throw wrong(
        'url',
        'the address holds a user name or a password',
        "leave them out of it and give a header: --header 'Authorization=Basic …'",
      );
    }
    if (transport === 'stdio') throw wrong('transport', 'an address is reached over http or sse', 'leave the transport out');
    if (env && Object.keys(env).length > 0) throw wrong('env', 'only a program has an environment', 'use headers');
    if (args && args.length > 0) throw wrong('args', 'only a program has arguments', 'leave them out');
    if (auth === 'header' && !bearerToken && !headers) throw wrong('bearer_token', 'a token is needed', 'paste it, or choose no sign-in');
    return;
  }
  if (transport !== undefined && transport !== 'stdio') throw wrong('transport', 'a program talks over stdio', 'leave the transport out');
  if (headers && Object.keys(headers).length > 0) throw wrong('headers', 'only an address has headers', 'use env');
  if ((auth !== undefined && auth !== 'none') || bearerToken)
    throw wrong('auth', 'only an address has a sign-in', 'put the secret into env');
  for (const name of Object.keys(env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw wrong(`env.${name}`, `"${name}" is not the name of a variable`, 'letters, digits and _');
  }
}

interface Keeping {
  /** By variable: what goes into `.env`. */
  secrets: Map<string, string>;
  /** Names that stand for something already. */
  taken: ReadonlySet<string>;
}

function settingsOf(given: NewServer, keeping: Keeping): McpServerConfig {
  const { name, url, command, args = [], transport, auth, bearerToken, enabled } = given;
  const kept = (label: string, value: string) =>
    keepSecret(`${variablePrefix(name)}${label.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`, value, keeping);
  const headers = { ...given.headers, ...(bearerToken ? { Authorization: `Bearer ${bearerToken}` } : {}) };
  const env = mapValues(given.env ?? {}, (label, value) => (isSecret(label, value) ? kept(label, value) : value));
  const safeHeaders = mapValues(headers, (label, value) => {
    const [, scheme = '', token = ''] = /^(Bearer |Basic |)(.*)$/is.exec(value) ?? [];
    return isSecret(label, value) ? `${scheme}${kept(label === 'Authorization' ? 'TOKEN' : label, token)}` : value;
  });
  return {
    ...(url === undefined ? { command: command!.trim(), args } : { url: safeUrl(url, kept) }),
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(Object.keys(safeHeaders).length > 0 ? { headers: safeHeaders } : {}),
    ...(transport === undefined ? {} : { transport }),
    ...(auth === 'oauth' ? { auth } : {}),
    ...(enabled === false ? { enabled } : {}),
  };
}

/** Credentials of the query go into `.env` as those of headers do. */
function safeUrl(url: string, keep: (label: string, value: string) => string): string {
  const [address = '', fragment] = url.split('#', 2);
  const safe = address.replace(/([?&])([^=&]+)=([^&]*)/g, (whole, sign: string, name: string, value: string) =>
    isSecret(decoded(name), decoded(value)) ? `${sign}${name}=${keep(decoded(name), value)}` : whole,
  );
  return fragment === undefined ? safe : `${safe}#${fragment}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Under a name of its own: `a-b` and `a_b` would share one, and each would send the token of the other. */
function keepSecret(wanted: string, value: string, { secrets, taken }: Keeping): string {
  let variable = wanted;
  for (let n = 2; taken.has(variable) || secrets.has(variable); n++) variable = `${wanted}_${n}`;
  secrets.set(variable, value);
  return `\${${variable}}`;
}

/** Those of `.env`, and those that config.yaml refers to. */
const takenVariables = (paths: ProfilePaths): Set<string> =>
  new Set([...readSecrets(paths.env, {}).names(), ...Object.values(readMcpServers(paths)).flatMap(placeholdersOf)]);

const mapValues = (values: Record<string, string>, change: (name: string, value: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(name, value)]));

/** One that was written by hand may be called anything, a dot in it too. */
const keyOf = (server: string): string => dottedKey(['mcp_servers', server]);
const variablePrefix = (server: string): string => `MCP_${server.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_`;

const hasPlaceholder = (text: string): boolean => /\$\{[^}]+\}/.test(text);
const redact = createRedactor();

/** By its name, or by a shape that only credentials have. What already is a placeholder is none. */
const isSecret = (name: string, value: string): boolean =>
  value !== '' && !hasPlaceholder(value) && (isSecretHeader(name) || redact(value) !== value);

const placeholdersOf = ({ env = {}, headers = {}, url = '', client_cert = '' }: McpServerConfig): string[] => [
  ...new Set(
    [
      ...[url, client_cert, ...Object.values(env), ...Object.values(headers)]
        .flat()
        .join(' ')
        .matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g),
    ].map((match) => match[1]!),
  ),
];

/** The entry as it may be shown: placeholders as they are, every other value of env and headers hidden. */
export function shownServer(entry: McpServerConfig) {
  const hide = (values: Record<string, string> = {}) => mapValues(values, (_name, value) => (hasPlaceholder(value) ? redact(value) : MARK));
  const { url, command, args = [], auth } = entry;
  return {
    url: url === undefined ? null : redact(url),
    command: command ?? null,
    args: args.map((arg) => redact(arg)),
    env: hide(entry.env),
    headers: hide(entry.headers),
    auth: auth === 'oauth' ? ('oauth' as const) : Object.keys(entry.headers ?? {}).some(isSecretHeader) ? ('header' as const) : null,
    enabled: entry.enabled !== false,
  };
}

// --- the catalogue ---

/** Errors: NOT_FOUND. */
export function catalogEntry(name: string): CatalogEntry {
  const found = mcpCatalog.find((entry) => entry.name === name);
  if (found) return found;
  throw new AgentError('NOT_FOUND', `the catalogue has no server "${name}"`, {
    fix: `it has ${mcpCatalog.map((entry) => entry.name).join(', ')}`,
  });
}

/** Secrets of an entry that the profile has already. */
export function knownSecrets(paths: ProfilePaths, entry: CatalogEntry): string[] {
  const secrets = readSecrets(paths.env, paths.name === DEFAULT_PROFILE ? process.env : {});
  return entry.fields.filter(({ secret, name }) => secret && secrets.get(name) !== undefined).map(({ name }) => name);
}

/** Checks what is given for an entry; answers secrets and others apart. Errors: INVALID_PARAMS with every wrong field in `facts.errors`. */
export function checkCatalogValues(paths: ProfilePaths, entry: CatalogEntry, given: Readonly<Record<string, string>>) {
  const known = knownSecrets(paths, entry);
  const errors: { path: string; message: string }[] = [];
  for (const name of Object.keys(given)) {
    if (!entry.fields.some((field) => field.name === name)) errors.push({ path: `env.${name}`, message: `${entry.name} takes no ${name}` });
  }
  const values = new Map<string, string>();
  for (const { name, secret, optional, default: preset } of entry.fields) {
    const value = (given[name] ?? preset ?? '').trim();
    // eslint-disable-next-line no-control-regex -- it becomes one line of .env, or one argument
    if (/[\0-\x1f]/.test(value)) errors.push({ path: `env.${name}`, message: 'one line, without control characters' });
    else if (value !== '') values.set(name, value);
    else if (!optional && !(secret && known.includes(name))) errors.push({ path: `env.${name}`, message: 'it is needed' });
  }
  const [first] = errors;
  if (first)
    throw new AgentError('INVALID_PARAMS', `${first.path}: ${first.message}`, { field: first.path, facts: { errors }, fix: 'fill it in' });
  const isSecretField = (name: string) => entry.fields.some((field) => field.name === name && field.secret);
  const parts = Object.groupBy([...values], ([name]) => (isSecretField(name) ? 'secrets' : 'others'));
  return { secrets: Object.fromEntries(parts.secrets ?? []), others: Object.fromEntries(parts.others ?? []) };
}

/** Puts the secrets of an entry into `.env`. Errors: BAD_REQUEST, DISK_FULL, HOME_UNUSABLE. */
export async function keepCatalogSecrets(paths: ProfilePaths, secrets: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(secrets)) await setEnvValue(paths.env, name, value);
}

/** Writes the entry into config.yaml. Errors: as `addMcpServer`. */
export function addFromCatalog(
  paths: ProfilePaths,
  entry: CatalogEntry,
  others: Readonly<Record<string, string>>,
  enabled: boolean,
): Promise<AddedServer> {
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => others[name] ?? whole);
  const secrets = entry.fields.filter(({ secret }) => secret).map(({ name }) => name);
  return addMcpServer(paths, {
    name: entry.name,
    ...(entry.package
      ? {
          command: 'npx',
          args: ['-y', packageSpec(entry), ...entry.package.args.map(filled)],
          env: Object.fromEntries(secrets.map((name) => [name, `\${${name}}`])),
        }
      : {
          url: entry.url,
          ...(entry.headers ? { headers: { ...entry.headers } } : {}),
          ...(entry.signIn ? { auth: 'oauth' as const } : {}),
        }),
    enabled,
  });
}

/** `<name>@<version>`, as npm takes it. */
export const packageSpec = ({ package: pkg }: CatalogEntry): string => (pkg ? `${pkg.name}@${pkg.version}` : '');
