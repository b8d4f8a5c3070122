/**
 * Where the dashboard listens, and what that means for trust: loopback is served with the token in
 * the page, anything wider wants a sign-in, or `--insecure` said out loud.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Server } from 'node:http';
import { AgentError, errnoOf } from '../../base/errors.ts';
import type { Config } from '../../state/config/schema.ts';
import { inheritedListener } from '../inherited.ts';
import { dashboardAddress, LOOPBACK_NAMES } from '../../state/config/dashboardAddress.ts';
import { openWithout, reachOf } from '../../state/config/lockout.ts';
import { signInSettings, type SignInSettings } from '../../state/config/signIn.ts';
import type { Secrets } from '../../state/env.ts';
import { holderOf } from '../../state/portHolder.ts';

export interface Binding {
  host: string;
  port: number;
  /** Only this machine can reach it, under its own names alone. */
  loopback: boolean;
  /** Who comes must sign in. */
  gated: boolean;
  settings: SignInSettings;
  /** Names a request may carry in its Host header, lower case, without port. */
  isAllowedHost(name: string): boolean;
}

const WILDCARDS = new Set(['0.0.0.0', '::']);

/** From the environment (`agent up --port --host`), config.yaml, the defaults. Errors: CONFIG_INVALID. */
export function resolveBinding(config: Config, secrets: Pick<Secrets, 'get'>, env: NodeJS.ProcessEnv = process.env): Binding {
  const { host, port } = dashboardAddress(config, env);
  const settings = signInSettings(config, secrets);
  const open = openWithout(config, settings, env);
  if (open) throw tooOpen(open);
  const reach = reachOf(config, settings, env);
  const gated = reach !== undefined && env.AGENT_DASHBOARD_INSECURE !== '1';
  const [problem] = settings.problems;
  if (gated && problem) throw new AgentError('CONFIG_INVALID', `the sign-in of the dashboard is set up wrong: ${problem}`);
  const publicHost = settings.publicUrl && nameOf(settings.publicUrl.hostname);
  const isAllowedHost = (name: string) => name === publicHost || isAllowed(name, host);
  return { host, port, loopback: reach === undefined, gated, settings, isAllowedHost };
}

const nameOf = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();

/**
 * DNS rebinding needs a name that the attacker controls, so an address typed as digits is safe wherever
 * every address of the machine is served. A specific host is matched exactly, never by suffix.
 */
function isAllowed(name: string, bound: string): boolean {
  if (LOOPBACK_NAMES.has(name) || name === bound) return true;
  if (!WILDCARDS.has(bound)) return false;
  const own = hostname().toLowerCase();
  return isIP(name) !== 0 || name === own || name === `${own}.local`;
}

/** Listens; answers the address for people, without a token. Errors: PORT_IN_USE, CONFIG_INVALID. */
export async function listen(server: Server, { host, port }: Binding): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      const fd = inheritedListener('http');
      server.listen(fd === undefined ? { host, port } : { fd }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw listenError(cause, host, port);
  }
  return addressOf(host, (server.address() as { port: number }).port);
}

/** A wildcard is no address: people on this machine use loopback. */
function addressOf(host: string, port: number): string {
  const name = WILDCARDS.has(host) ? '127.0.0.1' : isIP(host) === 6 ? `[${host}]` : host;
  return `http://${name}:${port}/`;
}

function listenError(cause: unknown, host: string, port: number): AgentError {
  const where = `${host}:${port}`;
  switch (errnoOf(cause)) {
    case 'EADDRINUSE': {
      const holder = holderOf(port);
      const by = holder ? ` by process ${holder.pid} (${holder.command})` : '';
      return new AgentError('PORT_IN_USE', `${where} is taken${by}`, {
        cause,
        fix: 'end that process, or choose another port with `agent up --port N` or dashboard.port in config.yaml',
        facts: { port, ...(holder ? { pid: holder.pid } : {}) },
      });
    }
    case 'EACCES':
      return new AgentError('CONFIG_INVALID', `this user may not listen on ${where}`, {
        cause,
        fix: 'choose a port of 1024 or more for dashboard.port',
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new AgentError('CONFIG_INVALID', `${host} is no address of this machine`, {
        cause,
        fix: 'set dashboard.host to 127.0.0.1 or to an address of this machine',
      });
    default:
      return new AgentError('INTERNAL', `cannot listen on ${where}: ${errnoOf(cause) ?? String(cause)}`, { cause });
  }
}

function tooOpen(why: string): AgentError {
  return new AgentError('CONFIG_INVALID', why, {
    fix: 'or set dashboard.host to 127.0.0.1 and come through an SSH tunnel (ssh -L 9119:127.0.0.1:9119 …), or accept the token as the only protection with `agent up --insecure`',
  });
}
