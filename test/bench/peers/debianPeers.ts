/** The supervisors that Debian ships: supervisord, runit and s6, with their own loggers. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASE_ENV, endWith, filesOf, foreground, runQuietly, type Peer, type WorkerLine } from './peer.ts';

/** Rotated files of this size, so many that a million lines of 100 bytes stay to be counted. */
const FILE_BYTES = 5_000_000;
const FILES = 40;

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

function versionOf(name: string): string {
  try {
    return execFileSync('dpkg-query', ['-W', '-f', '${Version}', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(
      '-',
    )[0]!;
  } catch {
    return '';
  }
}

const known = (debian: string, program: string) => ({
  version: versionOf(debian),
  ...(existsSync(program) ? {} : { missing: `apt-get install ${debian}` }),
});

export function supervisord(): Peer {
  const program = '/usr/bin/supervisord';
  const settings = (folder: string) => join(folder, 'supervisord.conf');
  return {
    name: 'supervisord',
    ...known('supervisor', program),
    prepare(folder, workers) {
      const socket = join(folder, 's.sock');
      const lines = [
        '[unix_http_server]',
        `file=${socket}`,
        '[supervisord]',
        `logfile=${folder}/supervisord.log`,
        `pidfile=${folder}/supervisord.pid`,
        'nodaemon=true',
        'minfds=4096',
        '[rpcinterface:supervisor]',
        'supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface',
        '[supervisorctl]',
        `serverurl=unix://${socket}`,
        ...workers.flatMap(({ name, command }) => [
          `[program:${name}]`,
          `command=${command.join(' ')}`,
          'redirect_stderr=true',
          `stdout_logfile=${folder}/${name}.log`,
          `stdout_logfile_maxbytes=${FILE_BYTES}`,
          `stdout_logfile_backups=${FILES}`,
        ]),
      ];
      writeFileSync(settings(folder), `${lines.join('\n')}\n`);
    },
    async start(folder) {
      const child = foreground([program, '-n', '-c', settings(folder)], BASE_ENV);
      return {
        pid: child.pid!,
        env: BASE_ENV,
        status: ['/usr/bin/supervisorctl', '-c', settings(folder), 'status'],
        logs: (name) => filesOf(folder, (file) => file === `${name}.log` || file.startsWith(`${name}.log.`)),
        stop: () => endWith(child, 'SIGTERM'),
      };
    },
  };
}

/** `services/<name>/run` and `services/<name>/log/run`: what runit and s6 have in common. */
function writeServices(folder: string, workers: readonly WorkerLine[], logger: (logs: string) => string): void {
  for (const { name, command } of workers) {
    const service = join(folder, 'services', name);
    const logs = join(folder, 'logs', name);
    mkdirSync(join(service, 'log'), { recursive: true });
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(service, 'run'), `#!/bin/sh\nexec 2>&1\nexec ${quoted(command)}\n`, { mode: 0o755 });
    writeFileSync(join(service, 'log', 'run'), `#!/bin/sh\nexec ${logger(logs)}\n`, { mode: 0o755 });
  }
}

const loggedFiles = (folder: string) => (name: string) =>
  filesOf(join(folder, 'logs', name), (file) => file.startsWith('@') || file === 'current');

export function runit(): Peer {
  return {
    name: 'runit',
    ...known('runit', '/usr/bin/runsvdir'),
    prepare(folder, workers) {
      writeServices(folder, workers, (logs) => `svlogd '${logs}'`);
      for (const { name } of workers) writeFileSync(join(folder, 'logs', name, 'config'), `s${FILE_BYTES}\nn${FILES}\n`);
    },
    async start(folder) {
      const services = join(folder, 'services');
      const child = foreground(['/usr/bin/runsvdir', services], BASE_ENV);
      return {
        pid: child.pid!,
        env: BASE_ENV,
        status: ['/bin/sh', '-c', `exec sv status ${services}/*`],
        logs: loggedFiles(folder),
        // Tells every runsv to end its service; then it leaves itself.
        stop: () => endWith(child, 'SIGHUP'),
      };
    },
  };
}

export function s6(): Peer {
  return {
    name: 's6',
    ...known('s6', '/usr/bin/s6-svscan'),
    prepare(folder, workers) {
      writeServices(folder, workers, (logs) => `s6-log n${FILES} s${FILE_BYTES} '${logs}'`);
    },
    async start(folder) {
      const services = join(folder, 'services');
      const child = foreground(['/usr/bin/s6-svscan', '-c', '2000', services], BASE_ENV);
      return {
        pid: child.pid!,
        env: BASE_ENV,
        status: ['/bin/sh', '-c', `for s in ${services}/*; do s6-svstat $s; done`],
        logs: loggedFiles(folder),
        async stop() {
          await runQuietly(['/usr/bin/s6-svscanctl', '-t', services], BASE_ENV);
          await endWith(child, 'SIGCONT');
        },
      };
    },
  };
}
