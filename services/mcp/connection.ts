/**
 * One connection, shared by every caller and profile with the same settings: connects when first used,
 * connects again after a loss, keeps the list of tools fresh. Runs the effects of `connectionTable.ts`.
 * A call in flight when the server goes is failed, never repeated; only a request that provably did
 * not arrive is sent again.
 */
import { AgentError, isAgentError, messageOf, reworded } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { deferred, jitteredDelayMs, joinSignals, sleep, within, type Deferred } from '../../base/time.ts';
import { boundTools, openServer, type ConnectorParts, type OpenServer } from './connector.ts';
import { nextConnection, type ConnectionEffect, type ConnectionEvent, type ConnectionState } from './connectionTable.ts';
import type { ServerTool } from './session.ts';
import type { ServerAnswer } from './toolResult.ts';
import type { FailureKind } from './wire.ts';

export interface ConnectionParts extends ConnectorParts {
  /** Proves the server gone that this one replaces; until it has, nothing is started. */
  after?: () => Promise<void>;
  onChange(): void;
}

export class Connection implements AsyncDisposable {
  readonly name: string;
  #parts: ConnectionParts;
  #state: ConnectionState = { phase: 'idle' };
  #server: OpenServer | undefined;
  /** A server that is being stopped; the next one starts when it is proved gone. */
  #old: { stop(): Promise<void> } | undefined;
  #tools: ServerTool[] = [];
  #error: AgentError | undefined;
  #attempt: Deferred<void> = deferred();
  #stopped = new AbortController();
  #waiting: AbortController | undefined;
  #opening: Promise<void> | undefined;
  #refresh: 'none' | 'running' | 'again' = 'none';
  #checking: Promise<boolean> | undefined;
  #keepalive: NodeJS.Timeout | undefined;

  constructor(parts: ConnectionParts) {
    this.name = parts.name;
    this.#parts = parts;
    if (parts.after) this.#old = { stop: parts.after };
  }

  get phase(): ConnectionState['phase'] {
    return this.#state.phase;
  }

  /** Tools as last listed; kept while the server is away, so that a short loss does not change a conversation. */
  get tools(): readonly ServerTool[] {
    return this.#tools;
  }

  /** What the server says about its use; empty when it says nothing or is not connected. */
  get instructions(): string {
    return this.#server?.session.instructions ?? '';
  }

  get pid(): number | null {
    return this.#server?.pid ?? null;
  }

  /** Why it is not connected. */
  get error(): string | null {
    return this.#state.phase === 'connected' || !this.#error ? null : this.#error.message;
  }

  /** The same as an error, with what to do about it. */
  get failure(): AgentError | undefined {
    return this.#state.phase === 'connected' ? undefined : this.#error;
  }

  /** Starts connecting without waiting for it. */
  begin(): void {
    this.#step({ type: 'use' });
  }

