/** The one way to a server, for daily use and for `agent mcp test`: start, handshake, list its tools. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { joinSignals, within } from '../../base/time.ts';
import { openHttpSession, openStdioSession, type ServerTool, type Session } from './session.ts';
import type { ServerSettings } from './settings.ts';
import { StdioChild } from './stdioChild.ts';
import type { McpStore } from './store.ts';

export interface ConnectorParts {
  name: string;
  settings: ServerSettings;
  log: Logger;
  store: McpStore;
  /** Our version, told to the server. */
  version: string;
}

export interface ConnectorHooks {
  onToolsChanged(): void;
  onTrouble(): void;
  onClosed(): void;
}

export interface OpenServer {
  session: Session;
  tools: ServerTool[];
  pid: number | null;
  /** How a stdio server ended, undefined while it lives. */
  ending(): string | undefined;
  /** Ends the session and proves every process of it gone. Errors: STOP_FAILED. */
  stop(): Promise<void>;
}

/** Bounded by `settings.connectMs`. Errors: MCP_FAILED, STOP_FAILED. */
export async function openServer(parts: ConnectorParts, hooks: ConnectorHooks, signal: AbortSignal): Promise<OpenServer> {
  const { name, settings, version } = parts;
  const stopEarly = new AbortController();
  using handshake = joinSignals(signal, stopEarly.signal);
  const options = { ...hooks, version, connectMs: settings.connectMs, signal: handshake.signal };
  const child = settings.transport === 'stdio' ? await StdioChild.start({ name, settings, log: parts.log, store: parts.store }) : undefined;
  let ending: string | undefined;
  void child?.ended.then((sentence) => (ending = sentence));
  let session: Session | undefined;
  const stop = async () => {
    await session?.close().catch(() => {});
    await child?.stop();
  };
  const shake = async () => {
    session = settings.transport === 'stdio' ? await openStdioSession(child!, options) : await openHttpSession(settings, options);
    return session.listTools(options.signal);
  };
  try {
    const tools = await within(shake(), { ms: settings.connectMs, signal, what: 'the MCP handshake' });
    return { session: session!, tools: boundTools(tools, parts), pid: child?.pid ?? null, ending: () => ending, stop };
  } catch (thrown) {
    const endedBefore = ending;
    stopEarly.abort(new AgentError('CANCELLED', 'the handshake was given up'));
    await stop();
    if (signal.aborted || !isAgentError(thrown)) throw thrown;
    throw describe(thrown, parts, endedBefore, child?.lastWords);
  }
}

function describe(
  error: AgentError,
  { name, settings }: ConnectorParts,
  ending: string | undefined,
  lastWords: string | undefined,
): AgentError {
  const where = settings.transport === 'stdio' ? `"${settings.command}"` : new URL(settings.url).origin;
  const what =
    error.code === 'TIMEOUT'
      ? `did not finish the MCP handshake within ${settings.connectMs / 1_000} s`
      : (ending ?? `could not be connected: ${error.message}`);
  const hint = lastWords ? `; its last words: ${lastWords}` : '';
  return new AgentError('MCP_FAILED', `${name} (${where}) ${what}${hint}`, {
    cause: error,
    fix: error.fix ?? '`agent logs mcp` shows what it printed',
    ...(error.facts ? { facts: error.facts } : {}),
  });
}

/** One server must not crowd out the others, nor the frame that carries them all. */
export function boundTools(tools: ServerTool[], { name, log }: Pick<ConnectorParts, 'name' | 'log'>): ServerTool[] {
  let sizeBytes = 0;
  const kept = tools.slice(0, limits.mcp.toolsMax).filter((tool) => {
    const bytes = Buffer.byteLength(JSON.stringify(tool));
    if (sizeBytes + bytes > limits.mcp.toolsMaxBytes) return false;
    sizeBytes += bytes;
    return true;
  });
  if (kept.length < tools.length) log.warn(`${name}: ${tools.length - kept.length} of ${tools.length} tools left out, over the limits`);
  return kept;
}
