/** Tools that are other workers' work: scheduled jobs (cron), messages (gateway), MCP servers (broker). */
import type { CronJobRow, CronJobs, ForeignTools, ForeignToolSpec, MessageSender, ToolResult } from '../../../agent/ports.ts';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { within } from '../../../base/time.ts';
import { isTransport } from '../../../ipc/client.ts';
import { createJob, listJobs, removeJob, type Job } from '../../../ipc/contracts/cron.ts';
import { enqueueDelivery } from '../../../ipc/contracts/gateway.ts';
import { callTool, listServers, listTools, reload, type ServerState } from '../../../ipc/contracts/mcp.ts';
import type { Method } from '../../../ipc/method.ts';
import type { WorkerContext } from '../../worker.ts';
import { storeImages } from '../attachments.ts';

interface Asking {
  signal: AbortSignal;
  timeoutMs?: number;
  /** The call is safe to repeat for this long. */
  repeatForMs?: number;
}

/** Calls of one peer; one that cannot be reached says which, and what to do. */
function peerOf(context: WorkerContext, slot: string) {
  return async <P, R, I>(method: Method<P, R, I>, params: I, { signal, timeoutMs, repeatForMs }: Asking): Promise<R> => {
    try {
      const call = context.peer(slot).call(method, params, { signal, ...(repeatForMs === undefined ? {} : { repeatForMs }) });
      return await (timeoutMs === undefined ? call : within(call, { ms: timeoutMs, signal, what: `the answer of ${slot}` }));
    } catch (thrown) {
      if (!isTransport(thrown)) throw thrown;
      throw new AgentError('PEER_UNREACHABLE', `the ${slot} worker does not answer`, {
        cause: thrown,
        fix: `agent status shows why; agent start ${slot}`,
      });
    }
  };
}

/** `createdBy`: sees and changes only what this principal made; null = the owner. */
export function cronJobs(context: WorkerContext, createdBy: string | null): CronJobs {
  const { profile } = context;
  const ask = peerOf(context, 'cron');
  const row = ({ id, name, schedule, prompt, deliver, state, next_run_at }: Job): CronJobRow => ({
    id,
    name,
    schedule: schedule.display,
    prompt,
    deliver,
    state,
    next_run_at,
  });
  return {
    async create({ schedule, prompt, name, deliver, repeat }, signal) {
      const { job } = await ask(
        createJob,
        { schedule, prompt, deliver, ...(name ? { name } : {}), ...(repeat ? { repeat } : {}), profile, created_by: createdBy },
        { signal },
      );
      return row(job);
    },
    list: async (signal) => (await ask(listJobs, { profile, created_by: createdBy }, { signal })).jobs.map(row),
    remove: async (id, signal) => row((await ask(removeJob, { job_id: id, profile, created_by: createdBy }, { signal })).job),
  };
}

/** The same key is stored once, so a call that was cut may be repeated. */
export function messageSender(context: WorkerContext): MessageSender {
  const ask = peerOf(context, context.profile === 'default' ? 'gateway' : `gateway@${context.profile}`);
  return {
    async send({ to, text, key }, signal) {
      const params = { target: to, text, idempotency_key: key, origin: 'agent' };
      const { delivery_id, status } = await ask(enqueueDelivery, params, {
        signal,
        timeoutMs: limits.tools.messageMs,
        repeatForMs: limits.tools.messageMs / 2,
      });
      return { id: String(delivery_id), state: status };
    },
  };
}

export interface McpTools extends ForeignTools {
  /** Names of the last list that a turn got; undefined = none has asked yet. */
  known(): string[] | undefined;
  /** Reads config.yaml and asks every server afresh. Errors: PEER_UNREACHABLE. */
  reload(signal: AbortSignal): Promise<{ names: string[]; servers: ServerState[] }>;
}

const isImage = (block: unknown): block is { data: string } => {
  const { type, data } = (block ?? {}) as { type?: unknown; data?: unknown };
  return type === 'image' && typeof data === 'string';
};

/** The call was made: a picture that cannot be stored is left out, and the result says so. */
function keepImages(
  context: WorkerContext,
  name: string,
  images: readonly { data: string }[],
): { files: NonNullable<ToolResult['files']>; note: string } {
  try {
    const files = storeImages(context, name, images).map(({ media_type, ...file }) => ({ ...file, mediaType: media_type }));
    return { files, note: '' };
  } catch (thrown) {
    context.log.warn(`pictures of ${name} could not be stored: ${messageOf(thrown)}`);
    return { files: [], note: `[The pictures of this result were left out: they could not be stored: ${messageOf(thrown)}]` };
  }
}

/** Asked only when servers are configured, so that the broker is not started for nothing; a turn never fails over it. */
export function mcpTools(context: WorkerContext): McpTools {
  const profile = context.profile;
  const peer = peerOf(context, 'mcp');
  const isConfigured = () => Object.keys(context.config().config.mcp_servers ?? {}).length > 0;
  let known: string[] | undefined;
  let asking: Promise<ForeignToolSpec[]> | undefined;
  let patienceMs: number = limits.turn.mcpListMs;

  const ask = async (): Promise<ForeignToolSpec[]> => {
    const { tools, instructions } = await context.peer('mcp').call(listTools, { profile });
    const said = new Map(instructions.map(({ server, text }) => [server, text]));
    known = tools.map(({ name }) => name);
    return tools.map(({ name, server, description, input_schema, read_only, destructive, trust }) => ({
      name,
      server,
      description,
      parameters: input_schema,
      hints: { readOnly: read_only, destructive },
      instructions: said.get(server),
      trust: trust ?? undefined,
    }));
  };
  return {
    known: () => known,
    async reload(signal) {
      if (!isConfigured() && !known?.length) return { names: [], servers: [] };
      await peer(reload, {}, { signal });
      const { tools } = await peer(listTools, { profile }, { signal });
      const { servers } = await peer(listServers, { profile }, { signal });
      known = tools.map(({ name }) => name);
      return { names: known, servers };
    },
    async list(signal) {
      if (!isConfigured()) return { tools: [] };
      asking ??= ask().finally(() => (asking = undefined));
      try {
        const tools = await within(asking, { ms: patienceMs, signal, what: 'listing MCP tools' });
        patienceMs = limits.turn.mcpListMs;
        return { tools };
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // The next turns wait only briefly for a broker that has kept one waiting.
        patienceMs = 500;
        const problem = messageOf(thrown);
        context.log.warn(`no MCP tools for this turn: ${problem}`);
        return { tools: [], problem };
      }
    },
    async call(name, args, signal) {
      const { text, content, structured, is_error } = await context.peer('mcp').call(callTool, { name, args, profile }, { signal });
      const { files, note } = keepImages(context, name, content.filter(isImage));
      const shown = [text, note].filter(Boolean).join('\n');
      return { text: shown, data: structured ?? { text: shown }, isError: is_error, ...(files.length > 0 ? { files } : {}) };
    },
  };
}
