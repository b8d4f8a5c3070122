/** The home: whose it is, who may read it, what it lies on, and how full it is. */
import { accessSync, chmodSync, constants, existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { runCommand } from '../../base/runCommand.ts';
import { readSecrets } from '../../state/env.ts';
import { badLines } from '../../state/envFile.ts';
import { listProfiles } from '../../state/home.ts';
import { bytesForPeople } from '../terminal.ts';
import { count, fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const homeChecks: readonly Check[] = [
  { id: 'home', group: 'home', what: 'the home', look: theHome },
  { id: 'profiles', group: 'home', what: 'profiles', look: profileFolder },
  { id: 'secrets', group: 'home', what: 'files with secrets', look: secretFiles },
  { id: 'env', group: 'home', what: '.env', look: envFiles },
  { id: 'filesystem', group: 'home', what: 'file system', look: fileSystem },
  { id: 'socket-path', group: 'home', what: 'length of socket paths', look: socketPath },
  { id: 'disk', group: 'home', what: 'room on the disk', look: disk },
  { id: 'logs', group: 'home', what: 'size of logs and crash reports', look: logs },
  { id: 'conversations', group: 'home', what: 'stores of conversations', look: damagedStores },
];

const OTHERS = 0o077;
const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

function theHome({ home }: Scene): Finding {
  const stat = statSync(home.root, { throwIfNoEntry: false });
  if (!stat) return missingHome(home.root);
  if (!stat.isDirectory()) return fail(`${home.root} is not a directory`, 'move it away, or set AGENT_HOME to another place');
  const uid = process.getuid?.();
  if (uid !== undefined && stat.uid !== uid)
    return uid === 0
      ? warn(`${home.root} belongs to user ${stat.uid}, and this is root`, `run commands as its owner: sudo -u '#${stat.uid}' agent …`)
      : fail(`${home.root} belongs to user ${stat.uid}`, `sudo chown -R $(id -u) ${home.root}`);
  if ((stat.mode & OTHERS) === 0) return ok(`${home.root}, ${octal(stat.mode)}`);
  return fail(`${home.root} is open to others (${octal(stat.mode)})`, `chmod 700 ${home.root}`, {
    repair: () => (chmodSync(home.root, 0o700), `chmod 700 ${home.root}`),
  });
}

/** What holds a credential, in every profile. */
/** Can the first start make it? */
function missingHome(root: string): Finding {
  let parent = dirname(root);
  while (!existsSync(parent) && parent !== dirname(parent)) parent = dirname(parent);
  try {
    if (!statSync(parent).isDirectory())
      return fail(`${root} cannot be made: ${parent} is not a directory`, 'set AGENT_HOME to another place');
    accessSync(parent, constants.W_OK | constants.X_OK);
    return ok(`${root} does not exist yet; the first start makes it`);
  } catch (thrown) {
    return fail(
      `${root} cannot be made in ${parent} (${errnoOf(thrown) ?? messageOf(thrown)})`,
      'set AGENT_HOME to a folder that you may write to',
    );
  }
}

function profileFolder({ home }: Scene): Finding {
  try {
    return ok(listProfiles(home).join(', '));
  } catch (thrown) {
    if (!isAgentError(thrown)) throw thrown;
    return fail(thrown.message, thrown.fix ?? 'agent doctor');
  }
}

function secretFiles({ home, profiles }: Scene): Finding {
  const tokens = entriesOf(join(home.root, 'mcp-tokens')).map((name) => join(home.root, 'mcp-tokens', name));
  const files = [...profiles.flatMap(({ env, auth }) => [env, auth]), home.run.token, home.run.dashboardToken, ...tokens];
  const open = files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) !== 0);
  if (open.length === 0) return ok(`${count(files.filter((file) => existsSync(file)).length, 'file')}, none open to others`);
  return fail(`others may read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`, {
    repair: () => {
      for (const file of open) chmodSync(file, 0o600);
      return `chmod 600 ${open.join(' ')}`;
    },
  });
}

function envFiles({ profiles }: Scene): Finding[] {
  return profiles.map(({ name, env }) => {
    const of = profiles.length > 1 ? name : undefined;
    const finding = envFile(env);
    return of === undefined ? finding : { ...finding, of };
  });
}

/** More numbers of lines than this do not help. */
const BAD_LINES_NAMED = 5;

function envFile(path: string): Finding {
  if (!existsSync(path)) return ok('there is none');
  try {
    const names = readSecrets(path, {}).names();
    const bad = badLines(path);
    if (bad.length > 0)
      return warn(
        `${path}:${bad.slice(0, BAD_LINES_NAMED).join(', ')}: not of the form NAME=value, so ignored`,
        'correct the file, or set the value with `agent env set NAME`',
      );
    return ok(`${count(names.length, 'name')} set`);
  } catch (thrown) {
    return fail(messageOf(thrown), `chmod 600 ${path} and own it`);
  }
}

/** Locks and SQLite on them are not to be trusted, sockets do not work (statfs(2)). */
const REMOTE: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB 2',
  0x01021997: '9p (a folder of Windows or of the host of a virtual machine)',
  0x786f4256: 'VirtualBox shared folder',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
};

