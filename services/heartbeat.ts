/**
 * What a worker does at each heartbeat: it tells the supervisor that it lives and what it does, checks that it can
 * still open files, puts its socket back when it is gone, and runs what its service has asked for.
 */
import { closeSync, openSync } from 'node:fs';
import { errnoOf, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields } from '../base/log.ts';
import { untilBeatMs } from '../base/time.ts';
import { heartbeat } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import { recordClocks } from '../state/confirmedTime.ts';
import type { Life, WorkerService } from './worker.ts';

/**
 * Beats at the same moments in every worker, so that the supervisor wakes once for all of them.
 * Answers how to stop.
 */
export function startHeartbeat(life: Life, link: Link, service: WorkerService, everyMs: number): () => void {
  let timer: NodeJS.Timeout;
  let before = performance.eventLoopUtilization();
  const arm = () => {
    const waitMs = untilBeatMs(Date.now(), everyMs);
    const expectedAt = performance.now() + waitMs;
    timer = setTimeout(() => {
      life.lagMs = Math.max(0, Math.round(performance.now() - expectedAt));
      const { utilization } = performance.eventLoopUtilization(before);
      before = performance.eventLoopUtilization();
      const active = service.active();
      link.notify(heartbeat, {
        active: active.length,
        units: active.slice(0, limits.worker.unitsMax).map((name) => name.slice(0, limits.worker.unitNameMaxChars)),
        lag_ms: life.lagMs,
        progress: life.steps + (service.steps?.() ?? 0),
        utilization: Math.round(utilization * 1_000) / 1_000,
        descriptors_used_up: lacksDescriptors(life),
      });
      beat(life);
      arm();
    }, waitMs).unref();
  };
  arm();
  return () => clearTimeout(timer);
}

/** Without a supervisor this worker also notes the clocks. */
export function beatAlone(life: Life): void {
  const { context } = life;
  let recordAt = 0;
  const record = () => {
    if (performance.now() < recordAt) return;
    recordAt = performance.now() + limits.state.clockRecordMs;
    try {
      recordClocks(context.home);
    } catch (thrown) {
      context.log.error('the clocks could not be noted', errorFields(thrown));
    }
  };
  record();
  setInterval(() => {
    record();
    lacksDescriptors(life);
    beat(life);
  }, limits.worker.heartbeatMs).unref();
}

function beat(life: Life): void {
  void mendSocket(life);
  for (const work of life.beats) work();
}

/**
 * Tried, because nothing else shows it: without a free descriptor the system accepts a connection and closes it again
 * before this process hears of it.
 */
function lacksDescriptors({ context }: Life): boolean {
  const isShort = !canOpen();
  context.reportProblem(
    'descriptors',
    isShort
      ? {
          what: `${context.slot} has no free file descriptor: it refuses connections and cannot open files`,
          fix: 'close clients, or raise the limit (LimitNOFILE= in the unit, ulimit -n in a shell) and `agent down`, `agent up`',
        }
      : null,
  );
  return isShort;
}

function canOpen(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return true;
  } catch (thrown) {
    return !['EMFILE', 'ENFILE'].includes(errnoOf(thrown) ?? '');
  }
}

/** Something may have removed files from `run/`: the socket is made again at the next beat. */
async function mendSocket({ server, context }: Life): Promise<void> {
  try {
    if (await server?.mend()) context.log.warn('the socket of this worker was gone; it is there again');
  } catch (thrown) {
    context.log.error(`the socket of this worker is gone and cannot be made again: ${messageOf(thrown)}`);
  }
}
