/**
 * Profiles: separate agents below `profiles/` of one home, each a directory with a SOUL.md (contract §2).
 * They are made aside and renamed into place, and removed into backups/; what runs is refused.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { AgentError, errnoOf, isAgentError } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { activeProfile, useProfile } from './activeProfile.ts';
import { readJson, writeError, writeFileAtomic, writeJsonAtomic } from './atomicFile.ts';
import { versionOf } from './config/change.ts';
import { setConfigValues } from './config/edit.ts';
import { dottedKey } from './config/diff.ts';
import { loadConfig, readPlain } from './config/load.ts';
import { DEFAULT_PROFILE, listProfiles, PROFILE_NAME, requireProfile, type Home, type ProfilePaths } from './home.ts';
import { readSubscriptions, subscribe } from './webhookSubscriptions.ts';
import { acquireLock, lockHolder, type HeldLock } from './lock.ts';

export interface ProfileRow {
  name: string;
  path: string;
  is_default: boolean;
  /** `agent` works on it when no `-p` is given. */
  is_active: boolean;
  description: string;
  model: string | null;
  provider: string | null;
  has_env: boolean;
  skill_count: number;
  agent_running: boolean;
  gateway_running: boolean;
}

export interface NewProfile {
  name: string;
  description?: string | undefined;
  /** Its settings, secrets, personality and skills are copied. */
  cloneFrom?: string | undefined;
  /** Its memory and scripts too. */
  cloneAll?: boolean | undefined;
  noSkills?: boolean | undefined;
  model?: string | undefined;
  provider?: string | undefined;
}

/** Every profile, the default one first. */
export function profileRows(home: Home): ProfileRow[] {
  const active = activeProfile(home);
  return listProfiles(home).map((name) => rowOf(home, home.profile(name), active));
}

/** Errors: UNKNOWN_PROFILE. */
export const profileRow = (home: Home, name: string): ProfileRow => rowOf(home, requireProfile(home, name), activeProfile(home));

function rowOf(home: Home, paths: ProfilePaths, active: string): ProfileRow {
  const { model } = loadConfig(home, paths).config;
  return {
    name: paths.name,
    path: paths.dir,
    is_default: paths.name === DEFAULT_PROFILE,
    is_active: paths.name === active,
    description: readDescription(paths),
    model: model?.default ?? null,
    provider: model?.provider ?? null,
    has_env: existsSync(paths.env),
    skill_count: countSkills(paths.skills),
    agent_running: lockHolder(locksOf(paths.dir).agent) !== undefined,
    gateway_running: lockHolder(locksOf(paths.dir).gateway) !== undefined,
  };
}

// --- making ---

/** Errors: BAD_REQUEST for the name, PROFILE_EXISTS, UNKNOWN_PROFILE of the source, CONFIG_INVALID, DISK_FULL, HOME_UNUSABLE. */
export async function createProfile(home: Home, wish: NewProfile): Promise<ProfileRow> {
  const target = freePlace(home, wish.name);
  const source = wish.cloneFrom === undefined ? undefined : requireProfile(home, wish.cloneFrom);
  const aside = asideOf(home);
  try {
    mkdirSync(aside.dir, { recursive: true, mode: 0o700 });
    if (source) copyFrom(source, aside, wish);
    if (!existsSync(aside.soul)) writeFileSync(aside.soul, SOUL, { mode: 0o600 });
    if (wish.description) writeDescription(aside, wish.description);
    await setConfigValues(aside.config, modelKeys(wish));
    moveInto(aside.dir, target);
  } catch (thrown) {
    throw isAgentError(thrown) ? thrown : writeError(target.dir, thrown);
  } finally {
    rmSync(aside.dir, { recursive: true, force: true });
  }
  return profileRow(home, wish.name);
}

/** Somewhere that no name can mean, on the same file system. What a killed process left there goes with the next one. */
function asideOf(home: Home): ProfilePaths {
  const parent = join(home.root, 'profiles');
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(ASIDE)) continue;
    const changedAt = statSync(join(parent, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changedAt > limits.profiles.asideMs) rmSync(join(parent, name), { recursive: true, force: true });
  }
  return home.profile(`${ASIDE}${hexId(8)}`);
}

const ASIDE = '.new-';

const SOUL = `You are a helpful assistant who works for the people of this machine. You are direct and exact, say what you
do not know, and ask before anything that cannot be undone.
`;

