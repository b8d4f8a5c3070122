/**
 * AGENT_HOME: where everything lives (contract §2). Resolves the paths of the root home and of
 * profiles, makes directories private, and keeps `run/` short enough for Unix sockets.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { AgentError, errnoOf } from '../base/errors.ts';
import { digest, hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { writeError, writeFileAtomic } from './atomicFile.ts';

export const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
export const DEFAULT_PROFILE = 'default';

/** The slot of a worker that each profile has one of: `agent`, `agent@work`. */
export const profileSlot = (kind: 'agent' | 'gateway', profile: string): string =>
  profile === DEFAULT_PROFILE ? kind : `${kind}@${profile}`;

export interface ProfilePaths {
  name: string;
  dir: string;
  config: string;
  env: string;
  auth: string;
  soul: string;
  estop: string;
  gatewayState: string;
  stateDb: string;
  searchDb: string;
  gatewayDb: string;
  mcpDb: string;
  cronDir: string;
  cronDb: string;
  cronOutput: string;
  scripts: string;
  skills: string;
  memories: string;
  logs: string;
}

export interface Home extends ProfilePaths {
  /** Root home; equals `dir` of the default profile. */
  root: string;
  run: RunPaths;
  crash: string;
  /** What the clocks showed lately; see confirmedTime.ts. */
  clock: string;
  backups: string;
  cache: string;
  /** Paths of a profile; `default` is the root home itself. Does not check that it exists. */
  profile(name: string): ProfilePaths;
}

export interface RunPaths {
  dir: string;
  supervisorSocket: string;
  supervisorLock: string;
  /** Which process the supervisor is, and whether its end was planned. */
  supervisor: string;
  /** Standard error of a supervisor in the background. */
  supervisorOutput: string;
  token: string;
  slots: string;
  status: string;
  receipts: string;
  /** Last config.yaml that was valid (the supervisor writes it). */
  goodConfig: string;
  /** Session token of the running dashboard (the dashboard writes it, 0600, and removes it when it leaves). */
  dashboardToken: string;
  /** Secret of the session cookies and what was signed out early (the dashboard writes it, 0600). */
  dashboardSignIn: string;
  socket(slot: string): string;
}

/** AGENT_HOME, else `~/.agent`. A relative value is taken from the working directory. */
export function homeDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const given = env.AGENT_HOME?.trim();
  if (!given) return join(homedir(), '.agent');
  // Service managers hand a tilde on as it is.
  if (given === '~' || given.startsWith('~/')) return join(homedir(), given.slice(1));
  return isAbsolute(given) ? resolve(given) : resolve(process.cwd(), given);
}

/** Paths only; changes nothing on disk. */
export function openHome(root: string = homeDirectory()): Home {
  const profile = (name: string) => profilePaths(name, name === DEFAULT_PROFILE ? root : join(root, 'profiles', name));
  return {
    ...profile(DEFAULT_PROFILE),
    root,
    run: runPaths(runDirectory(root)),
    crash: join(root, 'crash'),
    clock: join(root, 'clock.json'),
    backups: join(root, 'backups'),
    cache: join(root, 'cache'),
    profile,
  };
}

/** Makes the home and its private directories. Errors: HOME_UNUSABLE with the directory and the fix. */
export function prepareHome(home: Home): void {
  privateDirectory(home.root);
  for (const dir of [home.logs, home.crash, home.cache]) privateDirectory(dir);
  const plain = join(home.root, 'run');
  if (home.run.dir === plain) return privateDirectory(plain);
  privateDirectory(home.run.dir, { shared: true });
  pointTo(plain, home.run.dir);
}

/** Profiles that exist: `default`, and each directory in `profiles/` with a valid name and a SOUL.md. Errors: HOME_UNUSABLE. */
export function listProfiles(home: Home): string[] {
  const dir = join(home.root, 'profiles');
  const names = entriesOf(dir);
  const real = names.filter((name) => PROFILE_NAME.test(name) && name !== DEFAULT_PROFILE && existsSync(join(dir, name, 'SOUL.md')));
  return [DEFAULT_PROFILE, ...real.toSorted()];
}

/** Absent = empty. */
function entriesOf(dir: string): string[] {
  try {
    // Asked every few seconds, and mostly there is none: an error would cost ten times as much as the question.
    return statSync(dir, { throwIfNoEntry: false }) ? readdirSync(dir) : [];
  } catch (cause) {
    const code = errnoOf(cause);
    if (code === 'ENOENT') return [];
    const why = code === 'ENOTDIR' ? 'it is not a directory' : (code ?? (cause as Error).message);
    const fix = code === 'ENOTDIR' ? `move it away: mv ${dir} ${dir}.aside` : `give it to the user that runs the agent: chmod 700 ${dir}`;
    throw new AgentError('HOME_UNUSABLE', `cannot use ${dir}: ${why}`, { cause, fix });
  }
}

/** Errors: UNKNOWN_PROFILE, HOME_UNUSABLE. */
export function requireProfile(home: Home, name: string): ProfilePaths {
  if (name === DEFAULT_PROFILE) return home.profile(name);
  if (!PROFILE_NAME.test(name) || !existsSync(home.profile(name).soul)) {
    throw new AgentError('UNKNOWN_PROFILE', `there is no profile "${name}"`, {
      fix: `known profiles: ${listProfiles(home).join(', ')}`,
    });
  }
  return home.profile(name);
}

