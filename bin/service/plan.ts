/** What a service manager is told: which Node, which entry, which home, which PATH, for how long, as whom. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { loadConfig } from '../../state/config/load.ts';
import { openHome, type Home } from '../../state/home.ts';
import { release } from '../../state/release.ts';
import type { ServicePlan, ServiceScope, ServiceUser } from '../../state/servicePlan.ts';
import { currentUser } from '../currentUser.ts';
import { slotSpecs } from '../slotSpecs.ts';
import { stopBudgetMs } from './stopBudget.ts';

export interface PlanOptions {
  scope: ServiceScope;
  user: ServiceUser;
  home: Home;
  /** PATH to record; that of this shell unless an installed one is to be kept. */
  path?: string | undefined;
  /** AGENT_GATEWAY_BOOTSTRAP_STATE to record; that of this shell unless an installed one is to be kept. */
  bootstrap?: string | undefined;
}

export function servicePlan({
  scope,
  user,
  home,
  path = process.env.PATH ?? '',
  bootstrap = process.env.AGENT_GATEWAY_BOOTSTRAP_STATE,
}: PlanOptions): ServicePlan {
  const { codeRoot, built } = release();
  const entry = (name: string) => join(codeRoot, 'bin', `${name}.${built ? 'js' : 'ts'}`);
  return {
    scope,
    node: realpathSync(process.execPath),
    entry: entry('agentd'),
    sweep: entry('sweep'),
    home: home.root,
    path: recordedPath(path, user),
    ...(bootstrap ? { bootstrap } : {}),
    stopMs: stopBudgetMs(slotSpecs(home, loadConfig(home).config, {})),
    user,
  };
}

/** The home the service is to have: what AGENT_HOME says, else that of the user it will run as (lessons 28). */
export const homeFor = (user: ServiceUser): Home => (process.env.AGENT_HOME?.trim() ? openHome() : openHome(join(user.home, '.agent')));

const STANDARD = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];

/**
 * The PATH of this shell without what will not be there later: relative and missing folders, those of one
 * npm run, temporary ones. The standard folders always end it, then the user's own.
 */
export function recordedPath(path: string, { home }: Pick<ServiceUser, 'home'>): string {
  const kept = path.split(':').filter((dir) => dir.startsWith('/') && !isTemporary(dir) && !/\/node_modules\/|\/_npx\//.test(`${dir}/`));
  const own = [join(home, '.local', 'bin'), join(home, 'bin')];
  return [...new Set([...kept, ...STANDARD, ...own].map((dir) => dir.replace(/(.)\/+$/, '$1')))].filter((dir) => existsSync(dir)).join(':');
}

const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm', '/run/user', '/private/tmp', '/private/var/folders', '/var/folders'];

/** Gone at the next boot, or cleaned at some time. */
export const isTemporary = (path: string): boolean =>
  [...TEMPORARY, process.env.TMPDIR?.replace(/\/+$/, '')].some((dir) => dir && (path === dir || path.startsWith(`${dir}/`)));

/** Errors: USAGE. */
export function userNamed(name: string): ServiceUser {
  const row = rowsOf('/etc/passwd').find(([login]) => login === name);
  if (row) return { name, uid: Number(row[2]), gid: Number(row[3]), home: row[5]! };
  const own = currentUser();
  if (own.name === name) return own;
  throw new AgentError('USAGE', `there is no user "${name}" in /etc/passwd`, {
    fix: 'name an existing user with --run-as, or make one: useradd -m NAME',
  });
}

/** Whom a system service is for: the one named, else who called sudo, else this user. */
export function systemUser(named: string | undefined): ServiceUser {
  if (named !== undefined) return userNamed(named);
  const caller = process.getuid?.() === 0 ? process.env.SUDO_USER : undefined;
  return caller && caller !== 'root' ? userNamed(caller) : currentUser();
}

function rowsOf(path: string): string[][] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  } catch {
    return [];
  }
}
