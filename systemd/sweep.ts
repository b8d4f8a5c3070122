/**
 * `ExecStopPost=`: ends what a true stop has left in the unit's cgroup, whatever session or group it moved
 * to. Runs after every end of the supervisor; after one that is followed by a restart it touches nothing,
 * since the workers are to be taken over.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../base/exitCodes.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import type { ServiceScope } from '../state/servicePlan.ts';

/** What systemd tells about the end (systemd.exec(5), $SERVICE_RESULT). */
export interface StopFacts {
  SERVICE_RESULT?: string | undefined;
  EXIT_CODE?: string | undefined;
  EXIT_STATUS?: string | undefined;
}

/** Codes after which systemd does not start the supervisor again (RestartPreventExitStatus=). */
const FINAL: ReadonlySet<string> = new Set([String(exitCodes.ok), String(exitCodes.config)]);

/**
 * Is nothing going to take the workers over? `stopJob`: systemd works on a stop or restart that somebody
 * asked for; undefined = it did not say, and then a stop that ran out of time is taken for one.
 */
export function isTrueStop({ SERVICE_RESULT, EXIT_CODE, EXIT_STATUS }: StopFacts, stopJob: boolean | undefined): boolean {
  if (stopJob ?? SERVICE_RESULT === 'timeout') return true;
  return EXIT_CODE === 'exited' && FINAL.has(EXIT_STATUS ?? '');
}

/** Answers how many processes had to be ended. */
export async function sweepAfterStop(unit: string, scope: ServiceScope, env: NodeJS.ProcessEnv = process.env): Promise<number> {
  if (!isTrueStop(env, hasStopJob(unit, scope))) return 0;
  const dir = unitCgroup(unit);
  if (dir === undefined) return 0;
  const left = strangersIn(dir);
  signalAll(left, 'SIGTERM');
  const deadlineMs = performance.now() + limits.service.sweepTermMs;
  while (strangersIn(dir).length > 0 && performance.now() < deadlineMs) await sleep(20);
  // New ones may be born while the old are killed: until none is seen.
  for (let rounds = 0; rounds < 50 && strangersIn(dir).length > 0; rounds++) {
    signalAll(strangersIn(dir), 'SIGKILL');
    await sleep(20);
  }
  return left.length;
}

function hasStopJob(unit: string, scope: ServiceScope): boolean | undefined {
  try {
    const args = [...(scope === 'user' ? ['--user'] : []), 'show', '--property=Job', '--value', unit];
    const job = execFileSync('systemctl', args, {
      encoding: 'utf8',
      timeout: limits.service.commandMs,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(job.trim() || 0) !== 0;
  } catch {
    return undefined;
  }
}

/** Our own cgroup up to the unit's name; systemd puts this very process below it. */
function unitCgroup(unit: string): string | undefined {
  const rows = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  for (const [mount, prefix] of [
    ['/sys/fs/cgroup', '0::'],
    ['/sys/fs/cgroup/unified', '0::'],
    ['/sys/fs/cgroup/systemd', '1:name=systemd:'],
  ] as const) {
    const path = rows.find((row) => row.startsWith(prefix))?.slice(prefix.length);
    const end = path?.indexOf(`/${unit}`) ?? -1;
    if (path === undefined || end < 0) continue;
    const dir = join(mount, path.slice(0, end + unit.length + 1));
    if (processesIn(dir).length > 0 || directories(dir).length > 0) return dir;
  }
  return undefined;
}

const strangersIn = (dir: string): number[] => processesIn(dir).filter((pid) => pid !== process.pid);

/** Of the whole subtree. */
function processesIn(dir: string): number[] {
  let own: number[] = [];
  try {
    own = readFileSync(join(dir, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // removed between the listing and the look, or a threaded group
  }
  return [...own, ...directories(dir).flatMap((name) => processesIn(join(dir, name)))];
}

function directories(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // gone, or of another user: then the kernel has the last word
    }
  }
}
