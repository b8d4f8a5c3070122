/**
 * A real systemd in seconds: new namespaces, an overlay of this machine's root, and systemd as process 1
 * of it. What is tested is the installed product; nothing of it reaches the machine. Ends with its process 1.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from './until.ts';
import { projectRoot } from './worker.ts';

const run = promisify(execFile);

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Systemd extends AsyncDisposable {
  /** Runs a program in it as root, or as `user` with a shell's environment for the user manager. */
  run(command: readonly string[], options?: { user?: string; env?: Record<string, string> }): Promise<Ran>;
  /** The same, and throws unless it ends with 0. Answers stdout. */
  must(command: readonly string[], options?: { user?: string; env?: Record<string, string> }): Promise<string>;
  /** Makes a user with a home in it. */
  addUser(name: string): Promise<{ uid: number; home: string }>;
  /** Sends a signal to one of its processes. */
  kill(pid: number, signal: string): Promise<void>;
  /** Goes down as a machine does, every unit in order; answers when it is off. */
  shutDown(): Promise<void>;
  /** Kills process 1: everything is gone at once, as in a power cut. */
  powerOff(): Promise<void>;
}

/** Packages a machine needs for it, each with the file that shows it. */
const needed: Record<string, string> = {
  systemd: '/lib/systemd/systemd',
  dbus: '/usr/bin/dbus-daemon',
  'dbus-user-session': '/usr/lib/systemd/user/dbus.socket',
  'libpam-systemd': '/usr/share/doc/libpam-systemd',
  'util-linux': '/usr/bin/unshare',
};

/** Why it cannot run here; undefined when it can. With CI set the caller lets that fail. */
export function whyNoSystemd(): string | undefined {
  if (process.platform !== 'linux') return 'not Linux';
  if (process.getuid?.() !== 0) return 'needs root for namespaces and mounts';
  const missing = Object.keys(needed).filter((name) => !existsSync(needed[name]!));
  return missing.length ? `missing Debian packages: ${missing.join(', ')}` : undefined;
}

/** As in a container: what belongs to the machine (sysctl, devices, kernel modules) is out of reach. */
const BOOT = `
set -e
base=$1
mount --make-rprivate /
mount -t tmpfs tmpfs "$base"
mkdir "$base/up" "$base/work" "$base/root" "$base/up2" "$base/work2"
root=$base/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/up,workdir=$base/work" "$root"
# The checkout may stand where systemd puts a fresh file system (/tmp, /run): it gets a place of its own.
mkdir -p "$root$3"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$base/up2,workdir=$base/work2" "$root$3"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for dir in run tmp dev; do mount -t tmpfs tmpfs "$root/$dir"; done
chmod 1777 "$root/tmp"
mkdir "$root/dev/pts" "$root/dev/shm"
for name in null zero full random urandom tty; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
chmod 1777 "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
exec env -i container=agent-test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /lib/systemd/systemd --unit=basic.target --show-status=no
`;

const NAMESPACES = ['--pid', '--fork', '--kill-child=KILL', '--mount', '--uts', '--ipc', '--net', '--cgroup'];

export async function startSystemd(): Promise<Systemd> {
  const base = mkdtempSync(join(tmpdir(), 'agent-systemd-'));
  // It dies with this process, whatever ends this.
  const outer = spawn('setpriv', ['--pdeathsig=KILL', 'unshare', ...NAMESPACES, 'sh', '-c', BOOT, 'boot', base, projectRoot, PROJECT], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  outer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((resolve) => outer.once('exit', () => resolve()));
  const processOne = () => Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim().split(' ')[0]);

  const runIn = async (command: readonly string[], env: Record<string, string>): Promise<Ran> => {
    const words = [
      '-t',
      String(processOne()),
      '-a',
      '-r',
      '-w',
      'env',
      '-i',
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...command,
    ];
    try {
      const { stdout, stderr } = await run('nsenter', words, { maxBuffer: 32 * 1024 * 1024, timeout: 120_000 });
      return { code: 0, stdout, stderr };
    } catch (thrown) {
      const { code, stdout = '', stderr = '' } = thrown as { code: number | string; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : -1, stdout, stderr: stderr || String(thrown) };
    }
  };
  const users = new Map<string, { uid: number; home: string }>();
  const system: Systemd = {
    async run(command, { user, env = {} } = {}) {
      if (user === undefined) return runIn(command, { PATH: PATHS, HOME: '/root', ...env });
      const { uid, home } = users.get(user)!;
      const become = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--init-groups'];
      return runIn([...become, ...command], { PATH: PATHS, HOME: home, USER: user, LOGNAME: user, ...env });
    },
    async must(command, options) {
      const { code, stdout, stderr } = await system.run(command, options);
      if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
      return stdout;
    },
    async addUser(name) {
      await system.must(['useradd', '--create-home', '--shell', '/bin/sh', name]);
      const uid = Number(await system.must(['id', '-u', name]));
      users.set(name, { uid, home: `/home/${name}` });
      return users.get(name)!;
    },
    async kill(pid, signal) {
      await system.must(['sh', '-c', `kill -${signal.replace('SIG', '')} ${pid}`]);
    },
    async shutDown() {
      await system.run(['systemctl', 'poweroff']);
      await ended;
    },
    async powerOff() {
      if (outer.exitCode === null && outer.signalCode === null) process.kill(processOne(), 'SIGKILL');
      await ended;
    },
    async [Symbol.asyncDispose]() {
      await system.powerOff().catch(() => outer.kill('SIGKILL'));
      await ended;
      rmSync(base, { recursive: true, force: true });
    },
  };
  try {
    await until('systemd runs', async () => {
      if (outer.exitCode !== null) throw new Error(said);
      return (await system.run(['systemctl', 'is-system-running'])).stdout.trim() === 'running';
    });
  } catch (thrown) {
    await system[Symbol.asyncDispose]();
    throw new Error(`systemd did not start: ${said}`, { cause: thrown });
  }
  return system;
}

const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Where the checkout stands in there. */
const PROJECT = '/opt/agent-under-test';

/** A path of the checkout as it is in there. */
const inside = (path: string): string => (path.startsWith(`${projectRoot}/`) ? PROJECT + path.slice(projectRoot.length) : path);

/** `agent …` from this checkout, on this very Node. */
export const agentWords = (...args: string[]): string[] => [inside(process.execPath), join(PROJECT, 'bin', 'main.ts'), ...args];
