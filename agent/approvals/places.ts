/** Places of the file system as far as a command may harm them: what a path means, and what writing or deleting it would be. */
import { basename, normalize, resolve } from 'node:path';
import { isSecretFileName, secretFileNames } from '../../base/secretNames.ts';
import { UNKNOWN, type Field } from './shellFields.ts';

export interface Places {
  home: string;
  /** AGENT_HOME: settings, stores, sockets and secrets of the service. */
  agentHome: string | undefined;
  /** Where the session works: its own folder may be written to, wherever it is. */
  cwd: string;
  /** Processes of the service. */
  pids?: readonly number[] | undefined;
}

const inside = (path: string, dir: string): boolean => path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`);

/** Absolute path of an argument; what is unknown in it stays. Undefined when not even its folder is known. */
export function pathOf({ text }: Field, cwd: string | undefined): string | undefined {
  if (text.startsWith('/')) return trimmed(text);
  if (text.startsWith(UNKNOWN) || cwd === undefined) return undefined;
  return trimmed(resolve(cwd, text));
}

const trimmed = (path: string): string => normalize(path.replace(/^\/+/, '/')).replace(/(.)\/+$/, '$1');

/** The folder that `x/*`, `x/.*` and `x/.` stand for, all of its content being meant. */
export function wholeFolder(path: string): string {
  let folder = path;
  while (/\/(?:\.?\*+|\.\?\?\*|\.\[[^\]/]*\]\*|\.)$/.test(folder)) folder = folder.slice(0, folder.lastIndexOf('/')) || '/';
  return folder;
}

const SYSTEM =
  'bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr var System Library Applications Users private'
    .split(' ')
    .map((name) => `/${name}`);

/** Why a whole tree may never be deleted or changed; undefined = it may be asked about. */
export function precious(path: string, { home, agentHome }: Places): string | undefined {
  const folder = wholeFolder(path);
  if (folder === '/') return 'the root of the file system';
  if (/[*?[]/.test(folder) && matches(folder, SYSTEM)) return 'the folders of the system';
  if (SYSTEM.includes(folder)) return `${folder} of the system`;
  if (inside(home, folder)) return 'the home directory';
  if (agentHome !== undefined && inside(agentHome, folder)) return 'the home of this service';
  return undefined;
}

const BLOCK_DEVICE = /^\/dev\/(?:[shv]d[a-z]|xvd|nvme|mmcblk|loop|md\d|dm-|mapper\/|disk\/|ram|sr\d|r?disk\d|mem$|kmem$|port$)/;
const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|ptmx|pts\/\S*|fd\/\S*|shm\/\S*)$/;

/** A disk as it is, under any file system. */
export const isDisk = (path: string): boolean => BLOCK_DEVICE.test(path);

/** Files below the home that decide what runs later, or that open other machines. */
const HOME_FILES =
  /^\.(?:ssh|gnupg|aws|kube|docker|pki|password-store)(?:\/|$)|^\.(?:bash|zsh|profile|login|logout|cshrc|tcshrc|kshrc|inputrc|xinitrc|xprofile|xsession|pam_environment|gitconfig|git-credentials|netrc|npmrc|pypirc|vimrc|emacs)|^\.config\/(?:fish|systemd|autostart|git|environment\.d|gcloud|gh)(?:\/|$)|^Library\/Launch/;

const FREE = ['/tmp', '/var/tmp', '/private/tmp', '/dev/shm'];

