/** Where the dashboard is to listen: for the worker itself, and for the supervisor that holds the address. */
import { isIP } from 'node:net';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Config } from './schema.ts';

export const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

/** A name or address that only this machine reaches; brackets around IPv6 as URLs have them. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return LOOPBACK_NAMES.has(name) || (isIP(name) === 4 && name.startsWith('127.'));
}

/** From the environment (`agent up --port --host`), config.yaml, the defaults. Errors: CONFIG_INVALID. */
export function dashboardAddress(config: Config, env: NodeJS.ProcessEnv): { host: string; port: number } {
  const host = (env.AGENT_DASHBOARD_HOST || config.dashboard?.host || limits.dashboard.host).replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const port = env.AGENT_DASHBOARD_PORT ? portOf(env.AGENT_DASHBOARD_PORT) : (config.dashboard?.port ?? limits.dashboard.port);
  return { host, port };
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw new AgentError('CONFIG_INVALID', `"${text}" is not a TCP port`, { fix: 'write a number from 0 to 65535 for --port' });
}

/** What `--insecure` opens, said to whoever says it. */
export const exposure = (host: string): string =>
  `--insecure: anyone who can reach ${host} and has the session token can read every conversation, run commands and change the configuration; ` +
  'the connection is not encrypted, so whoever sees the traffic sees the token';