  /** The open server, connecting if need be. Errors: MCP_FAILED, the signal's reason. */
  async use(signal: AbortSignal): Promise<OpenServer> {
    this.#stopped.signal.throwIfAborted();
    this.#step({ type: 'use' });
    if (this.#state.phase === 'connecting') {
      // The attempt is bounded by itself; the margin covers stopping the one before.
      const ms = this.#parts.settings.connectMs + limits.worker.killMs + limits.mcp.termMs + limits.mcp.closeMs;
      await within(this.#attempt.promise, { ms, signal, what: `connecting to ${this.name}` });
    }
    if (this.#server) return this.#server;
    this.#stopped.signal.throwIfAborted();
    throw this.#error ?? new AgentError('MCP_FAILED', `${this.name} is not connected`);
  }

  /** Errors: MCP_FAILED, TIMEOUT, and the signal's reason after the server was told to cancel. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ServerAnswer> {
    using both = joinSignals(signal, this.#stopped.signal);
    for (let first = true; ; first = false) {
      const server = await this.use(both.signal);
      try {
        return await server.session.callTool(tool, args, { signal: both.signal, timeoutMs: this.#parts.settings.callMs });
      } catch (thrown) {
        if (both.signal.aborted || !isAgentError(thrown)) throw thrown;
        if (thrown.code === 'TIMEOUT') throw this.#timedOut(tool, await this.#check(server), thrown);
        const kind = thrown.facts?.kind as FailureKind | undefined;
        if (kind === 'broken' || kind === 'unreached') {
          this.#lose(server, thrown);
          if (kind === 'unreached' && first) continue;
          throw this.#interrupted(tool, server.ending() ?? `lost its connection (${thrown.message})`, thrown);
        }
        // It may have refused the session with it: only a ping can tell.
        if (SESSION_STATUS.has(Number(thrown.facts?.status))) void this.#check(server);
        throw reworded(thrown, (message) => `${this.name}: ${tool}: ${message}`);
      }
    }
  }

  /** Waits for a running attempt, at most `ms`; never throws. */
  async settled(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#state.phase === 'connecting') await within(this.#attempt.promise, { ms, signal, what: this.name }).catch(() => {});
  }

  /** Ends it and proves every process of it gone. Errors: STOP_FAILED. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#keepalive);
    this.#stopped.abort(
      new AgentError('MCP_FAILED', `${this.name} was stopped: its configuration changed, or the service is shutting down`),
    );
    this.#step({ type: 'stop' });
    await this.#opening;
    await this.#old?.stop();
  }

  #step(event: ConnectionEvent): void {
    const { state, effects } = nextConnection(this.#state, event);
    const changed = state.phase !== this.#state.phase;
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    // Nobody waits for an attempt that is not under way.
    if (state.phase !== 'connecting') this.#attempt.resolve();
    if (changed) this.#parts.onChange();
  }

  #run(effect: ConnectionEffect): void {
    switch (effect.do) {
      case 'open':
        this.#attempt = deferred();
        this.#opening = this.#open();
        return;
      case 'close':
        this.#old = this.#server ?? this.#old;
        this.#server = undefined;
        clearTimeout(this.#keepalive);
        // A failure shows when the next one is about to start.
        void this.#old?.stop().catch(() => {});
        return;
      case 'wait':
        return void this.#wait(effect.attempt);
      case 'stopWaiting':
        this.#waiting?.abort();
    }
  }

  async #open(): Promise<void> {
    const { signal } = this.#stopped;
    let server: OpenServer | undefined;
    let closed = false;
    try {
      await this.#old?.stop();
      this.#old = undefined;
      server = await openServer(
        this.#parts,
        {
          onToolsChanged: () => void this.#refreshTools(),
          onTrouble: () => void (this.#server && this.#check(this.#server)),
          onClosed: () => {
            closed = true;
            if (server) this.#lose(server);
          },
        },
        signal,
      );
    } catch (thrown) {
      if (signal.aborted) return;
      this.#error = isAgentError(thrown) ? thrown : new AgentError('MCP_FAILED', `${this.name}: ${messageOf(thrown)}`, { cause: thrown });
      this.#parts.log.warn(this.#error.message, this.#error.fix ? { fix: this.#error.fix } : {});
      return this.#step({ type: 'refused', permanent: this.#error.facts?.permanent === true });
    }
    if (signal.aborted) {
      this.#old = server;
      return;
    }
    this.#server = server;
    this.#tools = server.tools;
    this.#error = undefined;
    this.#parts.log.info(`${this.name} connected`, { tools: server.tools.length, ...(server.pid ? { server_pid: server.pid } : {}) });
    this.#step({ type: 'opened', atMs: performance.now() });
    this.#keepalive = setTimeout(() => this.#keepAlive(), this.#parts.settings.keepaliveMs).unref();
    if (closed) this.#lose(server);
  }

  async #wait(attempt: number): Promise<void> {
    const waiting = (this.#waiting = new AbortController());
    const ms = jitteredDelayMs(attempt, { baseMs: limits.mcp.reconnectMinMs, maxMs: limits.mcp.reconnectMaxMs });
    try {
      await sleep(ms, waiting.signal);
      this.#step({ type: 'due' });
    } catch {
      // someone needed it sooner, or it is stopped
    }
  }

  /** Only for the server that is current: an old one may report its end late. */
  #lose(server: OpenServer, why?: AgentError): void {
    if (server !== this.#server) return;
    const what = server.ending() ?? `lost its connection${why ? `: ${why.message}` : ''}`;
    this.#error = new AgentError('MCP_FAILED', `${this.name} ${what}`, { cause: why });
    this.#parts.log.warn(this.#error.message);
    this.#step({ type: 'lost', atMs: performance.now() });
  }

  /** Asks a server that has been silent whether it is still there: a suspended one would be found by the next call only. */
  #keepAlive(): void {
    const server = this.#server;
    if (!server) return;
    const { keepaliveMs } = this.#parts.settings;
    const dueMs = server.session.heardAtMs() + keepaliveMs - performance.now();
    if (dueMs <= 0) void this.#check(server);
    this.#keepalive = setTimeout(() => this.#keepAlive(), dueMs <= 0 ? keepaliveMs : dueMs).unref();
  }

  /** Something went wrong below a session that cannot tell whether it still works: ask the server. False when it is lost. */
  #check(server: OpenServer): Promise<boolean> {
    this.#checking ??= this.#ask(server).finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #ask(server: OpenServer): Promise<boolean> {
    try {
      await server.session.ping(limits.mcp.pingMs);
    } catch (thrown) {
      // A JSON-RPC error is a sign of life, and so are a limit of its rate and a fault of its own.
      const status = isAgentError(thrown) ? thrown.facts?.status : undefined;
      const answered = isAgentError(thrown) && thrown.facts?.kind === 'answer' && !SESSION_STATUS.has(Number(status));
      if (!answered) this.#lose(server, isAgentError(thrown) ? thrown : undefined);
    }
    return server === this.#server;
  }

