/**
 * What runs: the manifest of workers and the user's own programs of config.yaml, turned into slots for
 * the supervisor, which knows no service by itself.
 */
import { isIP } from 'node:net';
import { join } from 'node:path';
import { filterEnv } from '../base/envFilter.ts';
import { limits } from '../base/limits.ts';
import { commonEnv, manifest, type WorkerManifest } from '../services/manifest.ts';
import { dashboardAddress } from '../state/config/dashboardAddress.ts';
import { settingsDigest } from '../state/config/classes.ts';
import { loadConfig } from '../state/config/load.ts';
import type { Config } from '../state/config/schema.ts';
import { DEFAULT_PROFILE, listProfiles, type Home } from '../state/home.ts';
import { logNameOf, logPath } from '../state/logs.ts';
import { entryIn, ownCode, type RunningCode } from './runningCode.ts';
import type { ListenerSpec, SlotSpec } from '../supervisor/spec.ts';
import { sidecarSpecs } from './sidecarSpecs.ts';

export interface RunOptions {
  demo?: boolean | undefined;
  /** Dashboard address; undefined = as configured. */
  port?: number | undefined;
  host?: string | undefined;
  insecure?: boolean | undefined;
  /** Only these slots, leaving when unused: the service that `agent chat` starts. */
  only?: string[] | undefined;
  /** Who started a supervisor that no terminal holds. */
  background?: 'command' | 'manager';
  /** What workers run; default: the package itself. */
  code?: RunningCode;
}

const MB = 1024 * 1024;

/** One slot per worker, and one more per profile for those that exist per profile. */
export function slotSpecs(home: Home, config: Config, options: RunOptions): SlotSpec[] {
  const others = listProfiles(home).filter((name) => name !== DEFAULT_PROFILE);
  const workers = manifest.flatMap((worker) => [
    slotSpec(home, config, options, worker, DEFAULT_PROFILE),
    ...(worker.perProfile ? others.map((profile) => slotSpec(home, config, options, worker, profile)) : []),
  ]);
  return [...workers, ...sidecarSpecs(home, config)];
}

function slotSpec(home: Home, config: Config, options: RunOptions, worker: WorkerManifest, profile: string): SlotSpec {
  const slot = profile === DEFAULT_PROFILE ? worker.slot : `${worker.slot}@${profile}`;
  const code = options.code ?? ownCode();
  const settings = config.supervisor?.workers?.[worker.slot];
  const paths = home.profile(profile);
  return {
    slot,
    profile,
    kind: 'worker',
    // Other profiles' agents start when they are first used.
    start: profile !== DEFAULT_PROFILE && worker.start === 'boot' ? 'demand' : worker.start,
    command: [process.execPath, entryIn(code.codeRoot, worker.entry)],
    program: () => code.program(),
    cwd: home.root,
    env: {
      ...filterEnv(process.env, commonEnv),
      AGENT_HOME: home.root,
      AGENT_SLOT: slot,
      ...(profile === DEFAULT_PROFILE ? {} : { AGENT_PROFILE: profile }),
      ...(options.demo ? { AGENT_DEMO: '1' } : {}),
      ...(worker.slot === 'dashboard' ? dashboardEnv(options) : {}),
      NODE_COMPILE_CACHE: join(home.cache, 'compile'),
    },
    sealedEnv: filterEnv(process.env, worker.env),
    logFile: logPath(paths, logNameOf(slot)),
    errorsFile: logPath(paths, 'errors'),
    startupMs: settings?.startup_ms ?? worker.startupMs,
    drainMs: settings?.drain_ms ?? worker.drainMs,
    termMs: limits.worker.termMs,
    stopSignal: 'SIGTERM',
    readiness: 'attach',
    restart: 'always',
    after: [],
    handover: worker.handover,
    listeners: listenersOf(worker, profile === DEFAULT_PROFILE ? config : loadConfig(home, paths).config, options),
    memorySoftBytes: settings?.memory_soft_mb === undefined ? undefined : settings.memory_soft_mb * MB,
    memoryHardBytes: settings?.memory_hard_mb === undefined ? undefined : settings.memory_hard_mb * MB,
    settings: settingsDigest(profile === DEFAULT_PROFILE ? config : loadConfig(home, paths).config, worker.slot),
    tier: worker.tier,
  };
}

/** An address that cannot be read concerns the dashboard alone: it refuses it and says why. */
function dashboardListener(config: Config, options: RunOptions): ListenerSpec[] {
  try {
    const { host, port } = dashboardAddress(config, { ...process.env, ...dashboardEnv(options) });
    return isIP(host) ? [{ name: 'http', host, port }] : [];
  } catch {
    return [];
  }
}

/** Addresses that the supervisor holds over restarts; names are looked up only by the worker itself. */
function listenersOf({ slot }: WorkerManifest, config: Config, options: RunOptions): ListenerSpec[] {
  if (slot === 'dashboard') return dashboardListener(config, options);
  const webhook = slot === 'gateway' ? config.platforms?.webhook : undefined;
  if (!webhook || webhook.enabled === false) return [];
  const { host = limits.gateway.webhookHost, port = limits.gateway.webhookPort } = webhook;
  return isIP(host) ? [{ name: 'webhook', host, port }] : [];
}

function dashboardEnv({ port, host, insecure }: RunOptions): Record<string, string> {
  return {
    ...(port === undefined ? {} : { AGENT_DASHBOARD_PORT: String(port) }),
    ...(host === undefined ? {} : { AGENT_DASHBOARD_HOST: host }),
    ...(insecure ? { AGENT_DASHBOARD_INSECURE: '1' } : {}),
  };
}