/** Why writing there is asked about, or that it never may; undefined = it may be written. */
export function writeConcern(path: string | undefined, places: Places): { reason: string; rule?: string; blocked?: true } | undefined {
  if (path === undefined || path.includes(UNKNOWN)) {
    const known = path === undefined ? '' : path.slice(0, path.indexOf(UNKNOWN));
    const folder = known.slice(0, known.lastIndexOf('/'));
    if (folder && ['/tmp', '/var/tmp', places.cwd].some((free) => inside(folder, free)) && !known.includes('..')) return undefined;
    return { reason: 'it writes to a place that is known only when it runs' };
  }
  if (isDisk(path)) return { reason: `it writes to the disk ${path} itself`, blocked: true };
  if (path.startsWith('/dev/') && !HARMLESS_DEVICE.test(path)) return { reason: `it writes to the device ${path}` };
  if (HARMLESS_DEVICE.test(path)) return undefined;
  const secret = secretAt(path, places);
  if (secret) return { reason: `it changes ${secret}` };
  if (isOwn(path, places)) return { reason: "it changes the service's own files", rule: OWN_FILES_RULE };
  const fromHome = inside(path, places.home) ? path.slice(places.home.length + 1) : undefined;
  if (fromHome !== undefined && HOME_FILES.test(fromHome)) {
    const name = fromHome
      .split('/')
      .slice(0, fromHome.startsWith('.config/') ? 2 : 1)
      .join('/');
    return { reason: `it writes to ~/${name}, which decides what runs later or opens other machines`, rule: `write ~/${name}` };
  }
  if (inside(path, places.cwd) && places.cwd !== '/') return undefined;
  if (fromHome !== undefined || FREE.some((free) => inside(path, free))) return undefined;
  const top = `/${path.split('/')[1] ?? ''}`;
  return { reason: `it writes to ${top}, outside the working directory and the home`, rule: `write ${top}` };
}

/** What `session` and `always` allow for files of the service. */
export const OWN_FILES_RULE = "touch the service's own files";

/** What secret of the service a path is; patterns count as what they match. */
export function secretAt(path: string, { agentHome }: Places): string | undefined {
  if (agentHome === undefined) return undefined;
  const names = [
    ...secretFileNames.map((name) => `${agentHome}/${name}`),
    `${agentHome}/run/token`,
    `${agentHome}/run/dashboard-token`,
    `${agentHome}/run/dashboard-signin.json`,
    `${agentHome}/mcp-tokens`,
  ];
  if (/[*?[]/.test(path) && matches(path, names)) return 'a secret of the service';
  if (!inside(path, agentHome)) return undefined;
  const rest = path.slice(agentHome.length + 1);
  const isSecret =
    isSecretFileName(basename(path)) ||
    /^run\/(?:(?:dashboard-)?token|dashboard-signin\.json)(?:@|$)/.test(rest) ||
    rest.split('/').includes('mcp-tokens') ||
    /^backups(\/|$)/.test(rest);
  return isSecret ? 'a secret of the service' : undefined;
}

/** What the service keeps at the top of its home; other files there (skills, a workspace) are nobody's secret. */
const OWN_NAMES =
  /^(?:config\.yaml|SOUL\.md|ESTOP|auth\.json|\.env|[\w.-]+\.db(?:-\w+)?|[\w-]+\.(?:json|lock)|run|logs|crash|cron|profiles|memories|backups|mcp-tokens|telemetry|update)$/;

/** Settings, stores and sockets: changed by their commands, not by hand. */
export function isOwn(path: string, { agentHome }: Places): boolean {
  if (agentHome === undefined || !inside(path, agentHome)) return false;
  return OWN_NAMES.test(path.slice(agentHome.length + 1).split('/')[0]!);
}

/** True when reading a whole tree would read the secrets too. */
export const holdsSecrets = (path: string, { agentHome }: Places): boolean => agentHome !== undefined && inside(agentHome, path);

/** Does a shell pattern match one of the paths? Everything but `*`, `?` and `[…]` stands for itself. */
function matches(pattern: string, paths: readonly string[]): boolean {
  if (pattern.split('*').length > STARS_MAX) return true;
  const expression = globExpression(pattern);
  return paths.some((path) => expression.test(path));
}

/** More than these nobody needs; each costs time. */
const STARS_MAX = 8;

export function globExpression(pattern: string): RegExp {
  const source = pattern
    .replace(/\*+/g, '*')
    .split(/(\*|\?|\[[^\]]*\]|\u0000)/)
    .map((part) => {
      if (part === '*') return '[^/]*';
      if (part === '?') return '[^/]';
      if (part === UNKNOWN) return '[^/]*';
      return part.startsWith('[') && part.endsWith(']') ? '[^/]' : RegExp.escape(part);
    })
    .join('');
  return new RegExp(`^${source}$`);
}