/** What belongs to the agent itself is copied; sessions, jobs, messages and logs are its history and stay. */
function copyFrom(source: ProfilePaths, target: ProfilePaths, { noSkills, cloneAll }: NewProfile): void {
  const parts: (keyof ProfilePaths)[] = [
    'config',
    'env',
    'soul',
    ...(noSkills ? [] : (['skills'] as const)),
    ...(cloneAll ? (['memories', 'scripts'] as const) : []),
  ];
  for (const part of parts) {
    if (existsSync(source[part])) cpSync(source[part], target[part], { recursive: true, preserveTimestamps: true });
  }
}

const modelKeys = ({ model, provider }: { model?: string | undefined; provider?: string | undefined }): Record<string, string> => ({
  ...(model === undefined ? {} : { 'model.default': model }),
  ...(provider === undefined ? {} : { 'model.provider': provider }),
});

/** Errors: BAD_REQUEST, PROFILE_EXISTS. */
function freePlace(home: Home, name: string): ProfilePaths {
  if (name === DEFAULT_PROFILE || !PROFILE_NAME.test(name)) {
    throw new AgentError('BAD_REQUEST', `"${name}" cannot name a profile`, {
      field: 'name',
      fix: 'use small letters, digits, - and _, at most 64 signs, a letter or digit first; "default" is taken',
    });
  }
  const paths = home.profile(name);
  if (existsSync(paths.dir)) throw existing(name, paths);
  return paths;
}

const existing = (name: string, paths: ProfilePaths): AgentError =>
  new AgentError('PROFILE_EXISTS', `${paths.dir} exists already`, {
    fix: existsSync(paths.soul)
      ? 'choose another name'
      : `it is no profile, for it has no SOUL.md: move it away, or name the new one other than ${name}`,
  });

function moveInto(from: string, target: ProfilePaths): void {
  try {
    renameSync(from, target.dir);
  } catch (thrown) {
    throw errnoOf(thrown) === 'ENOTEMPTY' || errnoOf(thrown) === 'EEXIST' ? existing(target.name, target) : thrown;
  }
}

// --- changing ---

/** Webhook routes of any profile that are bound to it follow. Errors: CONFIG_INVALID, UNKNOWN_PROFILE, BAD_REQUEST, PROFILE_EXISTS, PROFILE_RUNS, HOME_UNUSABLE. */
export async function renameProfile(home: Home, name: string, newName: string): Promise<ProfileRow> {
  const paths = ownProfile(home, name, 'renamed');
  const target = freePlace(home, newName);
  const wasActive = activeProfile(home) === name;
  const bound = routesBoundTo(home, name);
  await atRest(paths, () => moved(paths.dir, () => moveInto(paths.dir, target), target.dir));
  if (wasActive) useProfile(home, newName);
  for (const { owner, made, configured } of bound) {
    const at = home.profile(owner === name ? newName : owner);
    for (const route of made) await subscribe(at, route, { profile: newName });
    const keys = configured.map((route) => dottedKey(['platforms', 'webhook', 'routes', route, 'profile']));
    await setConfigValues(at.config, Object.fromEntries(keys.map((key) => [key, newName])));
  }
  return profileRow(home, newName);
}

interface BoundRoutes {
  owner: string;
  /** In `webhook_subscriptions.json`. */
  made: string[];
  /** In config.yaml. */
  configured: string[];
}

/** Webhook routes of every profile whose answers are given by this one. Errors: CONFIG_INVALID. */
function routesBoundTo(home: Home, name: string): BoundRoutes[] {
  return [...new Set([DEFAULT_PROFILE, ...listProfiles(home)])].map((owner) => {
    const paths = home.profile(owner);
    const { platforms } = readPlain(paths.config) as { platforms?: { webhook?: { routes?: Record<string, unknown> } } };
    const ofName = (routes: Record<string, unknown> = {}) =>
      Object.entries(routes).flatMap(([route, entry]) => ((entry as { profile?: unknown } | null)?.profile === name ? [route] : []));
    return { owner, made: ofName(readSubscriptions(paths)), configured: ofName(platforms?.webhook?.routes) };
  });
}

/** Moves it to backups/, whose path is answered; the last few deleted ones are kept. Errors: UNKNOWN_PROFILE, BAD_REQUEST, PROFILE_RUNS, HOME_UNUSABLE. */
export async function deleteProfile(home: Home, name: string): Promise<{ backup: string }> {
  const paths = ownProfile(home, name, 'deleted');
  const wasActive = activeProfile(home) === name;
  const parent = join(home.backups, 'profiles');
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const backup = join(parent, `${stamp}-${name}`);
  await atRest(paths, () =>
    moved(
      paths.dir,
      () => {
        mkdirSync(parent, { recursive: true, mode: 0o700 });
        renameSync(paths.dir, backup);
      },
      backup,
    ),
  );
  if (wasActive) useProfile(home, DEFAULT_PROFILE);
  const oldest = readdirSync(parent).toSorted().slice(0, -limits.profiles.deletedMax);
  for (const old of oldest) rmSync(join(parent, old), { recursive: true, force: true });
  return { backup };
}

