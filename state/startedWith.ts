/**
 * How the running service was told to serve its dashboard (`agent up --host --port --insecure`, or the environment
 * of its supervisor): what a change of config.yaml is judged by. Read from `run/status.json`; what a service that
 * is gone was told counts no more.
 */
import { basename, dirname } from 'node:path';
import { readJson } from './atomicFile.ts';
import { openHome } from './home.ts';
import { isSameProcess, type ProcessIdentity } from './processIdentity.ts';

const HOST = 'AGENT_DASHBOARD_HOST';
const PORT = 'AGENT_DASHBOARD_PORT';
const INSECURE = 'AGENT_DASHBOARD_INSECURE';

/** As `status.supervisor.dashboard_start` has it. */
export interface DashboardStart {
  /** Null = as configured. */
  host: string | null;
  port: number | null;
  insecure: boolean;
}

/** The options of `agent up` that say where the dashboard is served, without those not given. */
export const givenPlace = ({
  host,
  port,
  insecure,
}: {
  host?: string | undefined;
  port?: number | undefined;
  insecure?: boolean | undefined;
}) => ({
  ...(host === undefined ? {} : { host }),
  ...(port === undefined ? {} : { port }),
  ...(insecure ? { insecure } : {}),
});

/** From the environment that the dashboard is started with. */
export const dashboardStart = (env: Readonly<Record<string, string | undefined>>): DashboardStart => ({
  host: env[HOST] || null,
  port: env[PORT] ? Number(env[PORT]) : null,
  insecure: env[INSECURE] === '1',
});

/**
 * The environment that the dashboard of this home has: of the running service where one runs, else what this
 * process would hand on. `config`: config.yaml of the home or of one of its profiles. Never throws.
 */
export function dashboardEnv(config: string, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const start = running(rootOf(config));
  if (!start) return env;
  const { [HOST]: _host, [PORT]: _port, [INSECURE]: _insecure, ...others } = env;
  return {
    ...others,
    ...(start.host === null ? {} : { [HOST]: start.host }),
    ...(start.port === null ? {} : { [PORT]: String(start.port) }),
    ...(start.insecure ? { [INSECURE]: '1' } : {}),
  };
}

function rootOf(config: string): string {
  const dir = dirname(config);
  return basename(dirname(dir)) === 'profiles' ? dirname(dirname(dir)) : dir;
}

function running(root: string): DashboardStart | undefined {
  try {
    const { supervisor } = readJson(openHome(root).run.status) as { supervisor: ProcessIdentity & { dashboard_start?: DashboardStart } };
    return isSameProcess(supervisor) ? supervisor.dashboard_start : undefined;
  } catch {
    // None has run yet, or what is there cannot be read.
    return undefined;
  }
}
