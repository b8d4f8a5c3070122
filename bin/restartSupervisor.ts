/** `agent restart supervisor`: the supervisor alone starts again; its workers run on and are adopted. */
import { AgentError, isAgentError } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { limits } from '../base/limits.ts';
import { formatDuration, sleep } from '../base/time.ts';
import { restartSupervisor as restartMethod, waitReady, type Receipt, type Status } from '../ipc/contracts/supervisor.ts';
import { openHome, type Home } from '../state/home.ts';
import type { Input } from './command.ts';
import { dialSupervisor, withSupervisor } from './connect.ts';
import { withProgress } from './progress.ts';
import { print, printJson } from './terminal.ts';

/** Errors: NO_SUPERVISOR, RESTART_REFUSED, PACKAGE_INCOMPLETE, DISK_FULL, START_FAILED. */
export async function restartSupervisor({ json }: Input): Promise<number> {
  const home = openHome();
  const { pid } = await withSupervisor(home, (link) => link.call(restartMethod, { actor: 'cli' }));
  const sinceMs = performance.now();
  const next = await withProgress('restarting the supervisor', () => nextSupervisor(home, pid, sinceMs));
  const downtime_ms = Math.round(performance.now() - sinceMs);
  const { supervisor } = next;
  const receipt: Receipt = {
    slot: 'supervisor',
    action: 'restart',
    cause: 'agent restart',
    actor: 'cli',
    old_pid: pid,
    new_pid: supervisor.pid,
    ok: true,
    ready_ms: null,
    downtime_ms,
    drained_ms: null,
    interrupted_turns: 0,
    at: new Date().toISOString(),
  };
  const { adopted } = supervisor;
  if (json) printJson(receipt);
  else {
    const workers = `${adopted} worker${adopted === 1 ? '' : 's'} adopted`;
    print(`supervisor restarted (process ${pid} → ${supervisor.pid}): ${workers}, unavailable for ${formatDuration(downtime_ms)}.`);
  }
  return exitCodes.ok;
}

/** Its status once every wanted slot is ready again or failed. Errors: START_FAILED. */
async function nextSupervisor(home: Home, oldPid: number, sinceMs: number): Promise<Status> {
  for (;;) {
    try {
      using link = await dialSupervisor(home);
      if (link.peer.pid !== oldPid) return (await link.call(waitReady, {})).status;
    } catch (thrown) {
      if (!isAgentError(thrown) || !absent.has(thrown.code)) throw thrown;
    }
    if (performance.now() - sinceMs > limits.supervisor.upMs) {
      throw new AgentError('START_FAILED', 'the supervisor ended and did not come back; the workers run on', {
        fix: '`agent up` starts it; `agent logs supervisor` shows why it did not start',
      });
    }
    await sleep(limits.supervisor.endLookMs);
  }
}

const absent: ReadonlySet<string> = new Set(['NO_SUPERVISOR', 'PEER_GONE', 'DRAINING']);
