/** `services:` of config.yaml as slots: the user's own programs, run like our own workers (contract §12). */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { filterEnv } from '../base/envFilter.ts';
import { digest } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { commonEnv } from '../services/manifest.ts';
import type { Config, SidecarConfig } from '../state/config/schema.ts';
import { interpolate, readSecrets, type Secrets } from '../state/env.ts';
import { DEFAULT_PROFILE, type Home } from '../state/home.ts';
import { logPath } from '../state/logs.ts';
import type { SlotSpec } from '../supervisor/spec.ts';

const MiB = 1024 * 1024;

export function sidecarSpecs(home: Home, config: Config): SlotSpec[] {
  const entries = Object.entries(config.services ?? {}).slice(0, limits.sidecar.max);
  if (entries.length === 0) return [];
  const secrets = secretsOf(home);
  const common = filterEnv(process.env, commonEnv);
  return entries.map(([slot, settings]) => sidecarSpec({ home, secrets, common }, slot, settings));
}

/** An unreadable `.env` is told by the supervisor; it must not keep everything else from running. */
function secretsOf(home: Home): Pick<Secrets, 'get'> {
  try {
    return readSecrets(home.env);
  } catch {
    return { get: () => undefined };
  }
}

interface Parts {
  home: Home;
  secrets: Pick<Secrets, 'get'>;
  /** What every one of them may see of our environment. */
  common: Record<string, string>;
}

function sidecarSpec({ home, secrets, common }: Parts, slot: string, settings: SidecarConfig): SlotSpec {
  const folder = settings.cwd === null ? '~' : settings.cwd;
  const cwd = folder ? expanded(folder, home.root) : home.root;
  const own = Object.fromEntries(Object.entries(settings.env ?? {}).map(([name, value]) => [name, interpolate(value, secrets)]));
  const command = settings.command.startsWith('~') || settings.command.includes('/') ? expanded(settings.command, cwd) : settings.command;
  return {
    slot,
    profile: DEFAULT_PROFILE,
    kind: 'sidecar',
    start: settings.enabled === false ? 'manual' : 'boot',
    command: [command, ...(settings.args ?? [])],
    cwd,
    env: { ...common, ...own },
    sealedEnv: {},
    logFile: logPath(home, slot),
    errorsFile: logPath(home, 'errors'),
    startupMs: ms(settings.start_timeout_seconds) ?? limits.sidecar.startupMs,
    drainMs: 0,
    termMs: ms(settings.stop_grace_seconds) ?? limits.sidecar.stopGraceMs,
    stopSignal: settings.stop_signal ?? 'SIGTERM',
    readiness: readinessOf(settings, cwd),
    restart: settings.restart ?? 'always',
    after: settings.after ?? [],
    handover: 'none',
    listeners: [],
    memorySoftBytes: undefined,
    memoryHardBytes: settings.memory_max_mb === undefined ? undefined : settings.memory_max_mb * MiB,
    // What changes only how it is stopped or watched does not restart it.
    settings: digest(JSON.stringify([command, settings.args, own, cwd, settings.ready]), 16),
    // Workers use sidecars: they are stopped first.
    tier: -1,
  };
}

function readinessOf({ ready }: SidecarConfig, cwd: string): SlotSpec['readiness'] {
  if (ready === undefined) return 'none';
  return typeof ready === 'object' && 'file' in ready ? { file: expanded(ready.file, cwd) } : ready;
}

const ms = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : Math.round(seconds * 1_000));

function expanded(path: string, base: string): string {
  if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? path : resolve(base, path);
}
