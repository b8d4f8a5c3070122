/**
 * The tools of a turn: the engine's own, given this worker's directory, environment and peers, and those
 * of MCP servers. Which of them the session may use is agent/tools/policy.ts; in which order, the pin.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve, sep } from 'node:path';
import { dangerOfCommand } from '../../agent/approvals/commandLine.ts';
import { cronjobTool } from '../../agent/tools/cronjob.ts';
import { foreignTool } from '../../agent/tools/foreign.ts';
import { clarifyTool } from '../../agent/tools/clarify.ts';
import { memoryTool, type StageEdit } from '../../agent/tools/memory.ts';
import { decideTools, pinnedOrder, type Verdict } from '../../agent/tools/policy.ts';
import { readFileTool } from '../../agent/tools/readFile.ts';
import type { Tool } from '../../agent/tools/registry.ts';
import { sessionSearchTool } from '../../agent/tools/sessionSearch.ts';
import { terminalTool } from '../../agent/tools/terminal.ts';
import type { CronJobRow, CronJobs, ForeignTools, MemoryStore, Owner, ProcessGroups, SessionSearch, ToolSpec } from '../../agent/ports.ts';
import { filterEnv } from '../../base/envFilter.ts';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { within } from '../../base/time.ts';
import { isTransport } from '../../ipc/client.ts';
import { createJob, listJobs, removeJob, type Job } from '../../ipc/contracts/cron.ts';
import { callTool, listTools } from '../../ipc/contracts/mcp.ts';
import type { Method } from '../../ipc/method.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import type { Home } from '../../state/home.ts';
import { commonEnv } from '../manifest.ts';
import type { WorkerContext } from '../worker.ts';
import type { StagedWrites } from './stagedWrites.ts';
import type { SessionRecord } from './store.ts';

export interface ToolboxRequest {
  session: SessionRecord;
  surface: string;
  scripted: boolean;
  /** Who is asked. */
  owner: Owner;
  signal: AbortSignal;
}

export interface Toolbox {
  forTurn(request: ToolboxRequest): Promise<Verdict>;
  memory: MemoryStore;
}

export function createToolbox(
  context: WorkerContext,
  { groups, memory, staged, search }: { groups: ProcessGroups; memory: MemoryStore; staged: StagedWrites; search: SessionSearch },
): Toolbox {
  const jobs = cronJobs(context);
  const foreign = mcpTools(context);
  const env = { ...filterEnv(process.env, commonEnv), TERM: 'dumb', PAGER: 'cat' };
  // The supervisor and this worker; other workers have names that the rules know.
  const guarded = { home: homedir(), agentHome: context.home.root, pids: [process.pid, process.ppid] };
  const isSecret = secretFiles(context.home);
  const stageEdit = (session: SessionRecord): StageEdit | undefined =>
    context.config().config.memory?.write_approval
      ? (edit) => void staged.stage({ kind: 'memory', edit, sessionId: session.id })
      : undefined;
  const own = (session: SessionRecord, owner: Owner): Tool[] => [
    terminalTool({
      cwd: session.cwd,
      env,
      groups,
      danger: (command, cwd) => dangerOfCommand(command, { ...guarded, cwd: resolve(session.cwd, cwd) }),
    }),
    readFileTool({ cwd: session.cwd, isSecret }),
    memoryTool(memory, stageEdit(session)),
    clarifyTool(owner),
    cronjobTool(jobs, originOf(session)),
    sessionSearchTool(search, session.id),
  ];
  return {
    memory,
    async forTurn({ session, surface, scripted, owner, signal }) {
      const { config } = context.config();
      const servers = await foreign.list(signal);
      const tools = [...own(session, owner), ...servers.map((spec) => foreignTool(spec, foreign))];
      const verdict = decideTools(tools, {
        surface,
        platform: session.platform ?? undefined,
        scripted,
        disabled: config.agent?.disabled_toolsets,
        platformToolsets: config.platform_toolsets,
      });
      const pinned = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
      return { ...verdict, allowed: pinnedOrder(verdict.allowed, pinned) };
    },
  };
}

