/**
 * The MCP broker: every MCP server of every profile, connected once and shared by all callers. Lists
 * their tools under safe names, calls them within limits, keeps an audit, and owns the whole life of
 * each server process. It runs no turn and knows no model.
 */
import { AgentError, isAgentError, reworded } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { deferred, joinSignals } from '../../base/time.ts';
import { callTool, listServers, listTools, reload, testServer, type ServerState, type Tool } from '../../ipc/contracts/mcp.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import type { InputOf, ParamsOf, ResultOf } from '../../ipc/method.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import { isSameProcess } from '../../state/processIdentity.ts';
import { guardStore } from '../storeGuard.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import type { Connection } from './connection.ts';
import { openServer } from './connector.ts';
import { Fleet, type FleetServer } from './fleet.ts';
import { stopGroup } from './group.ts';
import type { ServerTool } from './session.ts';
import { openMcpStore, type McpStore } from './store.ts';
import { nameTools, serverPrefix } from './toolNames.ts';
import { boundResult, redactedAnswer } from './toolResult.ts';

export async function startBroker(context: WorkerContext): Promise<WorkerService> {
  await using building = new AsyncDisposableStack();
  const store = building.use(openMcpStore(context.home.mcpDb, context.log));
  await clearOrphans(store, context);
  context.reportProblem('store', store.problem);
  if (!store.problem) building.use(guardStore(context, 'mcp', store.db));
  const broker = new Broker(context, store);
  building.use(broker.fleet);
  const resources = building.move();
  return {
    handlers: broker.handlers(),
    active: () => [...broker.running.values()],
    facts: () => ({ mcp_servers: broker.states() }),
    drain: (signal) => broker.drain(signal),
    started: () => broker.connectAll(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Server processes of a broker that died without stopping them; those of a living broker are not ours to touch. */
async function clearOrphans(store: McpStore, { log }: WorkerContext): Promise<void> {
  const orphans = store.children().filter(({ owner }) => !isSameProcess(owner));
  await Promise.all(
    orphans.map(async ({ mark, server, process: child }) => {
      if (isSameProcess(child)) log.warn(`${server} (process ${child.pid}) outlived the broker that started it: stopping it`);
      // A leader that is gone may have left a group behind, but its number may also be someone else's by now.
      // No grace: its input ended with the broker, and whoever heeds that is gone already.
      await stopGroup(isSameProcess(child) ? child.pid : undefined, mark, 0);
      store.removeChild(mark);
    }),
  );
}

class Broker {
  readonly fleet: Fleet;
  /** Calls in flight: what they are, for status. */
  readonly running = new Map<object, string>();
  #context: WorkerContext;
  #store: McpStore;
  #draining = false;
  #idle = deferred<void>();
  #giveUp = new AbortController();

  constructor(context: WorkerContext, store: McpStore) {
    this.#context = context;
    this.#store = store;
    this.fleet = new Fleet(context, store, () => context.reportFacts({ mcp_servers: this.states() }));
  }

  handlers(): Handler[] {
    return [
      handle(listTools, ({ profile }, { signal }) => this.#listTools(profile, signal)),
      handle(callTool, (params, { signal }) => this.#call(params, signal)),
      handle(listServers, ({ profile, tools }) => ({
        servers: this.fleet
          .servers(profile)
          .map((server) => (tools ? { ...this.#state(server), tool_list: this.#toolList(server) } : this.#state(server))),
      })),
      handle(testServer, (params, { signal }) => this.#test(params, signal)),
      handle(reload, async () => {
        const change = await this.fleet.reload();
        // Also what had failed: whoever asks has perhaps mended it.
        for (const { connection } of this.fleet.servers())
          if (connection && connection.phase !== 'stopped' && connection.phase !== 'connected') connection.begin();
        return change;
      }),
    ];
  }

  /** Starts every configured server that nobody has used yet, without waiting. */
  connectAll(): void {
    for (const { connection } of this.fleet.servers()) if (connection?.phase === 'idle') connection.begin();
  }

  states(profile?: string): ServerState[] {
    return this.fleet.servers(profile).map((server) => this.#state(server));
  }

  /** A server may say back what it was given. */
  #state(server: FleetServer): ServerState {
    const state = stateOf(server);
    return { ...state, error: state.error && this.#context.redact(state.error) };
  }

  #toolList(server: FleetServer): { name: string; description: string }[] | null {
    const { redact } = this.#context;
    return toolsOf(server)?.map(({ tool, description }) => shownTool(tool, redact.values(description))) ?? null;
  }

  /** Takes no more calls, lets running ones finish, cancels them when the signal aborts. */
  async drain(signal: AbortSignal): Promise<{ interrupted: number }> {
    this.#draining = true;
    if (this.running.size === 0) return { interrupted: 0 };
    let interrupted = 0;
    signal.addEventListener('abort', () => {
      interrupted = this.running.size;
      this.#giveUp.abort(new AgentError('DRAINING', 'the MCP broker is leaving'));
    });
    await this.#idle.promise;
    return { interrupted };
  }

  async #listTools(profile: string | undefined, signal: AbortSignal): Promise<ResultOf<typeof listTools>> {
    const connections = this.fleet.servers(profile).flatMap(({ connection }) => connection ?? []);
    for (const connection of connections) if (connection.phase === 'idle') connection.begin();
    await Promise.all(connections.map((connection) => connection.settled(limits.mcp.listWaitMs, signal)));
    const tools = [...this.#names(profile)].map(([name, { server, info, trust }]): Tool => ({
      name,
      server,
      tool: info.tool,
      description: this.#context.redact.values(info.description),
      input_schema: info.inputSchema,
      read_only: info.hints.readOnly,
      destructive: info.hints.destructive,
      trust,
    }));
    const instructions = this.fleet.servers(profile).flatMap(({ configured: { name, trust }, connection }) => {
      const said = trust === 'untrusted' ? '' : (connection?.instructions ?? '');
      return said === '' ? [] : [{ server: name, text: this.#context.redact.values(shown(said, limits.mcp.instructionsMaxChars)) }];
    });
    return { tools, instructions, version: digest(JSON.stringify([tools, instructions]), 16) };
  }

  async #call(params: ParamsOf<typeof callTool>, signal: AbortSignal): Promise<ResultOf<typeof callTool>> {
    if (this.#draining) throw new AgentError('DRAINING', 'the MCP broker is leaving', { fix: 'repeat the call: the next broker takes it' });
    if (this.running.size >= limits.mcp.callsMax) {
      throw new AgentError('QUEUE_FULL', `${this.running.size} MCP calls are in flight, as many as the broker takes`, {
        retryAfterMs: 1_000,
      });
    }
    const ticket = {};
    this.running.set(ticket, params.name ?? `${params.server}/${params.tool}`);
    const startedAt = performance.now();
    using both = joinSignals(signal, this.#giveUp.signal);
    let target: Target | undefined;
    let outcome = 'ok';
    try {
      target = await this.#resolve(params, both.signal);
      this.running.set(ticket, `${target.server}/${target.tool}`);
      const answer = redactedAnswer(
        boundResult(await target.connection.call(target.tool, params.args, both.signal)),
        this.#context.redact.values,
      );
      if (answer.is_error) outcome = 'tool_error';
      return answer;
    } catch (thrown) {
      outcome = isAgentError(thrown) ? thrown.code : 'INTERNAL';
      throw isAgentError(thrown) ? reworded(thrown, this.#context.redact, this.#context.redact) : thrown;
    } finally {
      this.running.delete(ticket);
      this.#context.progress();
      if (this.#draining && this.running.size === 0) this.#idle.resolve();
      if (target) {
        const { server, tool } = target;
        this.#store.recordCall({ profile: params.profile ?? DEFAULT_PROFILE, server, tool, ms: performance.now() - startedAt, outcome });
      }
    }
  }

  /** Which tool of which server is meant; connects servers whose tools are not known yet. */
  async #resolve({ name, server, tool, profile }: InputOf<typeof callTool>, signal: AbortSignal): Promise<Target> {
    if (name === undefined && (server === undefined || tool === undefined)) {
      throw new AgentError('INVALID_PARAMS', 'mcp.tools.call needs a name, or a server and a tool', { field: 'name' });
    }
    const find = () =>
      [...this.#names(profile)].find(([full, found]) =>
        name === undefined ? found.server === server && found.info.tool === tool : full === name,
      );
    let found = find();
    if (!found) {
      const candidates =
        name === undefined
          ? [this.fleet.server(server!, profile)]
          : this.fleet.servers(profile).filter(({ configured }) => name.startsWith(serverPrefix(configured.name)));
      for (const candidate of candidates) await usable(candidate).use(signal);
      found = find();
    }
    if (!found && server !== undefined && !this.fleet.server(server, profile).configured.offers(tool!)) {
      throw new AgentError('TOOL_UNKNOWN', `mcp_servers.${server}.tools in config.yaml leaves out "${tool}"`, {
        fix: 'change include or exclude there to use it',
      });
    }
    if (!found) {
      throw new AgentError('TOOL_UNKNOWN', name === undefined ? `${server} has no tool "${tool}"` : `no MCP server has the tool ${name}`, {
        fix: server ? `agent mcp test ${server} lists its tools` : 'agent mcp list shows the servers',
      });
    }
    const [, { server: owner, info, connection }] = found;
    return { server: owner, tool: info.tool, connection };
  }

  async #test({ name, profile }: ParamsOf<typeof testServer>, signal: AbortSignal): Promise<ResultOf<typeof testServer>> {
    const { configured } = this.fleet.server(name, profile);
    const startedAt = performance.now();
    const ms = () => Math.round(performance.now() - startedAt);
    const failed = (error: string, fix: string | null) => ({ ok: false, error: this.#context.redact(error), fix, ms: ms(), tools: [] });
    if (!configured.enabled) return failed(`${name} is disabled in config.yaml (enabled: false)`, 'switch it on first');
    if (!configured.settings) return failed(configured.problem ?? `${name} is not usable`, 'correct it in config.yaml');
    const { log, release } = this.#context;
    const parts = { name, settings: configured.settings, log: log.child(`mcp.${name}`), store: this.#store, version: release.version };
    const none = () => {};
    using both = joinSignals(signal, this.#giveUp.signal);
    try {
      const server = await openServer(parts, { onToolsChanged: none, onTrouble: none, onClosed: none }, both.signal);
      await server.stop();
      return {
        ok: true,
        error: null,
        fix: null,
        ms: ms(),
        tools: server.tools.map(({ tool, description }) => shownTool(tool, this.#context.redact.values(description))),
      };
    } catch (thrown) {
      if (signal.aborted || !isAgentError(thrown)) throw thrown;
      const signIn = needsSignIn(configured, thrown);
      return failed(withUnset(thrown.message, configured.unset), (signIn ? SIGN_IN : thrown.fix) ?? null);
    }
  }

  /** Full name → tool, over all servers of a profile whose tools are known: those that config.yaml offers. */
  #names(profile: string | undefined): Map<string, NamedTool> {
    const tools = this.fleet
      .servers(profile)
      .flatMap(({ configured: { name, trust, offers }, connection }) =>
        (connection?.tools ?? [])
          .filter(({ tool }) => offers(tool))
          .map((info): NamedTool => ({ server: name, tool: info.tool, info, trust, connection: connection! })),
      );
    return nameTools(tools);
  }
}

interface NamedTool {
  server: string;
  tool: string;
  info: ServerTool;
  trust: Tool['trust'];
  connection: Connection;
}

interface Target {
  server: string;
  tool: string;
  connection: Connection;
}

function usable({ configured, connection }: FleetServer): Connection {
  if (connection) return connection;
  if (!configured.enabled) {
    throw new AgentError('MCP_FAILED', `${configured.name} is disabled`, {
      fix: `agent config set mcp_servers.${configured.name}.enabled true`,
    });
  }
  throw new AgentError('MCP_FAILED', configured.problem ?? `${configured.name} is not usable`, {
    fix: 'correct it in config.yaml (agent config edit)',
  });
}

function stateOf({ configured, connection }: FleetServer): ServerState {
  const { name, enabled, problem, settings, unset } = configured;
  const error = connection?.error ?? (enabled ? problem : null);
  const signIn = needsSignIn(configured, connection?.failure);
  return {
    name,
    transport: settings?.transport ?? 'unknown',
    state: connection ? (connection.phase === 'stopped' ? 'idle' : connection.phase) : enabled ? 'failed' : 'disabled',
    tools: connection?.phase === 'connected' ? offered(configured, connection).length : 0,
    pid: connection?.pid ?? null,
    error: error && withUnset(error, unset),
    fix: error ? ((signIn ? SIGN_IN : connection?.failure?.fix) ?? 'correct it in config.yaml') : null,
    needs_sign_in: signIn,
  };
}

/** It refuses strangers, and nothing is configured that could make it know us. */
function needsSignIn({ settings, unset }: FleetServer['configured'], failure: AgentError | undefined): boolean {
  if (failure?.facts?.status !== 401 || settings === undefined || settings.transport === 'stdio') return false;
  return unset.length === 0 && !Object.keys(settings.headers).some((header) => header.toLowerCase() === 'authorization');
}

const SIGN_IN =
  'it needs a sign-in; signing in through the browser is not built yet: give it a token in an Authorization header, if it offers one';

function toolsOf({ configured, connection }: FleetServer): ServerTool[] | null {
  return connection?.phase === 'connected' ? offered(configured, connection).slice(0, limits.mcp.shownToolsMax) : null;
}

const offered = ({ offers }: FleetServer['configured'], { tools }: Connection): ServerTool[] => tools.filter(({ tool }) => offers(tool));

/** Names and descriptions come from a stranger: cut, and without control characters. */
const shownTool = (name: string, description: string) => ({
  name: shown(name, limits.mcp.shownNameChars),
  description: shown(description, limits.mcp.shownTextChars),
});

/** Also without the marks that turn the direction of writing around. */
function shown(text: string, maxChars: number): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();
  return plain.length <= maxChars ? plain : `${plain.slice(0, maxChars - 1)}…`;
}

const withUnset = (error: string, unset: string[]): string =>
  unset.length ? `${error} (${unset.join(', ')} ${unset.length === 1 ? 'is' : 'are'} not set in .env)` : error;
