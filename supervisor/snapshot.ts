/** `run/status.json` and `supervisor.status`: one composition for both, written whole at each change. */
import { messageOf } from '../base/errors.ts';
import { z } from '../base/lazyZod.ts';
import { limits } from '../base/limits.ts';
import { WaitingWork } from '../ipc/contracts/peer.ts';
import type { Status, WorkerStatus } from '../ipc/contracts/supervisor.ts';
import type { Home } from '../state/home.ts';
import { readPause } from '../state/pause.ts';
import type { ProcessIdentity } from '../state/processIdentity.ts';
import { installedCode, type Release } from '../state/release.ts';
import { dashboardStart } from '../state/startedWith.ts';
import { OwnFile, unwritable } from './ownFile.ts';
import type { Problems } from './problems.ts';
import type { SlotRunner } from './slotRunner.ts';

/** What was last measured of a running slot. */
export interface Sample {
  rssBytes: number;
  cpuPercent: number;
  fds?: number | null;
  leakBytesPerHour?: number | null;
}

export interface StatusParts {
  home: Home;
  release: Release;
  managedBy: Status['supervisor']['managed_by'];
  demo: boolean;
  startedAt: string;
  /** Of the supervisor itself. */
  identity: ProcessIdentity;
  /** How many workers were taken over from an earlier supervisor. */
  adopted: number;
  problems: Status['problems'];
  slots: ReadonlyMap<string, SlotRunner>;
  sample: (slot: string) => Sample | undefined;
}

export function composeStatus({ home, release, identity, slots, ...parts }: StatusParts): Status {
  const pause = readPause(home);
  const dashboard = slots.get('dashboard');
  const address = dashboard?.facts.address;
  const runners = [...slots.values()];
  return {
    supervisor: {
      pid: identity.pid,
      version: release.version,
      code: release.code,
      started_at: parts.startedAt,
      home: home.root,
      managed_by: parts.managedBy,
      adopted: parts.adopted,
      start_time: identity.start_time,
      boot_id: identity.boot_id,
      dashboard: typeof address === 'string' ? address : null,
      demo: parts.demo,
      ...(dashboard ? { dashboard_start: dashboardStart(dashboard.spec.env) } : {}),
    },
    paused: pause
      ? {
          path: pause.path,
          reason: pause.reason,
          engaged_at: pause.engaged_at,
          expires_at: pause.expires_at,
          scope: pause.scope,
          held: heldBy(runners),
        }
      : null,
    problems: [...parts.problems, ...runners.flatMap(reportedBy), ...outdated(runners, release.code)],
    workers: runners.map((runner) => workerStatus(runner, parts.sample(runner.spec.slot))),
    at: new Date().toISOString(),
  };
}

/** What a worker that runs reports of its own stores and files. */
function reportedBy({ facts }: SlotRunner): Status['problems'] {
  const problems = Array.isArray(facts.problems) ? (facts.problems as unknown[]) : [];
  return problems.flatMap((problem) => {
    const { what, fix } = (problem ?? {}) as Record<string, unknown>;
    return typeof what === 'string' && typeof fix === 'string' ? [{ what, fix }] : [];
  });
}

/** Contract §6: what was held is counted; those that hold it say how much. */
const heldBy = (runners: readonly SlotRunner[]): number =>
  runners.reduce((total, { facts }) => total + (typeof facts.held === 'number' ? facts.held : 0), 0);

/** Accepted work that a ready worker keeps for another slot, as it reports it. */
function waitingOf({ state, facts }: SlotRunner): Pick<WorkerStatus, 'waiting'> {
  const waiting = z.array(WaitingWork).safeParse(state === 'ready' ? facts.waiting : []);
  return waiting.success && waiting.data.length > 0 ? { waiting: waiting.data } : {};
}

function workerStatus(runner: SlotRunner, sample: Sample | undefined): WorkerStatus {
  const { spec, incarnation } = runner;
  return {
    slot: spec.slot,
    profile: spec.profile,
    kind: spec.kind,
    desired: runner.desired,
    state: runner.state,
    pid: incarnation?.pid ?? null,
    since: new Date(runner.sinceMs).toISOString(),
    ready_ms: runner.readyMs,
    restarts: runner.restarts,
    code: incarnation?.record.code ?? null,
    rss_bytes: sample?.rssBytes ?? null,
    cpu_percent: sample?.cpuPercent ?? null,
    lag_ms: incarnation?.lagMs ?? null,
    fds: sample?.fds ?? null,
    leak_bytes_per_hour: sample?.leakBytesPerHour ?? null,
    liveness: runner.state === 'ready' ? runner.liveness : null,
    ...(runner.linesDropped > 0 ? { log_lines_dropped: runner.linesDropped } : {}),
    ...waitingOf(runner),
    adopted: incarnation?.adopted ?? false,
    reason: runner.reason,
    next_start_at: runner.nextStartAtMs === null ? null : new Date(runner.nextStartAtMs).toISOString(),
    ...(runner.shortage ? { shortage: runner.shortage } : {}),
    last_exit: runner.lastExit,
  };
}

/** Workers that run other code than the supervisor: left from an earlier release, or started from a newer one. */
function outdated(runners: Iterable<SlotRunner>, code: string): Status['problems'] {
  const others = [...runners].flatMap(({ spec, incarnation }) =>
    spec.kind === 'worker' && incarnation && incarnation.record.code !== code ? [{ slot: spec.slot, code: incarnation.record.code }] : [],
  );
  const installed = others.length > 0 ? installedCode() : code;
  return others.map((worker) => ({
    what: `${worker.slot} runs the code of another release (${worker.code}) than the supervisor (${code})`,
    fix:
      worker.code === installed && installed !== code ? '`agent restart supervisor`: it is the older one' : `agent restart ${worker.slot}`,
  }));
}

/**
 * Writes a moment after a change, once for all changes until then: a process that was just started gets the
 * processor first, and 200 slots that stop at once are not 200 files; `slow` makes that moment longer, on the way down.
 * The end writes a last one.
 * A full disk costs the snapshot, not the service; it is a problem that the supervisor tells whoever asks it.
 */
export function createSnapshotWriter(
  path: string,
  compose: () => Status,
  problems: Problems,
): { soon(): void; now(): void; slow(): void; check(): void } & Disposable {
  const file = new OwnFile(path);
  let closed = false;
  let afterMs: number = limits.supervisor.writeAfterMs;
  let scheduled: NodeJS.Timeout | undefined;
  // Compact: `agent status` reads it at each call.
  const write = () => file.write(`${JSON.stringify(compose())}\n`);
  const now = () => {
    clearTimeout(scheduled);
    scheduled = undefined;
    try {
      write();
      // The one that could be written again still complained of the one that could not.
      if (problems.delete('snapshot')) write();
    } catch (thrown) {
      problems.set('snapshot', `status.json was not written: ${messageOf(thrown)}`, unwritable(path));
    }
  };
  return {
    now,
    soon() {
      if (!closed) scheduled ??= setTimeout(now, afterMs);
    },
    slow() {
      afterMs = limits.supervisor.downWriteAfterMs;
    },
    // At every pulse: somebody damaged or removed it, or it could not be written.
    check() {
      if (!closed && file.isAmiss) now();
    },
    [Symbol.dispose]() {
      now();
      closed = true;
    },
  };
}