/** The shared secret of this home's sockets; undefined before the first start. */
export function readToken(home: Home): string | undefined {
  try {
    return readRegularText(home.run.token).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The token of this home, made on first use. */
export function ensureToken(home: Home): string {
  const existing = readToken(home);
  if (existing) return existing;
  const mine = `${home.run.token}.${hexId(8)}.tmp`;
  writeFileAtomic(mine, `${hexId(64)}\n`, { mode: 0o600 });
  try {
    linkSync(mine, home.run.token);
  } catch (thrown) {
    // Of several processes that start at once, one makes the token and the others take it.
    if (errnoOf(thrown) !== 'EEXIST') throw writeError(home.run.token, thrown);
    // There, and yet no token in it: a power cut took its content.
    if (readToken(home) === undefined) renameSync(mine, home.run.token);
  } finally {
    rmSync(mine, { force: true });
  }
  return readToken(home)!;
}

function profilePaths(name: string, dir: string): ProfilePaths {
  return {
    name,
    dir,
    config: join(dir, 'config.yaml'),
    env: join(dir, '.env'),
    auth: join(dir, 'auth.json'),
    soul: join(dir, 'SOUL.md'),
    estop: join(dir, 'ESTOP'),
    gatewayState: join(dir, 'gateway_state.json'),
    stateDb: join(dir, 'state.db'),
    searchDb: join(dir, 'search.db'),
    gatewayDb: join(dir, 'gateway.db'),
    mcpDb: join(dir, 'mcp.db'),
    cronDir: join(dir, 'cron'),
    cronDb: join(dir, 'cron', 'cron.db'),
    cronOutput: join(dir, 'cron', 'output'),
    scripts: join(dir, 'scripts'),
    skills: join(dir, 'skills'),
    memories: join(dir, 'memories'),
    logs: join(dir, 'logs'),
  };
}

function runPaths(dir: string): RunPaths {
  return {
    dir,
    supervisorSocket: join(dir, 'supervisor.sock'),
    supervisorLock: join(dir, 'supervisor.lock'),
    supervisor: join(dir, 'supervisor.json'),
    supervisorOutput: join(dir, 'supervisor.err'),
    token: join(dir, 'token'),
    slots: join(dir, 'slots.json'),
    status: join(dir, 'status.json'),
    receipts: join(dir, 'receipts.ndjson'),
    goodConfig: join(dir, 'config.good.yaml'),
    dashboardToken: join(dir, 'dashboard-token'),
    dashboardSignIn: join(dir, 'dashboard-signin.json'),
    socket: (slot) => socketPath(dir, slot),
  };
}

/** What a socket name may take: a slot that needs more gets a name of this length made from its hash. */
const SOCKET_NAME_BYTES = `/${'0'.repeat(16)}.sock.0000`.length;

/** `<slot>.sock`, or a short name of the same slot where a long profile name would not fit. */
function socketPath(dir: string, slot: string): string {
  const path = join(dir, `${slot}.sock`);
  // While it is being bound a suffix of five characters is added.
  return Buffer.byteLength(path) + 5 <= limits.ipc.socketPathMaxBytes ? path : join(dir, `${digest(slot, 16)}.sock`);
}

const fits = (dir: string): boolean => Buffer.byteLength(dir) + SOCKET_NAME_BYTES <= limits.ipc.socketPathMaxBytes;

/** `<home>/run`, or a short private directory of this user when a socket path there would be too long. */
function runDirectory(root: string): string {
  const plain = join(root, 'run');
  if (fits(plain)) return plain;
  // The link left by the first start decides: XDG_RUNTIME_DIR differs between a service and a shell.
  const linked = linkTarget(plain);
  if (linked && fits(linked) && existsSync(dirname(linked))) return linked;
  const name = `agent-${process.getuid?.() ?? 0}-${digest(root, 16)}`;
  const bases = [process.env.XDG_RUNTIME_DIR, tmpdir()].filter((base) => base !== undefined && base !== '' && existsSync(base));
  return bases.map((base) => join(base!, name)).find(fits) ?? join('/tmp', name);
}

function linkTarget(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}

/** `shared`: it is where other users can create files, so it must be a real directory. */
function privateDirectory(dir: string, { shared = false }: { shared?: boolean } = {}): void {
  try {
    makeDirectory(dir);
    const stat = shared ? lstatSync(dir) : statSync(dir);
    if (!stat.isDirectory()) throw new Error('it is not a directory');
    const uid = process.getuid?.();
    // Also for root: whoever owns the home decides what the service runs.
    if (uid !== undefined && stat.uid !== uid) throw new Error('it belongs to another user');
    if ((stat.mode & 0o077) !== 0) chmodSync(dir, 0o700);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    // mkdir says EEXIST of a file in the way.
    const why =
      errnoOf(cause) === 'EEXIST' || errnoOf(cause) === 'ENOTDIR' ? 'it is not a directory' : (errnoOf(cause) ?? (cause as Error).message);
    throw new AgentError('HOME_UNUSABLE', `cannot use ${dir}: ${why}`, {
      cause,
      fix:
        errnoOf(cause) === 'ENOSPC'
          ? 'free some disk space'
          : `run this as the user who owns it, or make it a directory that you own and can write, or set AGENT_HOME to another one`,
    });
  }
}

/** Step by step: Node's own recursive mkdir never returns where a file system answers ENOENT for ever, as /proc does. */
function makeDirectory(dir: string): void {
  if (existsSync(dir)) return;
  if (dirname(dir) !== dir) makeDirectory(dirname(dir));
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  }
}

function pointTo(link: string, target: string): void {
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() && readlinkSync(link) === target) return;
  if (found) rmSync(link, { recursive: true, force: true });
  try {
    symlinkSync(target, link);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw writeError(link, thrown);
  }
}
