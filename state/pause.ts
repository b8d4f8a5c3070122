/**
 * The automation-pause sentinel `ESTOP` (contract §6). The file is the truth, read at the moment of
 * each claim; anything that cannot be read means paused.
 */
import { closeSync, openSync, rmSync } from 'node:fs';
import { readRegularText, unreadableWhy } from '../base/regularFile.ts';
import { pauseScopes, type PauseScope } from '../base/closedWords.ts';
import { AgentError, errnoOf, isAgentError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import { writeError, writeJsonAtomic } from './atomicFile.ts';
import type { Home, ProfilePaths } from './home.ts';

export interface Pause {
  path: string;
  reason: string | null;
  engaged_at: string | null;
  expires_at: string | null;
  /** Parts that are held; absent or empty = all of `cron`, `gateway`, `webhook`. */
  scope: string[];
  generation: string | null;
}

/** The pause in force for a profile, the root home's before its own, or undefined. For display; a claim asks isPaused. Never throws. */
export function readPause(home: Home, profile = 'default', nowMs = Date.now()): Pause | undefined {
  return readPauses(home, profile, nowMs)[0];
}

/** The pause of one profile alone; of the default one it is the root home's, which holds every profile. Never throws. */
export const ownPause = ({ estop }: Pick<ProfilePaths, 'estop'>, nowMs = Date.now()): Pause | undefined => readSentinel(estop, nowMs);

function readPauses(home: Home, profile: string, nowMs: number): Pause[] {
  const paths = profile === 'default' ? [home.estop] : [home.estop, home.profile(profile).estop];
  return paths.map((path) => readSentinel(path, nowMs)).filter((found) => found !== undefined);
}

/** Is this kind of new work held right now, by the root home or by the profile? Reads the files. */
export function isPaused(home: Home, scope: PauseScope, profile = 'default'): boolean {
  return readPauses(home, profile, Date.now()).some((pause) => holds(pause, scope));
}

/** The command that lifts the pause of a profile; without one that of the root home, which holds every profile. */
export const resumeCommand = (profile = 'default'): string => (profile === 'default' ? 'agent resume' : `agent -p ${profile} resume`);

/** The commands that let this kind of new work of a profile start again. */
export function resumeAdvice(home: Home, scope: PauseScope, profile = 'default'): string {
  const holders = ['default', ...(profile === 'default' ? [] : [profile])].filter((name) => {
    const pause = ownPause(home.profile(name));
    return pause !== undefined && holds(pause, scope);
  });
  return `lift the pause: ${holders.map((name) => `\`${resumeCommand(name)}\``).join(' and ')}`;
}

/** Does it hold this kind of new work? A scope nobody knows is a slip of the pen: it holds everything rather than nothing. */
export function holds({ scope }: Pause, wanted: PauseScope): boolean {
  const known = scope.filter((name) => (pauseScopes as readonly string[]).includes(name));
  return known.length === 0 || known.includes(wanted);
}

/**
 * Engages the pause; engaging again rewrites it. On a full disk an empty sentinel is made: it holds everything until it is
 * removed, and the answer then has no `generation`. Errors: DISK_FULL when not even a name can be created, HOME_UNUSABLE.
 */
export function engagePause(
  path: string,
  { reason, ttlMs, scope = [] }: { reason?: string | undefined; ttlMs?: number | undefined; scope?: string[] },
): Pause {
  const nowMs = Date.now();
  const body = {
    reason: reason ?? null,
    engaged_at: new Date(nowMs).toISOString(),
    expires_at: ttlMs === undefined ? null : new Date(nowMs + ttlMs).toISOString(),
    scope,
    generation: uuid(),
  };
  try {
    writeJsonAtomic(path, body);
    return { path, ...body };
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'DISK_FULL') throw thrown;
    return engageEmpty(path);
  }
}

function engageEmpty(path: string): Pause {
  try {
    closeSync(openSync(path, 'w', 0o600));
  } catch (thrown) {
    throw writeError(path, thrown);
  }
  return pauseOf(path, {}, 'the disk was full');
}

/** Removes the sentinels; true when one was there. Errors: HOME_UNUSABLE. */
export function liftPause(paths: string[]): boolean {
  let lifted = false;
  for (const path of paths) {
    try {
      rmSync(path);
      lifted = true;
    } catch (thrown) {
      if (errnoOf(thrown) === 'ENOENT') continue;
      throw (thrown as { code?: string }).code === 'ERR_FS_EISDIR'
        ? new AgentError('HOME_UNUSABLE', `${path} is a directory`, { fix: `remove it by hand: rm -r ${path}` })
        : writeError(path, thrown);
    }
  }
  return lifted;
}

function readSentinel(path: string, nowMs: number): Pause | undefined {
  let text: string;
  try {
    text = readRegularText(path);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    return pauseOf(path, {}, `the sentinel cannot be read (${unreadableWhy(thrown)})`);
  }
  return parseSentinel(path, text, nowMs);
}

/** What a sentinel says at a moment; undefined once it has expired. Pure. */
export function parseSentinel(path: string, text: string, nowMs: number): Pause | undefined {
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed && typeof parsed === 'object' && !Array.isArray(parsed)) body = parsed as Record<string, unknown>;
  } catch {
    // an empty or corrupt sentinel still pauses
  }
  const expiresAtMs = typeof body.expires_at === 'string' ? Date.parse(body.expires_at) : Number.NaN;
  if (expiresAtMs <= nowMs) return undefined;
  return pauseOf(path, body);
}

function pauseOf(path: string, body: Record<string, unknown>, fallbackReason: string | null = null): Pause {
  const text = (key: string) => (typeof body[key] === 'string' ? body[key] : null);
  return {
    path,
    reason: text('reason') ?? fallbackReason,
    engaged_at: text('engaged_at'),
    expires_at: Number.isNaN(Date.parse(text('expires_at') ?? '')) ? null : text('expires_at'),
    scope: Array.isArray(body.scope) ? body.scope.filter((s): s is string => typeof s === 'string') : [],
    generation: text('generation'),
  };
}