async function fileSystem({ home }: Scene): Promise<Finding> {
  if (!existsSync(home.root)) return skip('no home yet');
  const remote = REMOTE[statfsSync(home.root).type];
  if (remote)
    return fail(
      `${home.root} lies on ${remote}: databases may break and sockets do not work`,
      'set AGENT_HOME to a folder on a disk of this machine',
    );
  const dir = existsSync(home.run.dir) ? home.run.dir : home.root;
  let place: string;
  try {
    place = mkdtempSync(join(dir, '.doctor-'));
  } catch (thrown) {
    return fail(`${dir} cannot be written (${errnoOf(thrown) ?? messageOf(thrown)})`, 'make it writable for its owner');
  }
  try {
    const missing = [(await takesSocket(place)) ? '' : 'sockets', (await takesFifo(place)) ? '' : 'named pipes'].filter(Boolean);
    if (missing.length === 0) return ok('local, takes sockets and named pipes');
    return fail(`${dir} lies on a file system without ${missing.join(' and ')}`, 'set AGENT_HOME to a folder on an ordinary disk');
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function takesSocket(dir: string): Promise<boolean> {
  const server = createServer();
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(join(dir, 's'), () => resolve(true));
  });
  await new Promise((resolve) => server.close(resolve));
  return listens;
}

const takesFifo = async (dir: string): Promise<boolean> => (await runCommand(['mkfifo', join(dir, 'p')])).code === 0;

function socketPath({ home, profiles }: Scene): Finding {
  const slots = ['supervisor', ...profiles.map(({ name }) => (name === 'default' ? 'dashboard' : `gateway@${name}`))];
  const longest = slots.map((slot) => home.run.socket(slot)).toSorted((a, b) => b.length - a.length)[0]!;
  const bytes = Buffer.byteLength(longest);
  if (bytes > limits.ipc.socketPathMaxBytes)
    return fail(`${longest} has ${bytes} bytes, over ${limits.ipc.socketPathMaxBytes}`, 'set AGENT_HOME to a shorter path');
  const plain = join(home.root, 'run');
  return ok(
    home.run.dir === plain ? `${bytes} of ${limits.ipc.socketPathMaxBytes} bytes` : `the home is long: run/ stands in ${home.run.dir}`,
  );
}

function disk({ home }: Scene): Finding {
  if (!existsSync(home.root)) return skip('no home yet');
  const { bavail, bsize, ffree, files } = statfsSync(home.root);
  const freeBytes = bavail * bsize;
  const { diskFreeMinBytes, inodesFreeMin } = limits.doctor;
  const what = `${bytesForPeople(freeBytes)} free`;
  const fix = `free some room on the disk of ${home.root}: \`du -xh ${home.root} | sort -h | tail\` shows what is ours`;
  if (freeBytes < diskFreeMinBytes / 10) return fail(what, fix);
  if (freeBytes < diskFreeMinBytes) return warn(what, fix);
  // btrfs and others make inodes as they need them, and say 0 of 0.
  if (files > 0 && ffree < inodesFreeMin) return fail(`${what}, but only ${ffree} more files can be made (inodes)`, fix);
  return ok(files > 0 ? `${what}, ${ffree} inodes` : what);
}

function logs({ home, profiles }: Scene): Finding {
  const bytes = profiles.reduce((sum, { logs: dir }) => sum + sizeOf(dir), 0) + sizeOf(home.crash);
  const { budgetBytes } = limits.logs;
  const what = `${bytesForPeople(bytes)} of ${bytesForPeople(budgetBytes)}`;
  if (bytes <= budgetBytes) return ok(what);
  return warn(`${what}: something that does not rotate writes there`, `look for it: ls -lS ${home.logs} ${home.crash}`);
}

/** What a start of the agent worker left beside a new store. */
function damagedStores({ profiles }: Scene): Finding[] {
  return profiles.map(({ name, dir, stateDb }) => {
    const of = profiles.length > 1 ? { of: name } : {};
    const agent = name === 'default' ? 'agent' : `agent -p ${name}`;
    if (existsSync(`${stateDb}.damaged`))
      return { ...warn(`${stateDb} has pages that cannot be read`, `${agent} restart agent recovers it; the damaged file is kept`), ...of };
    const kept = entriesOf(dir).filter((entry) => /^state\.db\.(?:damaged|corrupt)-[\d-]+$/.test(entry));
    if (kept.length === 0) return { ...ok('none was ever damaged'), ...of };
    const newest = join(dir, kept.toSorted().at(-1)!);
    return {
      ...warn(
        `${count(kept.length, 'damaged store')} kept: ${newest}`,
        `look whether something is missing (docs/sessions.md), then delete what is no longer needed`,
      ),
      ...of,
    };
  });
}

function sizeOf(dir: string): number {
  return entriesOf(dir).reduce((sum, name) => {
    const stat = lstatSync(join(dir, name), { throwIfNoEntry: false });
    return sum + (stat?.isDirectory() ? sizeOf(join(dir, name)) : (stat?.size ?? 0));
  }, 0);
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
