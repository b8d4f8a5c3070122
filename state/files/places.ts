/**
 * Which files the page and `agent files` may see at all: those whose real place is below the root, and never a secret of
 * the service. Every path that is asked for goes through here, links resolved, before anything is opened.
 */
import { realpathSync } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AgentError, errnoOf, type ErrorCode } from '../../base/errors.ts';
import { isSecretFileName } from '../../base/secretNames.ts';
import { visibleText } from '../../base/visibleText.ts';
import { confirmedNow } from '../confirmedTime.ts';
import type { Home } from '../home.ts';

export interface FilePlaces {
  /** Real path of the root. Errors: NOT_FOUND. */
  root(): string;
  /** Real path of what is there. Errors: NOT_FOUND, PATH_REFUSED. */
  existing(path: string): string;
  /** Real path of what may be made there: its folder is there already, and the service does not keep that file. Errors: as `existing`. */
  fresh(path: string): string;
  /** The entry itself, a link not followed. Errors: as `existing`. */
  entry(path: string): string;
  /** An entry that may leave its place: no secret and no file of the service goes with it. Errors: PATH_REFUSED. */
  mayLeave(real: string): Promise<void>;
  /** Whether a real path may be shown. */
  allows(real: string): boolean;
  /** For what is deleted by its age. */
  confirmedNow(): number;
}

/** `configured`: `dashboard.files_root`; default where the agent's tools start. */
export function createFilePlaces(home: Home, configured: () => string | undefined): FilePlaces {
  const places: FilePlaces = {
    root() {
      const said = configured();
      return real(said === undefined ? homedir() : said.replace(/^~(?=\/|$)/, homedir()));
    },
    existing(path) {
      const found = real(asked(path));
      if (!places.allows(found)) throw refused(path);
      return found;
    },
    fresh(path) {
      const wanted = asked(path);
      const name = basename(wanted);
      checkName(name);
      const made = join(real(dirname(wanted)), name);
      if (!places.allows(made)) throw refused(path);
      if (isKept(made)) throw kept(made);
      return made;
    },
    entry(path) {
      const wanted = asked(path);
      const found = join(real(dirname(wanted)), basename(wanted));
      if (!places.allows(found)) throw refused(path);
      return found;
    },
    async mayLeave(entry) {
      const house = realOrSame(home.root);
      if (isBelow(entry, house) || isBelow(entry, realOrSame(home.run.dir))) throw keeps(entry);
      if (isKept(entry)) throw kept(entry);
      // Elsewhere the names mean nothing.
      if (isBelow(house, entry) && (await holdsSecret(entry))) throw keeps(entry);
    },
    allows: (path) => isBelow(places.root(), path) && !isSecret(path),
    confirmedNow: () => confirmedNow(home),
  };

  /** Before links are looked at: what leaves the root by its words alone is refused without a look at the disk. */
  function asked(path: string): string {
    if (path.includes('\0')) throw refused(path);
    const root = places.root();
    const wanted = resolve(root, path);
    if (!isBelow(root, wanted)) throw refused(path);
    return wanted;
  }

  function isSecret(path: string): boolean {
    if (isBelow(realOrSame(home.run.dir), path)) return true;
    const house = realOrSame(home.root);
    return isBelow(house, path) && relative(house, path).split(sep).some(isSecretName);
  }

  /** What the service writes alone, and config.yaml, which is checked before it is replaced. */
  function isKept(path: string): boolean {
    const house = realOrSame(home.root);
    if (!isBelow(house, path)) return false;
    const [first = '', second, third = ''] = relative(house, path).split(sep);
    const own = first === 'profiles' && second !== undefined ? third : first;
    return own === '' ? first === 'profiles' : KEPT.has(own) || /\.lock$|^config\.yaml\./.test(own);
  }
  return places;
}

/** First names below a home. What else lies there is the user's: SOUL.md, skills, scripts, hooks, memories, files of their own. */
const KEPT: ReadonlySet<string> = new Set(
  'config.yaml ESTOP clock.json gateway_state.json active_profile profile.json webhook_subscriptions.json profiles logs crash cron cache telemetry attachments'.split(
    ' ',
  ),
);

const kept = (path: string): AgentError =>
  new AgentError('PATH_REFUSED', `${visibleText(basename(path))} is kept by the service`, { fix: keptFix(path) });

function keptFix(path: string): string {
  if (basename(path) === 'config.yaml') return 'change it under Config, or with `agent config edit`, which checks it';
  if (basename(path) === 'profiles' || basename(dirname(path)) === 'profiles')
    return 'a profile is deleted under Profiles, or with `agent profile delete`';
  return 'use the page or the command that it belongs to';
}

/** Names inside AGENT_HOME and its profiles. */
const SECRET = /^(?:\.env(?:\..*)?|auth\.json.*|run|mcp-tokens|backups|.*\.db(?:[-.].*)?)$/i;
const isSecretName = (name: string): boolean => SECRET.test(name) || isSecretFileName(name);

/** Looks until the first; links are not followed, what is no folder holds none. */
async function holdsSecret(path: string): Promise<boolean> {
  if (!(await lstat(path)).isDirectory()) return false;
  for await (const { name } of await opendir(path, { recursive: true })) if (isSecretName(name)) return true;
  return false;
}

const keeps = (path: string): AgentError =>
  new AgentError('PATH_REFUSED', `${visibleText(basename(path))} holds secrets or data of the service, which stay where they are`, {
    fix: 'a profile is deleted under Profiles, or with `agent profile delete`',
  });

/** Errors: PATH_REFUSED. */
export function checkName(name: string): void {
  const bad = name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > 255;
  if (bad)
    throw new AgentError('PATH_REFUSED', `"${visibleText(name.slice(0, 100))}" is not a name for a file`, { fix: 'give another name' });
}

export function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (thrown) {
    throw fileError(path, thrown);
  }
}

function realOrSame(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

const refused = (path: string): AgentError =>
  new AgentError('PATH_REFUSED', `"${visibleText(path.slice(0, 200))}" is not below the root of the files, or is a secret of the service`, {
    fix: 'dashboard.files_root in config.yaml names the root; secrets are read with `agent config`',
  });

/** What the file system says, in the words of the table. */
export function fileError(path: string, thrown: unknown): unknown {
  const code = errnoOf(thrown);
  if (code === undefined) return thrown;
  const name = visibleText(basename(path));
  const say = (kind: ErrorCode, what: string, fix?: string) => new AgentError(kind, what, { cause: thrown, ...(fix ? { fix } : {}) });
  // The name as it is shown is not the name as it is: no path in UTF-8 leads there.
  if (code === 'ENOENT' && path.includes('\ufffd'))
    return say('NOT_FOUND', `${name} cannot be named here: its name is not UTF-8`, 'rename it with another program');
  if (code === 'ENOENT' || code === 'ENOTDIR') return say('NOT_FOUND', `there is no ${name}`);
  if (code === 'ENOSPC' || code === 'EDQUOT') return say('DISK_FULL', `there is no room for ${name}`, 'free some disk space');
  if (code === 'EEXIST') return say('FILE_EXISTS', `${name} is there already`, 'give another name');
  if (code === 'ENOTEMPTY') return say('FILE_EXISTS', `${name} holds files`, 'delete it with everything in it (recursive)');
  return say('FILE_FAILED', `${name}: ${code}`, 'check who owns it, and its permissions');
}
