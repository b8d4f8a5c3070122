/** The supervisor, what it left behind, and the service manager above it. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration, within } from '../../base/time.ts';
import { status as statusMethod } from '../../ipc/contracts/supervisor.ts';
import { acquireLock, lockHolder, readLock } from '../../state/lock.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { lingerFix } from '../../systemd/linger.ts';
import { dialSupervisor } from '../connect.ts';
import { insideContainer } from '../service/managedBy.ts';
import { installedUnit } from '../../systemd/unit.ts';
import { planFor, serviceTarget, wantedText, whyNotHere } from '../service/install.ts';
import { unreadyLines } from '../statusView.ts';
import { count, fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const serviceChecks: readonly Check[] = [
  { id: 'supervisor', group: 'service', what: 'the supervisor', look: supervisor },
  { id: 'slots', group: 'service', what: 'slots', look: slots },
  { id: 'problems', group: 'service', what: 'what the supervisor complains of', look: problems },
  { id: 'sockets', group: 'service', what: 'sockets of dead processes', look: staleSockets },
  { id: 'locks', group: 'service', what: 'locks', look: locks },
  { id: 'orphans', group: 'service', what: 'processes without a supervisor', look: orphans },
  { id: 'service', group: 'service', what: 'the installed service', look: installedService },
];

/** `T` in /proc: somebody stopped it; no answer otherwise: its loop stands still. */
async function supervisor({ home, snapshot }: Scene): Promise<Finding> {
  if (!snapshot) return warn('none has run on this home', 'agent up');
  const { pid } = snapshot.status.supervisor;
  if (!snapshot.live) return warn(`none runs; the last one (process ${pid}) was seen ${formatDuration(snapshot.ageMs)} ago`, 'agent up');
  if (stateOf(pid) === 'T') return fail(`process ${pid} is stopped (SIGSTOP, or a debugger)`, `kill -CONT ${pid}`);
  try {
    using link = await dialSupervisor(home);
    await within(link.call(statusMethod, {}), { ms: limits.doctor.answerMs, what: 'the answer of the supervisor' });
    return ok(`process ${pid} answers`);
  } catch (thrown) {
    return fail(`process ${pid} lives and does not answer (${messageOf(thrown)})`, '`agent down` ends it and its workers, then `agent up`');
  }
}

function slots({ snapshot }: Scene): Finding {
  if (!snapshot?.live) return skip('no supervisor runs');
  const lines = unreadyLines(snapshot.status.workers);
  const ready = snapshot.status.workers.filter(({ state }) => state === 'ready').length;
  if (lines.length === 0) return ok(`${count(ready, 'slot')} ready, as wanted`);
  return fail(lines.join('; '), `agent why ${lines[0]!.split(' ')[0]}`);
}

function problems({ snapshot }: Scene): Finding | Finding[] {
  if (!snapshot?.live) return skip('no supervisor runs');
  const all = snapshot.status.problems;
  return all.length ? all.map(({ what, fix }) => warn(what, fix)) : ok('nothing');
}

/** Proved by the kernel: nobody accepts there. */
async function staleSockets({ home }: Scene): Promise<Finding> {
  const files = entriesOf(home.run.dir)
    .map((name) => join(home.run.dir, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isSocket());
  const dead = (await Promise.all(files.map(async (path) => ((await refuses(path)) ? [path] : [])))).flat();
  if (dead.length === 0) return ok(count(files.length, 'socket'));
  return warn(`nobody listens at ${dead.join(', ')}`, `rm ${dead.join(' ')}`, {
    repair: async () => {
      const still = (await Promise.all(dead.map(async (path) => ((await refuses(path)) ? [path] : [])))).flat();
      for (const path of still) rmSync(path, { force: true });
      return `removed ${still.join(', ')}`;
    },
  });
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => (socket.destroy(), resolve(false)));
    socket.once('error', (thrown) => resolve(errnoOf(thrown) === 'ECONNREFUSED'));
  });
}

