/** What the machine gives: the port, the clock, descriptors, an init, a cgroup of our own, and who we are on it. */
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findSandbox } from '../../agent/sandbox/support.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration } from '../../base/time.ts';
import { dashboardAddress } from '../../state/config/dashboardAddress.ts';
import { holderOf } from '../../state/portHolder.ts';
import { installedUnit } from '../../systemd/unit.ts';
import { insideContainer } from '../service/managedBy.ts';
import { currentUser } from '../currentUser.ts';
import { fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const machineChecks: readonly Check[] = [
  { id: 'port', group: 'machine', what: 'port of the dashboard', look: port },
  { id: 'clock', group: 'machine', what: 'clock', look: clock },
  { id: 'files', group: 'machine', what: 'open files', look: openFiles },
  { id: 'init', group: 'machine', what: 'process 1', look: init },
  { id: 'cgroup', group: 'machine', what: 'cgroup', look: cgroup },
  { id: 'sandbox', group: 'machine', what: 'sandbox for commands', look: sandbox },
  { id: 'user', group: 'machine', what: 'user', look: user },
];

function port({ snapshot, config }: Scene): Finding {
  const address = snapshot?.live ? snapshot.status.supervisor.dashboard : null;
  const wanted = (address ? Number(new URL(address).port) : undefined) ?? dashboardAddress(config().config, {}).port;
  if (wanted === 0) return ok('any free one');
  if (process.platform !== 'linux') return skip('only Linux shows who holds it');
  const listening = isListening(wanted);
  if (!listening) return ok(`${wanted} is free`);
  const holder = holderOf(wanted);
  const ours = snapshot?.live && snapshot.status.workers.some(({ pid }) => pid !== null && pid === holder?.pid);
  if (ours || (holder && holder.pid === snapshot?.status.supervisor.pid)) return ok(`${wanted} is ours`);
  const who = holder ? `process ${holder.pid} (${holder.command})` : 'a process of another user';
  return fail(`${who} holds ${wanted}`, `end it, or agent config set dashboard.port ${wanted + 1} and agent restart dashboard`);
}

const isListening = (wanted: number): boolean =>
  ['/proc/net/tcp', '/proc/net/tcp6'].some((path) =>
    new RegExp(`:${wanted.toString(16).toUpperCase().padStart(4, '0')} [0-9A-F:]+ 0A `).test(readText(path)),
  );

/** No release is older than this: a clock before it breaks every certificate. */
const RELEASED_AT = Date.parse('2026-01-01T00:00:00Z');
const YEARS_AHEAD_MAX = 20;
const YEAR_MS = 365 * 86_400_000;

function clock({ home, snapshot }: Scene): Finding {
  const nowMs = Date.now();
  const fix = 'set it: timedatectl set-ntp true (or ntpdate, chronyd)';
  const today = new Date(nowMs).toISOString();
  if (nowMs < RELEASED_AT || nowMs > RELEASED_AT + YEARS_AHEAD_MAX * YEAR_MS)
    return fail(`it says ${today}: certificates will not be accepted, jobs fire wrongly`, fix);
  const written = statSync(home.run.status, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const { clockSkewMs } = limits.doctor;
  if (written > nowMs + clockSkewMs)
    return fail(`it says ${today}, and the last snapshot was written ${formatDuration(written - nowMs)} later: it was set back`, fix);
  const jumpMs = snapshot?.live ? jumpSince(snapshot.status.supervisor) : 0;
  if (Math.abs(jumpMs) > clockSkewMs)
    return warn(
      `it was set ${jumpMs > 0 ? 'forward' : 'back'} by ${formatDuration(Math.abs(jumpMs))} since the supervisor started`,
      'jobs that came due meanwhile: agent cron runs',
    );
  return ok(today);
}

const TICKS_PER_SECOND = 100;

/** The start of the supervisor by its own wall clock, and by the kernel's count since boot: they part when the clock is set. */
function jumpSince({ started_at, start_time }: { started_at: string; start_time: number }): number {
  const bootedAt = /^btime (\d+)$/m.exec(readText('/proc/stat'))?.[1];
  if (bootedAt === undefined || start_time === 0) return 0;
  return (Number(bootedAt) + start_time / TICKS_PER_SECOND) * 1_000 - Date.parse(started_at);
}

/** Of the processes that run, each with its own limit; without a service, of what this shell would start. */
function openFiles({ snapshot }: Scene): Finding {
  const fix = 'raise it: ulimit -Hn 65536, or LimitNOFILE=65536 in the unit; then `agent down` and `agent up`';
  const { supervisor, workers } = snapshot?.live ? snapshot.status : { supervisor: undefined, workers: [] };
  const running = supervisor ? [{ slot: 'supervisor', pid: supervisor.pid }, ...workers] : [{ slot: 'a process', pid: process.pid }];
  const found = running.flatMap(({ slot, pid }) => {
    // Node raises its own limit to the hard one at its start, which a shell shows for what it would start.
    const limit = pid === null ? undefined : /^Max open files\s+(\S+)\s+(\S+)/m.exec(readText(`/proc/${pid}/limits`))?.[supervisor ? 1 : 2];
    return limit === undefined
      ? []
      : [{ slot, max: limit === 'unlimited' ? Infinity : Number(limit), open: entriesOf(`/proc/${pid}/fd`).length }];
  });
  const lowest = found.toSorted((a, b) => a.max - b.max)[0];
  if (!lowest) return skip('not told by this system');
  const full = found.filter(({ max, open }) => open >= max * limits.doctor.filesShare);
  if (full.length > 0) return warn(full.map(({ slot, max, open }) => `${slot} has ${open} of ${max} open`).join(', '), fix);
  if (lowest.max < limits.doctor.filesMin) return warn(`${lowest.slot} may open ${lowest.max}, fewer than ${limits.doctor.filesMin}`, fix);
  return ok(`${lowest.max === Infinity ? 'unlimited' : lowest.max} for each process`);
}

/** Inits that reap what loses its parent. */
const INITS: ReadonlySet<string> = new Set([
  'systemd',
  'init',
  'tini',
  'docker-init',
  'dumb-init',
  'catatonit',
  's6-svscan',
  'runit',
  'launchd',
  'sh',
  'bash',
  'dash',
  'pause',
]);

function init({ snapshot }: Scene): Finding {
  if (process.platform !== 'linux') return ok('launchd');
  const name = readText('/proc/1/comm').trim();
  const zombies = zombiesOfInit();
  const fix = 'start the container with an init: docker run --init, `init: true` in compose, or the Dockerfile of this project';
  if (snapshot?.live && snapshot.status.supervisor.pid === 1)
    return warn(`the supervisor is process 1 and cannot reap what is not its child (${zombies} zombies)`, fix);
  if (zombies >= ZOMBIES_MIN) return warn(`${name || 'process 1'} does not reap: ${zombies} zombies`, fix);
  if (insideContainer() && name && !INITS.has(name)) return warn(`${name} is process 1; it may not reap what loses its parent`, fix);
  return ok(name || 'unknown');
}

/** A slow init has one or two at any time. */
const ZOMBIES_MIN = 20;

function zombiesOfInit(): number {
  return entriesOf('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const stat = readText(`/proc/${pid}/stat`);
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' && parent === '1';
  }).length;
}

/** A writable cgroup v2 lets a slot's whole tree be ended at once; without one, process groups do. */
function cgroup({ snapshot }: Scene): Finding {
  if (process.platform !== 'linux') return skip('only on Linux');
  const whose = snapshot?.live ? String(snapshot.status.supervisor.pid) : 'self';
  const path = /^0::(.*)$/m.exec(readText(`/proc/${whose}/cgroup`))?.[1];
  if (path === undefined || !existsSync('/sys/fs/cgroup/cgroup.controllers'))
    return ok('no cgroup v2 here: process groups and markers do its work');
  const dir = join('/sys/fs/cgroup', path);
  try {
    accessSync(dir, constants.W_OK);
    accessSync(join(dir, 'cgroup.procs'), constants.W_OK);
    return path === '/' ? ok('the root, not ours: process groups and markers do its work') : ok(`${path} is ours`);
  } catch {
    return ok(`${path} is not ours: process groups and markers do its work`);
  }
}

/** Asked for by a level and missing: every command needs an approval. */
async function sandbox({ config }: Scene): Promise<Finding> {
  const level = config().config.sandbox?.level ?? 'none';
  const found = await findSandbox();
  if (level === 'none')
    return ok(found.kind === 'none' ? 'switched off' : 'switched off; it works here: agent config set sandbox.level workspace');
  if (found.kind === 'none') return fail(`sandbox.level is ${level}, but ${found.problem}: every command needs an approval`, found.fix);
  return ok(`${level}, by ${found.kind}`);
}

/** Root's shell and the service's user are two people with two homes (lessons 28). */
function user({ home }: Scene): Finding {
  const uid = process.getuid?.();
  if (uid === undefined) return skip('no users here');
  const me = currentUser();
  const recorded = installedUnit('user', me)?.home ?? installedUnit('system', me)?.home;
  if (recorded !== undefined && recorded !== home.root)
    return warn(
      `the installed service has the home ${recorded}, this shell means ${home.root}`,
      `AGENT_HOME=${recorded} agent …, or unset AGENT_HOME`,
    );
  const owner = statSync(home.root, { throwIfNoEntry: false })?.uid;
  const caller = process.env.SUDO_USER;
  if (uid === 0 && caller && caller !== 'root' && owner !== undefined && owner !== Number(process.env.SUDO_UID ?? owner))
    return warn(`under sudo this is root with the home ${home.root}, not ${caller}'s`, 'run it without sudo, or with AGENT_HOME=…');
  if (uid === 0 && owner === 0 && !insideContainer())
    return warn(
      'it runs as root: so would every command of the terminal tool',
      'make a user for it: useradd -m agent; sudo agent service install --system --run-as agent',
    );
  return ok(`${me.name} (${uid})`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
