/**
 * One running turn, from its prompt to the end that agent/turn.ts reports: opens the model, gathers the
 * tools, fixes what a first turn fixes, and connects the ports to the rows and events of the session.
 */
import type { ToolResult, Transcript } from '../../agent/ports.ts';
import { isForeignName } from '../../agent/tools/foreign.ts';
import { createTools, type SessionTools, type Tool } from '../../agent/tools/registry.ts';
import { runTurn, type TurnEnd } from '../../agent/turn.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { isoTime, type Deferred } from '../../base/time.ts';
import type { Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import type { WorkerContext } from '../worker.ts';
import { toolsetsOf, type ContextDesk } from './context.ts';
import type { EventLog } from './events.ts';
import type { ModelDesk } from './models.ts';
import type { SkillDesk } from './skills.ts';
import type { SessionRecord, Store } from './store.ts';
import type { Toolbox } from './toolbox.ts';
import type { MessageRecord, Transcripts } from './transcripts.ts';

export interface EngineParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  desk: ModelDesk;
  toolbox: Toolbox;
  contexts: ContextDesk;
  skills: SkillDesk;
  /** The status bar of a session, for `session_info`. */
  info(session: SessionRecord, running: boolean): Record<string, unknown>;
}

export interface Running {
  id: number;
  session: SessionRecord;
  prompt: MessageRecord;
  surface: string;
  controller: AbortController;
  startedAt: number;
  /** The streaming answer, for snapshots and for a crash of the store; 0 before the first one. */
  messageId: number;
  text: string;
  reasoning: string;
  tools: Map<string, { tool_id: string; name: string; args: unknown }>;
  ended: Deferred<void>;
}

/** Errors: NO_PROVIDER, those of the store, and the signal's reason when it aborts before the first model call. */
export async function performTurn(parts: EngineParts, running: Running): Promise<TurnEnd> {
  const { context, transcripts, desk, toolbox } = parts;
  const { id, surface, controller } = running;
  const { signal } = controller;
  const { config } = context.config();
  const model = await desk.open(running.session);
  transcripts.setModel(id, model);
  const verdict = await toolbox.forTurn({ session: running.session, surface, scripted: model.scripted, signal });
  running.session = pin(parts, running, verdict.allowed);
  announceInfo(parts, running, true);
  return runTurn({
    model,
    system: running.session.system_prompt ?? '',
    tools: createTools({ ...verdict, fallback: (call) => brokerDown(call.name, verdict) }),
    transcript: transcriptOf(parts, running, model.scripted),
    events: { emit: (type, payload) => emit(parts, running, type, payload) },
    signal,
    iterationsMax: config.agent?.max_turns ?? limits.turn.iterationsMax,
    reasoningEffort: config.agent?.reasoning_effort,
  });
}

/** What the first turn of a session fixes for the later ones. Tools that came since are added at the end. */
function pin({ store, contexts, skills }: EngineParts, { session, surface }: Running, tools: readonly Tool[]): SessionRecord {
  skills.remember(session.id, toolsetsOf(tools));
  const pinned = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
  const added = tools.map(({ name }) => name).filter((name) => !pinned.includes(name));
  if (session.tool_names === null || added.length > 0) store.pinTools(session.id, [...pinned, ...added]);
  if (session.system_prompt === null) {
    const { text, layout } = contexts.prompt(session, surface, tools);
    store.pinSystemPrompt(session.id, text, JSON.stringify(layout));
  }
  return store.session(session.id) ?? session;
}

function transcriptOf({ transcripts }: EngineParts, running: Running, scripted: boolean): Transcript {
  const { id, session } = running;
  return {
    messages: () => transcripts.modelMessages(session.id, { withAuthors: !scripted }),
    openAssistant: () => (running.messageId = transcripts.openAssistant(session.id, id)),
    closeAssistant(messageId, end) {
      transcripts.closeAssistant(messageId, end);
      Object.assign(running, { text: '', reasoning: '' });
    },
    toolsStarting: () => transcripts.markToolsRan(id),
    addToolResult: (call, result) => transcripts.addToolResult(session.id, id, call, result),
    takeSteer: () => [],
  };
}

function emit({ events }: EngineParts, running: Running, type: string, payload: Record<string, unknown>): void {
  events.emit(running.session.id, running.id, type, payload);
  // After the event, so that what is pruned with it is never counted twice.
  if (type === 'message.delta') running.text += String(payload.text);
  else if (type === 'reasoning.delta') running.reasoning += String(payload.text);
  else if (type === 'tool.start') running.tools.set(String(payload.tool_id), payload as { tool_id: string; name: string; args: unknown });
  else if (type === 'tool.complete') running.tools.delete(String(payload.tool_id));
}

/** `session_info` for the surfaces; a store that refuses it does not stop the turn. */
export function announceInfo({ context, events, info }: EngineParts, { id, session }: Running, running: boolean): void {
  try {
    events.emit(session.id, id, 'session_info', info(session, running));
  } catch (thrown) {
    context.log.warn('the state of a session could not be announced', { session_id: session.id, ...errorFields(thrown) });
  }
}

/** The turn as far as it is. Null while it has not opened its first answer. */
export function inflightOf({ messageId, text, reasoning, tools, startedAt }: Running): Snapshot['inflight'] {
  if (messageId === 0) return null;
  return { message_id: messageId, text, reasoning, tools: [...tools.values()], started_at: isoTime(startedAt) };
}

/** A tool of an MCP server that the session does not have now: the broker or the server is down. */
function brokerDown(name: string, { refused }: SessionTools): ToolResult | undefined {
  if (!isForeignName(name) || refused.has(name)) return undefined;
  return {
    text: `MCP_FAILED: ${name} is not available: its server is not connected, or no server offers it. \`agent mcp list\` shows the servers.`,
    isError: true,
  };
}
