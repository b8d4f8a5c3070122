/**
 * What a check is: looks at one thing, changes nothing, asks no network unless told to, and answers with
 * a status, what it saw, and the fix. A safe repair comes with it as a function, run with `--fix` alone.
 */
import { readSnapshot, type Snapshot } from '../snapshot.ts';
import { loadConfig, type LoadedConfig } from '../../state/config/load.ts';
import { readSecrets, type Secrets } from '../../state/env.ts';
import { DEFAULT_PROFILE, listProfiles, type Home, type ProfilePaths } from '../../state/home.ts';

export const groups = ['installation', 'home', 'service', 'configuration', 'machine'] as const;
export type Group = (typeof groups)[number];
export type Verdict = 'ok' | 'warn' | 'fail' | 'skip';

export interface Finding {
  status: Verdict;
  /** What was seen, in a phrase. */
  detail: string;
  /** A command, or what to write; for warn and fail. */
  fix?: string;
  /** Puts it right, safely and without asking; answers what it did. */
  repair?: () => string | Promise<string>;
  /** Which one, where a check looks at several things alike: a platform, a server. */
  of?: string;
}

export interface Check {
  id: string;
  group: Group;
  /** Names the thing for people: `permissions of the home`. */
  what: string;
  look(scene: Scene): Finding | Finding[] | Promise<Finding | Finding[]>;
}

/** What checks look at; each part is read once, when the first one asks. */
export interface Scene {
  home: Home;
  profiles: ProfilePaths[];
  snapshot: Snapshot | undefined;
  config(profile?: ProfilePaths): LoadedConfig;
  /** Empty where `.env` cannot be read; a check of its own says so. */
  secrets(profile?: ProfilePaths): Secrets;
  /** Providers may be asked over the network. */
  online: boolean;
  /** The service of the system rather than of this user. */
  system: boolean;
}

export function openScene(home: Home, { online, system }: Pick<Scene, 'online' | 'system'>): Scene {
  const configs = new Map<string, LoadedConfig>();
  const secrets = new Map<string, Secrets>();
  return {
    home,
    online,
    system,
    profiles: readable(home).map((name) => home.profile(name)),
    snapshot: readSnapshot(home),
    config: (profile = home) => once(configs, profile.dir, () => loadConfig(home, profile)),
    secrets: (profile = home) => once(secrets, profile.dir, () => readOrEmpty(profile.env)),
  };
}

/** The default one alone where the others cannot be read; a check of its own says so. */
function readable(home: Home): string[] {
  try {
    return listProfiles(home);
  } catch {
    return [DEFAULT_PROFILE];
  }
}

function readOrEmpty(path: string): Secrets {
  try {
    return readSecrets(path);
  } catch {
    return { get: (name) => process.env[name] || undefined, names: () => [], values: () => [] };
  }
}

function once<T>(known: Map<string, T>, key: string, make: () => T): T {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

export const ok = (detail: string): Finding => ({ status: 'ok', detail });
export const skip = (detail: string): Finding => ({ status: 'skip', detail });
export const warn = (detail: string, fix: string, more: Partial<Finding> = {}): Finding => ({ status: 'warn', detail, fix, ...more });
export const fail = (detail: string, fix: string, more: Partial<Finding> = {}): Finding => ({ status: 'fail', detail, fix, ...more });

/** `3 files`, `1 file`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
