/**
 * What config.yaml says about MCP servers, resolved: transport chosen, `${NAME}` filled in where a value
 * may be secret, and a key by which equal servers of several profiles share one connection (lessons 32).
 * Arguments are handed on as written: other users of the machine can read them, so no secret is put there.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Config, McpServerConfig } from '../../state/config/schema.ts';
import { interpolate, type Secrets } from '../../state/env.ts';

interface Timing {
  callMs: number;
  connectMs: number;
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
  url: string;
  /** Values may be secret. */
  headers: Record<string, string>;
}

export type ServerSettings = StdioSettings | HttpSettings;

export interface ConfiguredServer {
  name: string;
  /** Undefined when disabled or unusable. */
  settings: ServerSettings | undefined;
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
  return {
    name,
    settings: enabled ? settings : undefined,
    key: enabled && settings ? digest(JSON.stringify(settings), 32) : `none:${name}`,
    enabled,
    problem: settings ? null : `mcp_servers.${name} needs "command" (a program to start) or "url" (a server to reach)`,
    unset: [...new Set([...open.matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g)].map((match) => match[1]!))],
  };
}

function settingsOf(entry: McpServerConfig, secrets: Secrets, cwd: string): ServerSettings | undefined {
  const fill = (values: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, interpolate(value, secrets)]));
  const timing: Timing = {
    callMs: entry.timeout === undefined ? limits.mcp.callMs : Math.round(entry.timeout * 1_000),
    connectMs: entry.connect_timeout === undefined ? limits.mcp.connectMs : Math.round(entry.connect_timeout * 1_000),
  };
  const wantsUrl = entry.transport === 'http' || entry.transport === 'sse' || (entry.transport === undefined && entry.url !== undefined);
  if (wantsUrl && entry.url !== undefined) {
    const transport = entry.transport === 'sse' ? 'sse' : 'http';
    return { transport, url: interpolate(entry.url, secrets), headers: fill(entry.headers), ...timing };
  }
  if (wantsUrl || !entry.command) return undefined;
  return {
    transport: 'stdio',
    command: expandHome(entry.command),
    args: entry.args ?? [],
    env: fill(entry.env),
    cwd: entry.cwd === undefined ? cwd : expandHome(entry.cwd),
    ...timing,
  };
}

const valuesOf = (settings: ServerSettings): string[] => Object.values(settings.transport === 'stdio' ? settings.env : settings.headers);

const expandHome = (path: string): string => (path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path);
