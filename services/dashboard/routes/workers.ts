/** The processes of the service: asked of the supervisor, which owns them. */
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isTransport } from '../../../ipc/client.ts';
import { listWorkers, restartWorker, startWorker, stopWorker, workerResources } from '../../../ipc/contracts/http/workers.ts';
import { resources, restartSlot, startSlot, stopSlot, type Receipt } from '../../../ipc/contracts/supervisor.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler, type RouteInput } from '../route.ts';

const commands = { restart: restartSlot, start: startSlot, stop: stopSlot } as const;
type Action = keyof typeof commands;
type Accepted = { accepted: true; slot: string; action: string };

/** A drain of a busy agent, its end, and its start-up: what a slot command may take. */
export const commandMs = limits.worker.drainBusyMs + limits.worker.termMs + limits.worker.killMs + limits.worker.startupMs;

export function workerRoutes(dashboard: Dashboard): HttpHandler[] {
  const { overview } = dashboard;
  return [
    on(listWorkers, async () => {
      const { status, live } = await overview.read();
      return { ...status, live };
    }),
    on(workerResources, ({ params: { slot }, query: { since_ms } }) =>
      overview.supervisor.call(resources, { slot, since_ms }).catch(noSupervisor),
    ),
    on(restartWorker, (input) => command(dashboard, 'restart', input)),
    on(startWorker, (input) => command(dashboard, 'start', input)),
    on(stopWorker, (input) => command(dashboard, 'stop', input)),
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

export function noSupervisor(thrown: unknown): never {
  if (!isTransport(thrown)) throw thrown;
  throw new AgentError('NO_SUPERVISOR', 'no supervisor answers', { cause: thrown, fix: 'start it with `agent up`' });
}
