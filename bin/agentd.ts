/**
 * The supervisor's entry: turns the manifest of workers into slots and runs the supervisor, in this
 * process. `agent up` starts it in the background; with `--foreground` it calls `runSupervisor` itself.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isAgentError, messageOf } from '../base/errors.ts';
import { filterEnv } from '../base/envFilter.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { limits } from '../base/limits.ts';
import type { Status } from '../ipc/contracts/supervisor.ts';
import { settleAfterStart } from '../base/afterStart.ts';
import { commonEnv, manifest, type WorkerManifest } from '../services/manifest.ts';
import type { Config } from '../state/config/schema.ts';
import { DEFAULT_PROFILE, listProfiles, openHome, type Home } from '../state/home.ts';
import { logNameOf, logPath } from '../state/logs.ts';
import { release } from '../state/release.ts';
import type { SlotSpec } from '../supervisor/spec.ts';
import { startSupervisor, type Supervisor } from '../supervisor/supervisor.ts';

export interface RunOptions {
  demo?: boolean | undefined;
  /** Dashboard address; undefined = as configured. */
  port?: number | undefined;
  host?: string | undefined;
  insecure?: boolean | undefined;
  /** Only these slots, leaving when unused: the service that `agent chat` starts. */
  only?: string[] | undefined;
}

/** Starts the supervisor in this process; SIGINT and SIGTERM drain it. Errors: ALREADY_RUNNING, HOME_UNUSABLE. */
export async function runSupervisor(options: RunOptions = {}): Promise<Supervisor> {
  const home = openHome();
  const supervisor = await startSupervisor({
    home,
    release: release(),
    specs: (config) => slotSpecs(home, config, options),
    demo: options.demo ?? false,
    managedBy: managedBy(),
    bootstrap: process.env.AGENT_GATEWAY_BOOTSTRAP_STATE,
    ...(options.only ? { only: options.only } : {}),
  });
  let asked = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (asked++ === 0 ? void supervisor.down({ actor: signal, drain: true }) : supervisor.hurry()));
  }
  process.on('SIGHUP', () => {});
  settleAfterStart({ steady: true });
  return supervisor;
}

/** One slot per worker, and one more per profile for those that exist per profile. */
function slotSpecs(home: Home, config: Config, options: RunOptions): SlotSpec[] {
  const others = listProfiles(home).filter((name) => name !== DEFAULT_PROFILE);
  return manifest.flatMap((worker) => [
    slotSpec(home, config, options, worker, DEFAULT_PROFILE),
    ...(worker.perProfile ? others.map((profile) => slotSpec(home, config, options, worker, profile)) : []),
  ]);
}

function slotSpec(home: Home, config: Config, options: RunOptions, worker: WorkerManifest, profile: string): SlotSpec {
  const slot = profile === DEFAULT_PROFILE ? worker.slot : `${worker.slot}@${profile}`;
  const { codeRoot, built } = release();
  const settings = config.supervisor?.workers?.[worker.slot];
  const paths = home.profile(profile);
  return {
    slot,
    profile,
    // Other profiles' agents start when they are first used.
    start: profile !== DEFAULT_PROFILE && worker.start === 'boot' ? 'demand' : worker.start,
    command: [process.execPath, join(codeRoot, `${worker.entry}.${built ? 'js' : 'ts'}`)],
    cwd: home.root,
    env: {
      ...filterEnv(process.env, [...commonEnv, ...worker.env]),
      AGENT_HOME: home.root,
      AGENT_SLOT: slot,
      ...(profile === DEFAULT_PROFILE ? {} : { AGENT_PROFILE: profile }),
      ...(options.demo ? { AGENT_DEMO: '1' } : {}),
      ...(worker.slot === 'dashboard' ? dashboardEnv(options) : {}),
      NODE_COMPILE_CACHE: join(home.cache, 'compile'),
    },
    logFile: logPath(paths, logNameOf(slot)),
    errorsFile: logPath(paths, 'errors'),
    startupMs: settings?.startup_ms ?? worker.startupMs,
    drainMs: settings?.drain_ms ?? worker.drainMs,
    termMs: limits.worker.termMs,
    tier: worker.tier,
  };
}

function dashboardEnv({ port, host, insecure }: RunOptions): Record<string, string> {
  return {
    ...(port === undefined ? {} : { AGENT_DASHBOARD_PORT: String(port) }),
    ...(host === undefined ? {} : { AGENT_DASHBOARD_HOST: host }),
    ...(insecure ? { AGENT_DASHBOARD_INSECURE: '1' } : {}),
  };
}

function managedBy(): Status['supervisor']['managed_by'] {
  if (process.env.INVOCATION_ID) return 'systemd';
  if (process.env.XPC_SERVICE_NAME && process.env.XPC_SERVICE_NAME !== '0') return 'launchd';
  return process.pid === 1 ? 'container' : 'none';
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      demo: { type: 'boolean' },
      port: { type: 'string' },
      host: { type: 'string' },
      insecure: { type: 'boolean' },
      only: { type: 'string' },
    },
  });
  const supervisor = await runSupervisor({
    demo: values.demo,
    port: values.port === undefined ? undefined : Number(values.port),
    host: values.host,
    insecure: values.insecure,
    only: values.only?.split(','),
  });
  await supervisor.ended;
}

if (import.meta.main) {
  process.title = 'agent-supervisor';
  main().then(
    () => process.exit(exitCodes.ok),
    (thrown: unknown) => {
      const fix = isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : '';
      process.stderr.write(`agent: ${messageOf(thrown)}${fix}\n`);
      process.exit(exitCodes.failed);
    },
  );
}