/** Errors: UNKNOWN_PROFILE, BAD_REQUEST for the default one. */
function ownProfile(home: Home, name: string, what: string): ProfilePaths {
  const paths = requireProfile(home, name);
  if (name !== DEFAULT_PROFILE) return paths;
  throw new AgentError('BAD_REQUEST', `the default profile is the home itself and cannot be ${what}`, {
    field: 'name',
    fix: 'make another profile and use that',
  });
}

/** Holds the locks of its workers meanwhile, so that none can start in between. Errors: PROFILE_RUNS. */
async function atRest(paths: ProfilePaths, work: () => void): Promise<void> {
  const held: HeldLock[] = [];
  try {
    for (const [worker, path] of Object.entries(locksOf(paths.dir))) {
      held.push(
        await acquireLock(path, 'a change of the profile').catch((thrown: unknown) => {
          throw isAgentError(thrown) && thrown.code === 'LOCK_HELD' ? runs(paths.name, worker) : thrown;
        }),
      );
    }
    work();
  } finally {
    for (const lock of held) lock[Symbol.dispose]();
  }
}

const runs = (name: string, worker: string): AgentError =>
  new AgentError('PROFILE_RUNS', `${worker}@${name} runs`, { fix: `stop it first: agent stop ${worker}@${name}` });

/** The locks went along with the directory, and nobody gives them back there. */
function moved(from: string, move: () => void, to: string): void {
  try {
    move();
  } catch (thrown) {
    throw isAgentError(thrown) ? thrown : writeError(from, thrown);
  }
  for (const path of Object.values(locksOf(to))) rmSync(path, { force: true });
}

/** As agent.ts and gateway.ts take them for their lifetime. */
const locksOf = (dir: string) => ({ agent: join(dir, 'agent.lock'), gateway: join(dir, 'gateway.lock') });

/** Errors: UNKNOWN_PROFILE, CONFIG_INVALID, DISK_FULL. */
export async function setProfileModel(
  home: Home,
  name: string,
  choice: { model: string; provider?: string | undefined },
): Promise<ProfileRow> {
  await setConfigValues(requireProfile(home, name).config, modelKeys(choice));
  return profileRow(home, name);
}

// --- its words ---

/** The text of SOUL.md; empty when there is none. Errors: HOME_UNUSABLE. */
export function readSoul({ soul }: ProfilePaths): string {
  try {
    return readRegularText(soul);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return '';
    throw new AgentError('HOME_UNUSABLE', `cannot read ${soul} (${errnoOf(thrown) ?? 'error'})`, {
      cause: thrown,
      fix: `chmod 600 ${soul}`,
    });
  }
}

/** New conversations have it. `version`: what is to be written over. Errors: CONFIG_CHANGED, DISK_FULL, HOME_UNUSABLE. */
export function writeSoul(paths: ProfilePaths, text: string, version?: string): void {
  if (version !== undefined && version !== versionOf(readSoul(paths))) {
    throw new AgentError('CONFIG_CHANGED', `${paths.soul} was changed by somebody else meanwhile; nothing was written`, {
      fix: 'read it again, then write without a version or with the new one',
    });
  }
  writeFileAtomic(paths.soul, text);
}

const descriptionOf = ({ dir }: Pick<ProfilePaths, 'dir'>): string => join(dir, 'profile.json');

export function readDescription(paths: Pick<ProfilePaths, 'dir'>): string {
  try {
    const { description } = (readJson(descriptionOf(paths)) ?? {}) as { description?: unknown };
    return typeof description === 'string' ? description.slice(0, limits.profiles.descriptionMaxChars) : '';
  } catch {
    // Words for people: a broken file costs no more than itself.
    return '';
  }
}

/** Errors: DISK_FULL, HOME_UNUSABLE. */
export const writeDescription = (paths: Pick<ProfilePaths, 'dir'>, description: string): void =>
  writeJsonAtomic(descriptionOf(paths), { description });

/** Folders with a SKILL.md, two levels deep as the library has them; what cannot be read counts for nothing. */
function countSkills(root: string, depth = 0): number {
  if (depth > 2) return 0;
  try {
    const entries = readdirSync(root, { withFileTypes: true });
    if (depth > 0 && entries.some(({ name }) => name === 'SKILL.md')) return 1;
    const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).slice(0, limits.skills.max);
    return folders.reduce((sum, { name }) => sum + countSkills(join(root, name), depth + 1), 0);
  } catch {
    return 0;
  }
}
