/**
 * What config.yaml says about MCP servers, resolved: transport chosen, `${NAME}` filled in where a value
 * may be secret, and a key by which equal servers of several profiles share one connection (lessons 32).
 * Arguments are handed on as written: other users of the machine can read them, so no secret is put there.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Config, McpServerConfig } from '../../state/config/schema.ts';
import { interpolate, type Secrets } from '../../state/env.ts';
import type { TlsSettings } from './tls.ts';

interface Timing {
  callMs: number;
  connectMs: number;
  keepaliveMs: number;
}

export interface StdioSettings extends Timing {
  transport: 'stdio';
  command: string;
  args: string[];
  /** Beyond the common environment; values may be secret. */
  env: Record<string, string>;
  cwd: string;
}

export interface HttpSettings extends Timing {
  transport: 'http' | 'sse';
  /** config.yaml names no transport: the older one is tried when the server does not know this one. */
  guessed?: true;
  url: string;
  /** Values may be secret. */
  headers: Record<string, string>;
  /** Absent = the certificate of an https server is checked as usual. */
  tls?: TlsSettings;
}

export type ServerSettings = StdioSettings | HttpSettings;

export interface ConfiguredServer {
  name: string;
  /** Undefined when disabled or unusable. */
  settings: ServerSettings | undefined;
  /** Null = config.yaml does not say. */
  trust: 'full' | 'untrusted' | null;
  /** Whether a tool, under the name the server has for it, may be used. */
  offers(tool: string): boolean;
  /** Equal keys = the same server. */
  key: string;
  enabled: boolean;
  /** Why it is unusable, with what to write. */
  problem: string | null;
  /** Names in `${NAME}` that neither the environment nor `.env` sets. */
  unset: string[];
}

/** `cwd` is the directory of servers that name none. */
export function readServers(config: Config, secrets: Secrets, cwd: string): ConfiguredServer[] {
  return Object.entries(config.mcp_servers ?? {}).map(([name, entry]) => readServer(name, entry, secrets, cwd));
}

function readServer(name: string, entry: McpServerConfig, secrets: Secrets, cwd: string): ConfiguredServer {
  const enabled = entry.enabled !== false;
  const settings = settingsOf(entry, secrets, cwd);
  const open = settings ? JSON.stringify([valuesOf(settings), settings.transport === 'stdio' ? [] : settings.url]) : '';
  const problem = settings
    ? (wayProblem(name, entry) ?? tlsProblem(name, settings))
    : `mcp_servers.${name} needs "command" (a program to start) or "url" (a server to reach)`;
  const usable = problem === null;
  return {
    name,
    settings: enabled && usable ? settings : undefined,
    trust: entry.trust === undefined ? null : entry.trust === 'full' ? 'full' : 'untrusted',
    offers: toolFilter(entry.tools),
    key: enabled && usable ? digest(JSON.stringify(settings), 32) : `none:${name}`,
    enabled,
    problem,
    unset: [...new Set([...open.matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g)].map((match) => match[1]!))],
  };
}

function settingsOf(entry: McpServerConfig, secrets: Secrets, cwd: string): ServerSettings | undefined {
  const fill = (values: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, interpolate(value, secrets)]));
  const timing: Timing = {
    callMs: entry.timeout === undefined ? limits.mcp.callMs : Math.round(entry.timeout * 1_000),
    connectMs: entry.connect_timeout === undefined ? limits.mcp.connectMs : Math.round(entry.connect_timeout * 1_000),
    keepaliveMs: entry.keepalive_interval === undefined ? limits.mcp.keepaliveMs : Math.round(entry.keepalive_interval * 1_000),
  };
  const wantsUrl = entry.transport === 'http' || entry.transport === 'sse' || (entry.transport === undefined && entry.url !== undefined);
  if (wantsUrl && entry.url !== undefined) {
    const transport = entry.transport === 'sse' ? 'sse' : 'http';
    const tls = tlsOf(entry, secrets, cwd);
    const guessed = entry.transport === undefined ? { guessed: true as const } : {};
    return {
      transport,
      ...guessed,
      url: interpolate(entry.url, secrets),
      headers: fill(entry.headers),
      ...(tls ? { tls } : {}),
      ...timing,
    };
  }
  if (wantsUrl || !entry.command) return undefined;
  return {
    transport: 'stdio',
    command: expandHome(entry.command),
    args: entry.args ?? [],
    env: fill(entry.env),
    cwd: entry.cwd === undefined ? cwd : expandHome(entry.cwd ?? '~'),
    ...timing,
  };
}

function tlsOf({ client_cert, client_key, ssl_verify = true }: McpServerConfig, secrets: Secrets, cwd: string): TlsSettings | undefined {
  if (client_cert === undefined && ssl_verify === true) return undefined;
  const path = (given: string) => resolve(cwd, expandHome(interpolate(given, secrets)));
  const [cert, ownKey, passphrase] = typeof client_cert === 'string' ? [client_cert] : (client_cert ?? []);
  const key = ownKey ?? client_key;
  return {
    ...(cert === undefined ? {} : { cert: path(cert) }),
    ...(cert === undefined || key === undefined ? {} : { key: path(key) }),
    ...(passphrase === undefined ? {} : { passphrase: interpolate(passphrase, secrets) }),
    verify: typeof ssl_verify === 'string' ? path(ssl_verify) : ssl_verify,
  };
}

/** Which of the two is meant cannot be known. */
const wayProblem = (name: string, { command, url }: McpServerConfig): string | null =>
  command && url ? `mcp_servers.${name} has "command" and "url": remove one of them` : null;

function toolFilter({ include, exclude }: NonNullable<McpServerConfig['tools']> = {}): (tool: string) => boolean {
  const matches = (patterns: readonly string[]) => {
    const expressions = patterns.map((pattern) => pattern.split('*'));
    return (tool: string) => expressions.some((parts) => matchesGlob(tool, parts));
  };
  if (include) return matches(include);
  const isExcluded = matches(exclude ?? []);
  return (tool) => !isExcluded(tool);
}

/** `parts`: what stands between the stars. Linear, whatever the pattern. */
function matchesGlob(text: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  const last = rest.pop()!;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** A certificate for a server that is spoken to in the clear would give its owner a wrong peace of mind. */
function tlsProblem(name: string, settings: ServerSettings): string | null {
  if (settings.transport === 'stdio' || !settings.tls || settings.url.startsWith('https:')) return null;
  return `mcp_servers.${name} has client_cert or ssl_verify, which need a url that begins with https:`;
}

function valuesOf(settings: ServerSettings): string[] {
  if (settings.transport === 'stdio') return Object.values(settings.env);
  const { headers, tls } = settings;
  return [...Object.values(headers), tls?.cert ?? '', tls?.key ?? '', tls?.passphrase ?? ''];
}

const expandHome = (path: string): string => (path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path);