  /** At most one listing runs and one waits, however often the server announces a change. */
  async #refreshTools(): Promise<void> {
    if (this.#refresh !== 'none') {
      this.#refresh = 'again';
      return;
    }
    do {
      this.#refresh = 'running';
      const server = this.#server;
      if (!server) break;
      try {
        const before = new Map(this.#tools.map((tool) => [tool.tool, JSON.stringify(tool)]));
        this.#tools = boundTools(await server.session.listTools(this.#stopped.signal), this.#parts);
        this.#parts.log.info(`${this.name} changed its tools`, { tools: this.#tools.length });
        const redefined = this.#tools
          .filter(({ tool }) => before.has(tool))
          .filter((tool) => before.get(tool.tool) !== JSON.stringify(tool));
        if (redefined.length > 0) {
          this.#parts.log.warn(`${this.name} changed the definition of tools that were in use`, {
            names: redefined.map(({ tool }) => tool).slice(0, 20),
          });
        }
        this.#parts.onChange();
      } catch (thrown) {
        this.#parts.log.warn(`${this.name}: its new tools cannot be listed: ${messageOf(thrown)}`);
        void this.#check(server);
      }
      await sleep(limits.mcp.refreshPauseMs, this.#stopped.signal).catch(() => {});
    } while (this.#again());
    this.#refresh = 'none';
  }

  #again(): boolean {
    return this.#refresh === 'again';
  }

  #interrupted(tool: string, ending: string, cause: AgentError): AgentError {
    return new AgentError('MCP_FAILED', `${this.name} ${ending} while ${tool} ran; the call was not repeated`, {
      cause,
      fix: 'find out whether it took effect before you repeat it; `agent logs mcp` has its last lines',
    });
  }

  #timedOut(tool: string, isAlive: boolean, cause: AgentError): AgentError {
    const { callMs } = this.#parts.settings;
    return new AgentError(
      'TIMEOUT',
      `${this.name}: ${tool} did not answer within ${callMs / 1_000} s${isAlive ? '' : ', nor did the server answer a ping'}`,
      {
        cause,
        fix: isAlive
          ? `raise mcp_servers.${this.name}.timeout (seconds) if it needs longer`
          : 'the server is being started again: repeat the call if it had no effect',
      },
    );
  }
}

/** Statuses with which servers refuse a session that they do not know. */
const SESSION_STATUS: ReadonlySet<number> = new Set([400, 404, 410]);