/** A lock counts as dead when the process of its record is proved gone (boot id, pid, start time); its living owner is named. */
function locks({ home, profiles }: Scene): Finding {
  const dirs = [home.run.dir, home.root, ...profiles.flatMap(({ dir, cronDir }) => [dir, cronDir])];
  const files = [...new Set(dirs)].flatMap((dir) =>
    entriesOf(dir)
      .filter((name) => name.endsWith('.lock'))
      .map((name) => join(dir, name)),
  );
  const records = files.flatMap((path) => (readLock(path) ? [path] : []));
  const dead = records.filter((path) => lockHolder(path) === undefined);
  const held = records.flatMap((path) => {
    const holder = lockHolder(path);
    return holder ? [`${relative(home.root, path)} by ${holder.holder} (process ${holder.pid}, since ${holder.taken_at})`] : [];
  });
  if (dead.length === 0) return ok(held.length ? `held: ${held.join('; ')}` : 'none held');
  const owners = dead.map((path) => `${path} (process ${readLock(path)?.pid}, gone)`);
  return warn(`left by dead processes: ${owners.join('; ')}`, 'agent doctor --fix; whoever needs one clears it too', {
    repair: async () => {
      // Taking it is the proof: that succeeds only where the owner is dead.
      for (const path of dead) (await acquireLock(path, 'agent doctor'))[Symbol.dispose]();
      return `cleared ${dead.join(', ')}`;
    },
  });
}

/** Workers carry their home and a nonce in the environment they were started with. */
function orphans({ home, snapshot }: Scene): Finding {
  if (process.platform !== 'linux') return skip('only Linux tells');
  const known = new Set(snapshot?.live ? snapshot.status.workers.map(({ pid }) => pid) : []);
  const strays = entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name) && !known.has(Number(name)) && isOurWorker(name, home.root))
    .map(Number);
  if (strays.length === 0) return ok('none');
  const list = strays.map((pid) => `process ${pid}`).join(', ');
  if (snapshot?.live) return warn(`${list} belong to no slot`, `kill ${strays.join(' ')}`);
  return warn(`${list} run without a supervisor`, '`agent up` takes them over, `agent down` stops them');
}

function isOurWorker(pid: string, root: string): boolean {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return (
      variables.includes(`AGENT_HOME=${root}`) &&
      variables.some((one) => one.startsWith('AGENT_SLOT_NONCE=')) &&
      startTimeOf(Number(pid)) !== undefined
    );
  } catch {
    return false;
  }
}

/** Unit or property list: is it the one we would write, does it start at boot, does its PATH still hold. */
async function installedService({ home, snapshot, system }: Scene): Promise<Finding[]> {
  const target = await serviceTarget({ scope: system ? 'system' : 'user' });
  const unusable = await whyNotHere(target);
  if (unusable || !target.manager) {
    if (insideContainer()) return [skip('a container: its runtime starts it again')];
    return [skip(`no service manager can be used: ${unusable?.missing}`)];
  }
  const { manager, user } = target;
  const managed = { ...target, manager };
  const state = await manager.state(await wantedText(managed));
  const flag = system ? ' --system' : '';
  if (!state.installed)
    return [
      snapshot?.status.supervisor.managed_by === 'none'
        ? warn('not installed: nothing starts it at boot', `agent service install${flag}`)
        : skip('not installed here'),
    ];
  const findings: Finding[] = [];
  const repair = async () => {
    await manager.register(planFor(managed, { bootstrap: installedUnit(managed.scope, managed.user)?.bootstrap }), () => {});
    return `agent service install${flag}`;
  };
  if (state.home !== home.root)
    findings.push(warn(`it serves ${state.home}, and this shell means ${home.root}`, `AGENT_HOME=${state.home} agent …`));
  if (state.drift.length)
    findings.push(
      fail(`${state.file} is not as it should be: ${state.drift.join(' ')}`, `agent service install${flag}`, { of: 'unit', repair }),
    );
  if (!state.enabled) findings.push(fail('it is not started at boot', `agent service install${flag}`, { of: 'boot', repair }));
  if (state.linger === false) findings.push(warn(`without linger it ends when ${user.name} logs out`, lingerFix(user), { of: 'linger' }));
  const gone = missingFolders(await installedPathOf(managed));
  if (gone.length)
    findings.push(warn(`its PATH names folders that are gone: ${gone.join(', ')}`, `agent service install${flag}`, { of: 'path' }));
  if (!state.active) findings.push(fail(`it is installed and ${state.state}`, 'agent up', { of: 'state' }));
  return findings.length ? findings : [ok(`${state.file}, ${state.state}`)];
}

async function installedPathOf({ manager, scope, user }: Awaited<ReturnType<typeof serviceTarget>>): Promise<string | undefined> {
  if (manager?.kind === 'systemd') return (await import('../../systemd/unit.ts')).installedUnit(scope, user)?.path;
  if (!manager || !existsSync(manager.file)) return undefined;
  return (await (await import('../../launchd/plist.ts')).readPlist(readFileSync(manager.file, 'utf8')))?.path;
}

const missingFolders = (path: string | undefined): string[] => (path ?? '').split(':').filter((dir) => dir !== '' && !existsSync(dir));

/** Third field of /proc/<pid>/stat. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
  } catch {
    return undefined;
  }
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
