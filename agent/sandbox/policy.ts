/**
 * What a sandboxed session may see and change: one ordered list of mounts. Commands get it from the kernel
 * (bubblewrap.ts), file tools ask the same list, so that both always agree. Pure but for looking at the disk.
 */
import { accessSync, constants, lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isInside } from '../tools/filePath.ts';
import { credentialFiles, hiddenFolders, protectedNames, systemFolders, toolChains } from './places.ts';

export type SandboxLevel = 'workspace' | 'read-only' | 'none';

/**
 * `read` and `write` show the real files; `empty` is a folder without content, `blank` a file without content.
 * `proc` and `dev` are made for the sandbox.
 */
export type MountKind = 'read' | 'write' | 'empty' | 'blank' | 'proc' | 'dev';

export interface Mount {
  kind: MountKind;
  /** As seen inside. */
  path: string;
  /** What is shown there, where it is not the path itself. */
  source?: string;
}

export interface SandboxSettings {
  level: Exclude<SandboxLevel, 'none'>;
  /** Absolute paths, or paths that begin with `~/`. */
  writable: readonly string[];
  readable: readonly string[];
}

/** Where a session works. All paths are absolute. */
export interface Workspace {
  /** Working directory of the session. */
  cwd: string;
  /** Of the user that the service runs as. */
  userHome: string;
  /** Folders of the service, which are never shown. */
  serviceFolders: readonly string[];
  /** Parts of them that are shown, not writable: skills, attachments. */
  shownFolders: readonly string[];
  /** A folder of the session that is its /tmp. */
  temp: string;
}

export interface SandboxPolicy {
  level: SandboxSettings['level'];
  /** A later one covers what it contains of earlier ones, as with the kernel. */
  mounts: readonly Mount[];
  /** Real path of the home inside. */
  userHome: string;
  /** Why the working directory is not writable although the level would allow it. */
  notice: string | undefined;
  /** Both take real paths of this machine. */
  mayRead(realPath: string): boolean;
  mayWrite(realPath: string): boolean;
  /** Where a path that is named inside lies on this machine. */
  hostPath(path: string): string;
  /** It is in the folder for temporary files of the session. */
  isTemporary(realPath: string): boolean;
  /** The inverse of `hostPath`, for real paths. */
  shownPath(realPath: string): string;
}

/** What a session sees as its folder for temporary files. */
export const TEMP = '/tmp';

export function sandboxPolicy(settings: SandboxSettings, place: Workspace): SandboxPolicy {
  const userHome = realOf(place.userHome) ?? place.userHome;
  const cwd = realOf(place.cwd) ?? place.cwd;
  const service = [...new Set(place.serviceFolders.flatMap((dir) => realOf(dir) ?? []))];
  const temp = realOf(place.temp) ?? place.temp;
  const expand = (path: string) => realOf(path.startsWith('~/') ? join(userHome, path.slice(2)) : path);
  const isWorkspace = settings.level === 'workspace';
  const problem = unfit(cwd, userHome, service);
  const writable = isWorkspace ? settings.writable.flatMap((path) => expand(path) ?? []) : [];
  const workspaces = [...(isWorkspace && !problem ? [cwd] : []), ...writable];

  const mounts: Mount[] = [
    { kind: 'read', path: '/' },
    { kind: 'proc', path: '/proc' },
    { kind: 'dev', path: '/dev' },
  ];
  const isVisible = (path: string) => ['read', 'write'].includes(lastOf(mounts, path).kind);
  const empty = (paths: readonly string[]) => {
    for (const path of paths) if (isVisible(path) && typeOf(path) === 'dir') mounts.push({ kind: 'empty', path });
  };
  const show = (kind: 'read' | 'write', paths: readonly string[]) => {
    for (const path of paths) if (typeOf(path) !== undefined) mounts.push({ kind, path });
  };

  empty([...hiddenFolders, ...(userHome === '/' ? [] : [userHome])]);
  for (const path of credentialFiles) if (isVisible(path) && typeOf(path) === 'file') mounts.push({ kind: 'blank', path });
  mounts.push({ kind: 'write', path: TEMP, source: temp });
  if (userHome !== '/')
    show(
      'read',
      toolChains.map((name) => join(userHome, name)),
    );
  show(
    'read',
    settings.readable.flatMap((path) => expand(path) ?? []),
  );
  if (!problem && !isWorkspace) show('read', [cwd]);
  show('write', workspaces);
  empty(service);
  show(
    'read',
    place.shownFolders.flatMap((dir) => realOf(dir) ?? []),
  );
  for (const workspace of workspaces) mounts.push(...protectedMounts(workspace));

  const hostPath = (path: string): string => {
    const { path: at, source } = lastOf(mounts, path);
    return source === undefined ? path : join(source, path.slice(at.length));
  };
  /** The /tmp of this machine is not the one inside. */
  const kindOf = (real: string): MountKind => {
    if (isInside(temp, real)) return 'write';
    const { kind, source } = lastOf(mounts, real);
    return source === undefined ? kind : 'empty';
  };
  return {
    level: settings.level,
    mounts,
    userHome,
    notice: isWorkspace ? problem : undefined,
    mayRead: (real) => ['read', 'write'].includes(kindOf(real)),
    mayWrite: (real) => kindOf(real) === 'write',
    hostPath,
    isTemporary: (real) => isInside(temp, real),
    shownPath: (real) => (isInside(temp, real) ? join(TEMP, real.slice(temp.length)) : real),
  };
}

/** The one that decides about a path. The first, `/`, contains all. */
const lastOf = (mounts: readonly Mount[], path: string): Mount => mounts.findLast((mount) => isInside(mount.path, path))!;

/** Undefined = it may be a workspace; otherwise why not. */
function unfit(cwd: string, userHome: string, service: readonly string[]): string | undefined {
  const because = (why: string) =>
    `commands cannot change the working directory ${cwd}: ${why}. Work in a project folder, or name folders in sandbox.writable`;
  if (cwd === TEMP) return because('it is the common folder for temporary files; commands have their own');
  if (isInside(cwd, userHome)) return because('it contains your home');
  if (service.some((dir) => isInside(cwd, dir) || isInside(dir, cwd))) return because('files of the service are in it');
  if (cwd === '/' || systemFolders.some(({ path, below }) => cwd === path || (below && isInside(path, cwd))))
    return because('it belongs to the system');
  return undefined;
}

/**
 * What others run later, in a folder that is writable otherwise. A mount point cannot be renamed or removed, so
 * `.git` becomes one, too: it could be moved away as a whole otherwise.
 */
function protectedMounts(workspace: string): Mount[] {
  const git = join(workspace, '.git');
  const hooks = join(git, 'hooks');
  const ofGit: Mount[] = [];
  if (typeOf(git) === 'dir') {
    ofGit.push({ kind: 'write', path: git });
    // Also where there is none yet: a hook must not be created.
    ofGit.push({ kind: typeOf(hooks) === 'dir' ? 'read' : 'empty', path: hooks });
  }
  const existing = protectedNames.map((name) => join(workspace, name)).filter((path) => typeOf(path) !== undefined);
  return [...ofGit, ...existing.map((path): Mount => ({ kind: 'read', path }))];
}

/** Undefined also for links, and for what this user may not read and that therefore needs no cover. */
function typeOf(path: string): 'dir' | 'file' | undefined {
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return undefined;
    accessSync(path, constants.R_OK);
    return stat.isDirectory() ? 'dir' : 'file';
  } catch {
    return undefined;
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