/** Delivery target of the chat a keyed session belongs to: `agent:<profile>:<platform>:<type>:<chat>`. */
export function originOf({ session_key }: Pick<SessionRecord, 'session_key'>): string | null {
  const match = /^agent:[^:]+:([^:]+):[^:]+:(.+)$/.exec(session_key ?? '');
  return match ? `${match[1]}:${match[2]}` : null;
}

/** Files below the home that hold secrets, of every profile. */
function secretFiles(home: Home): (realPath: string) => boolean {
  const inside = (dir: string, path: string) => path === dir || path.startsWith(dir + sep);
  return (path) =>
    (inside(home.root, path) && (['.env', 'auth.json'].includes(basename(path)) || path.split(sep).includes('mcp-tokens'))) ||
    path === home.run.token ||
    inside(join(home.root, 'backups'), path);
}

// --- memory ---

export function memoryFiles(dir: string): MemoryStore {
  const pathOf = (target: 'memory' | 'user') => join(dir, target === 'memory' ? 'MEMORY.md' : 'USER.md');
  return {
    read(target) {
      try {
        return readFileSync(pathOf(target), 'utf8');
      } catch (thrown) {
        if (errnoOf(thrown) === 'ENOENT') return '';
        throw thrown;
      }
    },
    write(target, text) {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileAtomic(pathOf(target), text);
    },
  };
}

// --- cron worker ---

function cronJobs(context: WorkerContext): CronJobs {
  const cron = context.peer('cron');
  const ask = <P, R, I>(method: Method<P, R, I>, params: I, signal: AbortSignal): Promise<R> =>
    cron.call(method, params, { signal }).catch((thrown: unknown) => {
      if (!isTransport(thrown)) throw thrown;
      throw new AgentError('PEER_UNREACHABLE', 'the cron worker does not answer', {
        cause: thrown,
        fix: 'agent status shows why; agent start cron',
      });
    });
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
      const { job } = await ask(createJob, { schedule, prompt, deliver, ...(name ? { name } : {}), ...(repeat ? { repeat } : {}) }, signal);
      return row(job);
    },
    list: async (signal) => (await ask(listJobs, {}, signal)).jobs.map(row),
    remove: async (id, signal) => row((await ask(removeJob, { job_id: id }, signal)).job),
  };
}

// --- MCP broker ---

/** Asked only when servers are configured, so that the broker is not started for nothing; a turn never fails over it. */
function mcpTools(context: WorkerContext): ForeignTools {
  const profile = context.profile;
  type Specs = (ToolSpec & { server: string })[];
  let asking: Promise<Specs> | undefined;
  let patienceMs: number = limits.turn.mcpListMs;

  const ask = async (): Promise<Specs> => {
    const { tools } = await context.peer('mcp').call(listTools, { profile });
    return tools.map(({ name, server, description, input_schema }) => ({ name, server, description, parameters: input_schema }));
  };
  return {
    async list(signal) {
      if (Object.keys(context.config().config.mcp_servers ?? {}).length === 0) return [];
      asking ??= ask().finally(() => (asking = undefined));
      try {
        const specs = await within(asking, { ms: patienceMs, signal, what: 'listing MCP tools' });
        patienceMs = limits.turn.mcpListMs;
        return specs;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // The next turns wait only briefly for a broker that has kept one waiting.
        patienceMs = 500;
        context.log.warn(`no MCP tools for this turn: ${messageOf(thrown)}`);
        return [];
      }
    },
    async call(name, args, signal) {
      const { text, structured, is_error } = await context.peer('mcp').call(callTool, { name, args, profile }, { signal });
      return { text, data: structured ?? { text }, isError: is_error };
    },
  };
}
