/** `GET /api/workers`: the whole table. `GET /api/workers/:slot/resources?since_ms=`: its history. `POST /api/workers/:slot/restart|start|stop`: the supervisor's receipt. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isTransport } from '../../../ipc/client.ts';
import { resources, restartSlot, startSlot, stopSlot } from '../../../ipc/contracts/supervisor.ts';
import type { Dashboard } from '../http.ts';
import { parseRequest } from '../problem.ts';

const commands = { restart: restartSlot, start: startSlot, stop: stopSlot } as const;

const Slot = z.object({ slot: z.string().max(100) });
const Since = z.object({
  since_ms: z.coerce
    .number()
    .int()
    .min(0)
    .max(7 * 86_400_000)
    .default(3_600_000),
});
const Params = z.object({ slot: z.string().max(100), action: z.enum(['restart', 'start', 'stop']) });
const Body = z.strictObject({ drain: z.boolean().optional() });

/** A drain of a busy agent, its end, and its start-up: what a slot command may take. */
const commandMs = limits.worker.drainBusyMs + limits.worker.termMs + limits.worker.killMs + limits.worker.startupMs;

export function addWorkerRoutes(app: FastifyInstance, { context, overview }: Dashboard): void {
  app.get('/api/workers', async () => {
    const { status, live } = await overview.read();
    return { ...status, live };
  });

  app.get('/api/workers/:slot/resources', async (request) => {
    const { slot } = parseRequest(Slot, request.params);
    const { since_ms } = parseRequest(Since, request.query);
    return overview.supervisor.call(resources, { slot, since_ms }).catch((thrown: unknown) => {
      throw isTransport(thrown) ? noSupervisor(thrown) : thrown;
    });
  });

  app.post('/api/workers/:slot/:action', async (request, reply) => {
    const { slot, action } = parseRequest(Params, request.params);
    const { drain = true } = parseRequest(Body, request.body);
    const cause = 'asked for in the dashboard';
    const sent = overview.supervisor
      .call(commands[action], { slot, drain, actor: 'dashboard', cause }, { timeoutMs: commandMs })
      .catch((thrown: unknown) => {
        throw isTransport(thrown) ? noSupervisor(thrown) : thrown;
      });
    context.log.info(`${action} of ${slot} asked for`, { from: request.ip });
    if (slot === context.slot && action !== 'start') {
      // This process is what ends: the receipt reaches nobody, the page sees the result when it is back.
      sent.catch(() => {});
      return reply.status(202).send({ accepted: true, slot, action });
    }
    try {
      return await sent;
    } finally {
      overview.forget();
    }
  });
}

function noSupervisor(cause: unknown): AgentError {
  return new AgentError('NO_SUPERVISOR', 'no supervisor answers', { cause, fix: 'start it with `agent up`' });
}
