/** The processes of the service: asked of the supervisor, which owns them. */
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isTransport } from '../../../ipc/client.ts';
import { explainSlot, readBoxes } from '../../../ipc/blackBoxes.ts';
import * as contract from '../../../ipc/contracts/http/workers.ts';
import {
  receipts,
  resources,
  restartSlot,
  startSlot,
  stopSlot,
  type Receipt,
  type WorkerStatus,
} from '../../../ipc/contracts/supervisor.ts';
import { logNameOf, logPath } from '../../../state/logs.ts';
import type { Dashboard } from '../http.ts';
import { tailLog } from '../logFile.ts';
import { pinnedProfile, slotsWithin } from '../pinned.ts';
import { on, type HttpHandler, type RouteInput } from '../route.ts';

const commands = { restart: restartSlot, start: startSlot, stop: stopSlot } as const;
type Action = keyof typeof commands;
type Accepted = { accepted: true; slot: string; action: string };

/** A drain of a busy agent, its end, and its start-up: what a slot command may take. */
export const commandMs = limits.worker.drainBusyMs + limits.worker.termMs + limits.worker.killMs + limits.worker.startupMs;

export function workerRoutes(dashboard: Dashboard): HttpHandler[] {
  const {
    context,
    context: { home },
  } = dashboard;
  const isMine = slotsWithin(pinnedProfile(context));
  const overview = {
    supervisor: dashboard.overview.supervisor,
    async read() {
      const { status, live } = await dashboard.overview.read();
      return { status: { ...status, workers: status.workers.filter(({ slot }) => isMine(slot)) }, live };
    },
  };
  const mine = <T extends { params: { slot: string } }>(input: T): T => {
    if (!isMine(input.params.slot)) throw unknownSlot(input.params.slot);
    return input;
  };
  return [
    on(contract.listWorkers, async () => {
      const { status, live } = await overview.read();
      return { ...status, live };
    }),
    on(contract.getWorker, async ({ params: { slot } }) => {
      const { status, live } = await overview.read();
      return { ...requireRow(status.workers, slot), live };
    }),
    on(contract.whyWorker, async (input) => {
      const {
        params: { slot },
        query: { last },
      } = mine(input);
      const seen = await overview.read().catch(() => undefined);
      const row = seen?.status.workers.find((worker) => worker.slot === slot);
      const boxes = readBoxes(home.crash, slot);
      if (!row && boxes.length === 0) throw unknownSlot(slot, seen?.status.workers);
      return explainSlot(slot, { row, boxes, watchedSince: seen?.status.supervisor.started_at }, last);
    }),
    on(contract.workerReceipts, async ({ params: { slot }, query: { limit } }) => {
      const { status } = await overview.read();
      requireRow(status.workers, slot);
      return overview.supervisor.call(receipts, { slot, limit }).catch(noSupervisor);
    }),
    on(contract.workerLogs, async ({ params: { slot }, query: { lines: count, level } }) => {
      const seen = await overview.read().catch(() => undefined);
      const row = requireRow(seen?.status.workers ?? [], slot);
      const file = logNameOf(slot);
      const { lines } = await tailLog(logPath(home.profile(row.profile), file), count, { level });
      return { file, lines };
    }),
    on(contract.workerResources, (input) => {
      const { slot } = mine(input).params;
      return overview.supervisor.call(resources, { slot, since_ms: input.query.since_ms }).catch(noSupervisor);
    }),
    on(contract.restartWorker, (input) => command(dashboard, 'restart', mine(input))),
    on(contract.startWorker, (input) => command(dashboard, 'start', mine(input))),
    on(contract.stopWorker, (input) => command(dashboard, 'stop', mine(input))),
  ];
}

async function command(
  { context, overview }: Dashboard,
  action: Action,
  { params: { slot }, body, request, reply }: RouteInput<{ slot: string }, unknown, { drain?: boolean | undefined }>,
): Promise<Receipt | Accepted> {
  const asked = { slot, drain: body.drain ?? true, actor: 'dashboard', cause: 'asked for in the dashboard' };
  const sent = overview.supervisor.call(commands[action], asked, { timeoutMs: commandMs }).catch(noSupervisor);
  context.log.info(`${action} of ${slot} asked for`, { from: request.ip });
  if (slot === context.slot && action !== 'start') {
    // This process is what ends: the receipt reaches nobody, the page sees the result when it is back.
    sent.catch(() => {});
    void reply.status(202);
    return { accepted: true, slot, action };
  }
  try {
    return await sent;
  } finally {
    overview.forget();
  }
}

/** Errors: UNKNOWN_SLOT. */
function requireRow(workers: readonly WorkerStatus[], slot: string): WorkerStatus {
  const row = workers.find((worker) => worker.slot === slot);
  if (!row) throw unknownSlot(slot, workers);
  return row;
}

function unknownSlot(slot: string, workers: readonly WorkerStatus[] = []): AgentError {
  const known = workers.map((worker) => worker.slot).join(', ');
  return new AgentError('UNKNOWN_SLOT', `there is no slot "${slot}"`, { fix: known ? `slots: ${known}` : 'start the service: agent up' });
}

export function noSupervisor(thrown: unknown): never {
  if (!isTransport(thrown)) throw thrown;
  throw new AgentError('NO_SUPERVISOR', 'no supervisor answers', { cause: thrown, fix: 'start it with `agent up`' });
}
