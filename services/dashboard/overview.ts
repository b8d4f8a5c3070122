/**
 * What the service looks like right now: asked of the supervisor, at most twice a second however many
 * tabs look, and read from its last snapshot when it does not answer.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { createClient, type Client } from '../../ipc/client.ts';
import { Status, status } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import { readJson } from '../../state/atomicFile.ts';
import type { WorkerContext } from '../worker.ts';

export interface Seen {
  status: Status;
  /** False: from the snapshot on disk, because no supervisor answers. */
  live: boolean;
}

export interface Overview extends Disposable {
  /** The supervisor itself, for commands. Errors: PEER_UNREACHABLE. */
  supervisor: Client;
  /** Errors: NO_SUPERVISOR when there is not even a snapshot. */
  read(): Promise<Seen>;
  /** The next `read` asks afresh. */
  forget(): void;
  /** Rises with each `forget`. */
  readonly generation: number;
}

export function createOverview({ home, token, slot, release, signal: leaving }: WorkerContext): Overview {
  const supervisor = createClient((signal) =>
    dial(home.run.supervisorSocket, { token, slot, code: release.code, signal: signal ? AbortSignal.any([signal, leaving]) : leaving }),
  );
  let generation = 0;
  let cached: { value: Promise<Seen>; atMs: number } | undefined;

  const ask = async (): Promise<Seen> => {
    try {
      return { status: await supervisor.call(status, {}, { timeoutMs: limits.dashboard.statusMs }), live: true };
    } catch (cause) {
      const snapshot = readSnapshot(home.run.status);
      if (snapshot) return { status: snapshot, live: false };
      throw new AgentError('NO_SUPERVISOR', 'no supervisor answers and it left no snapshot', {
        cause,
        fix: 'start the service with `agent up`',
      });
    }
  };
  return {
    supervisor,
    read() {
      const nowMs = performance.now();
      if (!cached || nowMs - cached.atMs > limits.dashboard.statusCacheMs) cached = { value: ask(), atMs: nowMs };
      return cached.value;
    },
    forget() {
      cached = undefined;
      generation += 1;
    },
    get generation() {
      return generation;
    },
    [Symbol.dispose]: () => supervisor[Symbol.dispose](),
  };
}

function readSnapshot(path: string): Status | undefined {
  try {
    return Status.safeParse(readJson(path)).data;
  } catch {
    return undefined;
  }
}
