/**
 * The tools of a turn: the engine's own, given this worker's directory, environment and peers, and those
 * of MCP servers. Which of them the session may use is agent/tools/policy.ts; in which order, the pin.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { encodePrincipal, scopeOf } from '../../agent/authority/principal.ts';
import { dangerOfCommand } from '../../agent/approvals/commandLine.ts';
import { createArgumentCheck } from '../../agent/tools/argumentCheck.ts';
import { BackgroundProcesses, type BackgroundWatch } from '../../agent/tools/background.ts';
import { clarifyTool } from '../../agent/tools/clarify.ts';
import { cronjobTool } from '../../agent/tools/cronjob.ts';
import { delegateTaskTool } from '../../agent/tools/delegateTask.ts';
import { executeCodeTool, findInterpreters } from '../../agent/tools/executeCode.ts';
import type { FileHost } from '../../agent/tools/fileAccess.ts';
import { absolutePath } from '../../agent/tools/filePath.ts';
import { foreignTool, isForeignName } from '../../agent/tools/foreign.ts';
import { memoryTool, type StageEdit } from '../../agent/tools/memory.ts';
import { patchTool } from '../../agent/tools/patch.ts';
import { decideTools, messagesOriginOnly, pinnedOrder, type PolicyInput } from '../../agent/tools/policy.ts';
import { processTool } from '../../agent/tools/process.ts';
import { readFileTool } from '../../agent/tools/readFile.ts';
import type { SessionTools, Tool } from '../../agent/tools/registry.ts';
import { searchFilesTool } from '../../agent/tools/searchFiles.ts';
import { sendMessageTool } from '../../agent/tools/sendMessage.ts';
import { sessionSearchTool } from '../../agent/tools/sessionSearch.ts';
import { terminalTool } from '../../agent/tools/terminal.ts';
import { todoTool } from '../../agent/tools/todo.ts';
import { webExtractTool } from '../../agent/tools/webExtract.ts';
import { webSearchTool } from '../../agent/tools/webSearch.ts';
import { writeFileTool } from '../../agent/tools/writeFile.ts';
import type { Danger, ForeignToolSpec, MemoryStore, Owner, ProcessGroups, SessionSearch } from '../../agent/ports.ts';
import { errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import type { Home } from '../../state/home.ts';
import { inside, secretFiles, spellings } from '../../state/secretFiles.ts';
import type { ServerState } from '../../ipc/contracts/mcp.ts';
import type { WorkerContext } from '../worker.ts';
import { ForeignDefinitions } from './foreignDefinitions.ts';
import { memoriesOf, principalOfTurn } from './principal.ts';
import type { StagedWrites } from './stagedWrites.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord } from './store.ts';
import { blankSession } from './tools/blankSession.ts';
import { askedWithoutSandbox } from '../../agent/sandbox/withoutSandbox.ts';
import { workerSandbox } from './sandbox/sandbox.ts';
import { commandHost } from './tools/commandHost.ts';
import { CHILD_SOURCE, Delegations, type DelegateParts } from './tools/delegate.ts';
import { createOffload } from './tools/offload.ts';
import { cronJobs, mcpTools, messageSender } from './tools/peers.ts';
import { planStore } from './tools/plan.ts';
import { createWeb } from './tools/web.ts';

export interface ToolboxRequest {
  session: SessionRecord;
  surface: string;
  scripted: boolean;
  /** Who is asked; absent = only the list of tools is wanted. */
  owner?: Owner | undefined;
  /** Nobody can be asked in this turn, nor in those of its children. */
  unattended?: boolean | undefined;
  signal: AbortSignal;
}

export interface TurnTools extends SessionTools {
  allowed: Tool[];
  refused: Map<string, string>;
  /** What the user should know of these tools before the turn: one sentence each. */
  notices: string[];
  /** What the model is told of tools that are missing in this turn alone; null = none are. */
  unavailable: string | null;
  /** Model calls of one turn, where they are not those of the configuration. */
  iterationsMax?: number | undefined;
}

export interface Toolbox extends AsyncDisposable {
  forTurn(request: ToolboxRequest): Promise<TurnTools>;
  /** All that there are, with what the policy says of them. */
  survey(
    request: ToolboxRequest,
  ): Promise<{ tools: Tool[]; refused: Map<string, string>; foreign: ForeignToolSpec[]; problem?: string | undefined }>;
  /** Looks again for what makes a tool available: MCP servers, interpreters. Errors: PEER_UNREACHABLE. */
  reload(request: ToolboxRequest): Promise<ReloadedTools>;
  memory: MemoryStore;
  processes: BackgroundProcesses;
  /** Prompts of children that waited when the last worker ended leave the line. */
  abandonChildren(): void;
  /** Makes what the first turn would otherwise wait for: 10 ms of schemas (measured). */
  warm(): void;
}

export interface ReloadedTools {
  servers: ServerState[];
  /** How many tools they have; what came and went may be the agent's own as well. */
  foreign: number;
  added: string[];
  removed: string[];
}

export interface ToolboxParts {
  groups: ProcessGroups;
  memory: MemoryStore;
  staged: StagedWrites;
  search: SessionSearch;
  /** More tools of a session: skills. */
  tools(session: SessionRecord): Tool[];
  /** Added to the result of a tool that looked at a path: AGENTS.md of a subdirectory. */
  hint(session: SessionRecord, path: string): string;
  /** Hears of background commands. */
  watch: BackgroundWatch;
  /** Of the store: marks what its tools start. */
  epoch: string;
  /** Asked for when the first turn runs: turns need the toolbox, and children of a tool need turns. */
  parts(): DelegateParts;
}

export function createToolbox(
  context: WorkerContext,
  { groups, memory, staged, search, tools: guests, hint, watch, epoch, parts }: ToolboxParts,
): Toolbox {
  const sender = messageSender(context);
  const foreign = mcpTools(context);
  const plainHost = commandHost(context, groups, epoch);
  const sandbox = workerSandbox(context);
  const processes = new BackgroundProcesses(plainHost, watch);
  let interpreters = findInterpreters(process.env.PATH ?? '');
  const { codeRoot, built } = context.release;
  const offload = createOffload(join(codeRoot, 'services', 'agent', `thread.${built ? 'js' : 'ts'}`));
  const check = createArgumentCheck(offload, (name, thrown) =>
    context.log.warn(`the schema of ${name} cannot be checked; its arguments go to the server as they are: ${messageOf(thrown)}`),
  );
  const definitions = new ForeignDefinitions();
  const delegations = new Delegations(parts, (sessionId) => processes.endSession(sessionId));
  const isSecret = secretFiles(context.home);
  const isStore = ownStores(context.home);
  // The supervisor and this worker; other workers have names that the rules know.
  const guarded = { home: homedir(), pids: [process.pid, process.ppid] };
  const homes = spellings(context.home.root);
  /** Notes of a chat are part of no other prompt and wait for nobody. */
  const stageEdit = (session: SessionRecord, isOwn: boolean): StageEdit | undefined =>
    sessionConfig(context, session).memory?.write_approval && !isOwn
      ? (edit) => void staged.stage({ kind: 'memory', edit, sessionId: session.id })
      : undefined;

  /** Every tool of the agent itself; a new one is a line here. */
  const own = (
    { session, surface, owner = nobody, unattended = false }: Omit<ToolboxRequest, 'scripted' | 'signal'>,
    toolsets: () => string[],
  ): Tool[] => {
    const config = sessionConfig(context, session);
    const { id: sessionId, cwd, platform } = session;
    const confined = sandbox.forSession(session);
    const host = confined ? { ...plainHost, sandbox: confined } : plainHost;
    const fileRules = confined?.policy();
    const files: FileHost = {
      cwd,
      sandbox: fileRules,
      home: context.home.root,
      isSecret,
      isStore,
      replace: (path, text, mode) => writeFileAtomic(path, text, { mode }),
    };
    const timeoutSeconds = config.terminal?.timeout_seconds;
    const web = createWeb({ settings: config.web, secret: (name) => context.secrets().get(name) });
    const origin = originOf(session);
    const principal = principalOfTurn(session, surface);
    const scope = scopeOf(principal);
    const originOnly = messagesOriginOnly({
      surface,
      platform: platform ?? undefined,
      principal,
      platformToolsets: config.platform_toolsets,
    });
    // As the tool itself reads it: `~` is the home.
    const dangerOf = (command: string, workdir = cwd): Danger | undefined =>
      gravest(homes.map((agentHome) => dangerOfCommand(command, { ...guarded, agentHome, cwd, workdir: absolutePath(workdir, cwd) })));
    const tools = [
      terminalTool({ cwd, host, timeoutSeconds, background: { processes, sessionId }, dangerOf }),
      processTool({ processes, sessionId, dangerOf }),
      readFileTool({ cwd, isSecret, sandbox: fileRules, hint: (path) => hint(session, path) }),
      writeFileTool(files),
      patchTool(files),
      searchFilesTool({ cwd, offload, isSecret, sandbox: fileRules }),
      ...(interpreters.size > 0 ? [executeCodeTool({ cwd, host, interpreters, timeoutSeconds, dangerOf })] : []),
      ...(web.search ? [webSearchTool(web.search)] : []),
      webExtractTool((url, signal) => web.fetch(url, signal), offload),
      todoTool(planStore(parts().store, parts().events, sessionId)),
      memoryTool(
        scope === undefined ? memory : memoryFiles(memoriesOf(principal, context.paths.memories)),
        stageEdit(session, scope !== undefined),
      ),
      clarifyTool(owner),
      sessionSearchTool(search, sessionId, scope),
      ...guests(session),
      ...(delegations.allows(session)
        ? [
            delegateTaskTool({
              delegator: delegations.delegator({ session, surface, unattended, toolsets }),
              parallel: config.delegation?.max_concurrent,
            }),
          ]
        : []),
      cronjobTool(cronJobs(context, scope === undefined ? null : encodePrincipal(principal)), origin, scope !== undefined),
      sendMessageTool({ sender, sessionId, origin, originOnly }),
    ];
    const missing = sandbox.missing();
    return missing ? tools.map((tool) => askedWithoutSandbox(tool, missing)) : tools;
  };

  const survey: Toolbox['survey'] = async (request) => {
    const { session, surface, signal } = request;
    const config = sessionConfig(context, session);
    await sandbox.ready();
    const safeMode = session.safe_mode === 1;
    const listed = safeMode ? { tools: [] } : await foreign.list(signal);
    const servers = listed.tools;
    let allowed: Tool[] = [];
    const toolsets = () => [...new Set(allowed.map((tool) => tool.toolset))];
    const tools = [...own(request, toolsets), ...servers.map((spec) => foreignTool(spec, foreign, check))];
    const input: PolicyInput = {
      surface,
      platform: session.platform ?? undefined,
      principal: principalOfTurn(session, surface),
      disabled: config.agent?.disabled_toolsets,
      platformToolsets: config.platform_toolsets,
      platformServers: Object.fromEntries(Object.entries(config.platforms ?? {}).map(([name, { mcp_servers }]) => [name, mcp_servers])),
      choices: session.toolset_choices ? (JSON.parse(session.toolset_choices) as Record<string, boolean>) : undefined,
      safeMode,
      hasOrigin: originOf(session) !== null,
    };
    const verdict = decideTools(tools, input);
    allowed = verdict.allowed;
    return { tools, refused: verdict.refused, foreign: servers, problem: listed.problem };
  };

  return {
    memory,
    processes,
    survey,
    async reload(request) {
      const { session, signal } = request;
      const pinned = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
      const ownNames = () => own(request, () => []).map(({ name }) => name);
      const before = [...ownNames(), ...(foreign.known() ?? pinned.filter(isForeignName))];
      interpreters = findInterpreters(process.env.PATH ?? '');
      const { names: foreignNames, servers } = await foreign.reload(signal);
      const names = [...ownNames(), ...foreignNames];
      return {
        servers,
        foreign: foreignNames.length,
        added: names.filter((name) => !before.includes(name)),
        removed: before.filter((name) => !names.includes(name)),
      };
    },
    async forTurn(request) {
      const { session } = request;
      const { tools, refused, foreign: specs, problem } = await survey(request);
      // Only a turn tells the user; a look at the tools must not take the news away.
      const changed = !request.owner
        ? []
        : definitions.changed(
            session.id,
            specs.filter(({ name }) => !refused.has(name)),
          );
      const pinned = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
      const allowed = pinnedOrder(
        tools.filter((tool) => !refused.has(tool.name)),
        pinned,
      );
      const { delegation } = sessionConfig(context, session);
      return {
        allowed,
        refused,
        notices: [
          ...(changed.length === 0
            ? []
            : [`MCP tools have a new description or schema since this conversation began: ${changed.join(', ')}`]),
          ...sandbox.notices(session),
          ...(problem === undefined ? [] : [`The tools of MCP servers are not available in this turn: ${problem}`]),
        ],
        unavailable: problem === undefined ? null : UNAVAILABLE,
        owner: request.owner,
        ...delegations.watching(session, request.owner),
        spill: plainHost.spill,
        onRepair: ({ name }) => context.log.info('arguments of a tool were not JSON; repaired', { session_id: session.id, tool: name }),
        ...(session.source === CHILD_SOURCE ? { iterationsMax: delegation?.max_turns ?? limits.tools.delegateTurnsMax } : {}),
      };
    },
    warm: () => void own({ session: blankSession(context, '/'), surface: 'cli' }, () => []),
    abandonChildren: () => delegations.abandonLeft(),
    async [Symbol.asyncDispose]() {
      await processes.close();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

/** Delivery target of the chat a keyed session belongs to: `agent:<profile>:<platform>:<type>:<chat>`. */
export function originOf({ session_key }: Pick<SessionRecord, 'session_key'>): string | null {
  const match = /^agent:[^:]+:([^:]+):[^:]+:(.+)$/.exec(session_key ?? '');
  return match ? `${match[1]}:${match[2]}` : null;
}

// --- files of the service ---

const gravest = (all: readonly (Danger | undefined)[]): Danger | undefined => all.find((one) => one?.blocked) ?? all.find((one) => one);

const STORE = /\.(?:db|sqlite3)(?:-wal|-shm|-journal)?$|\.lock$|^gateway_state\.json$|^ESTOP$/;

/** Files that one worker alone writes: databases, locks, sockets, the state of slots, logs. */
export function ownStores(home: Home): (realPath: string) => boolean {
  const roots = spellings(home.root);
  const folders = [...spellings(home.run.dir), ...roots.flatMap((root) => ['run', 'crash', 'logs'].map((name) => join(root, name)))];
  return (path) =>
    folders.some((dir) => inside(dir, path)) ||
    roots.some((root) => inside(root, path) && (STORE.test(basename(path)) || basename(dirname(path)) === 'logs'));
}

/** Where no turn runs nobody is asked. */
const nobody: Owner = { permit: async () => undefined, clarify: async () => undefined };

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

const UNAVAILABLE =
  'The tools of MCP servers (mcp__…) are not available in this turn, because their worker is unreachable. Do not call them; tell the user where it matters.';
