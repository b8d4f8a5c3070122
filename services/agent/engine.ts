/**
 * One running turn, from its prompt to the end that agent/turn.ts reports: opens the model, gathers the
 * tools, fixes what a first turn fixes, and connects the ports to the rows and events of the session.
 */
import { join } from 'node:path';
import type { ToolResult, Transcript } from '../../agent/ports.ts';
import { isForeignName } from '../../agent/tools/foreign.ts';
import { createTools, type SessionTools, type Tool } from '../../agent/tools/registry.ts';
import { runTurn, type TurnEnd } from '../../agent/turn.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { isoTime, type Deferred } from '../../base/time.ts';
import type { Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import type { WorkerContext } from '../worker.ts';
import { compressorOf } from './compress.ts';
import { toolsetsOf, type ContextDesk } from './context.ts';
import type { EventLog } from './events.ts';
import { isFirstTurn, type ModelDesk } from './models.ts';
import type { SkillDesk } from './skills.ts';
import { ownerOf, type ApprovalRules } from './owner.ts';
import { isSamePrincipal, memoriesOf, principalOfPrompt, principalOfTurn } from './principal.ts';
import type { ProcessNotes } from './processNotes.ts';
import type { Requests } from './requests.ts';
import { sessionConfig } from './sessionConfig.ts';
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
  requests: Requests;
  rules: ApprovalRules;
  /** What happened beside the turns. */
  notes: Pick<ProcessNotes, 'place'>;
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
  /** Interrupted tools that still end themselves: the next turn of the session waits for them. */
  left: Promise<unknown>[];
  ended: Deferred<void>;
}

/** Errors: NO_PROVIDER, those of the store, and the signal's reason when it aborts before the first model call. */
export async function performTurn(parts: EngineParts, running: Running): Promise<TurnEnd> {
  const { context, transcripts, desk, toolbox } = parts;
  const { id, surface, controller } = running;
  const { signal } = controller;
  const config = sessionConfig(context, running.session);
  const model = await desk.open(running.session);
  transcripts.setModel(id, model);
  const owner = ownerOf(parts, running);
  const verdict = await toolbox.forTurn({
    session: running.session,
    surface,
    scripted: model.scripted,
    owner,
    unattended: running.prompt.unattended === 1,
    signal,
  });
  running.session = pin(parts, running, verdict.allowed);
  announceInfo(parts, running, true);
  for (const text of verdict.notices) emit(parts, running, 'notice', { text, level: 'warn' });
  const turn = runTurn({
    model,
    system: [running.session.system_prompt ?? '', verdict.unavailable].filter(Boolean).join('\n\n'),
    tools: createTools({ ...verdict, fallback: (call) => brokerDown(call.name, verdict) }),
    transcript: transcriptOf(parts, running, model.scripted),
    events: { emit: (type, payload) => emit(parts, running, type, payload) },
    signal,
    iterationsMax: verdict.iterationsMax ?? config.agent?.max_turns ?? limits.turn.iterationsMax,
    reasoningEffort: desk.effort(running.session).asked ?? undefined,
    fast: desk.fast(running.session, isFirstTurn(parts.store, running.session.id)),
    cacheKey: running.session.id,
    compressor: compressorOf(parts, running, model),
    onFallback: ({ provider, model: name }) => transcripts.setModel(id, { provider, id: name }),
    onLeft: (tool) => void running.left.push(tool),
  });
  return turn.finally(() => desk.turnOver(running.session.id));
}

/** What the first turn of a session fixes for the later ones. Tools that came since are added at the end. */
function pin({ context, store, contexts, skills }: EngineParts, { session, surface }: Running, tools: readonly Tool[]): SessionRecord {
  skills.remember(session.id, toolsetsOf(tools));
  const pinned = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
  const added = tools.map(({ name }) => name).filter((name) => !pinned.includes(name));
  if (session.tool_names === null || added.length > 0) store.pinTools(session.id, [...pinned, ...added]);
  if (session.system_prompt === null || holdsForeignNotes(session, surface, context.paths.memories)) {
    const { text, layout } = contexts.prompt(session, surface, tools);
    store.pinSystemPrompt(session.id, text, JSON.stringify(layout));
  }
  return store.session(session.id) ?? session;
}

/** A prompt that an earlier release pinned in a chat, with the notes of the owner in it. */
function holdsForeignNotes(session: SessionRecord, surface: string, memories: string): boolean {
  if (memoriesOf(principalOfTurn(session, surface), memories) === memories) return false;
  return ['MEMORY.md', 'USER.md'].some((name) => session.prompt_layout?.includes(JSON.stringify(join(memories, name))));
}

function transcriptOf(parts: EngineParts, running: Running, scripted: boolean): Transcript {
  const { transcripts } = parts;
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
    takeSteer: () => takeSteer(parts, running),
  };
}

/** Texts that wait for this turn take their place in it. */
function takeSteer(parts: EngineParts, { id, session, prompt }: Running): string[] {
  const { transcripts, events } = parts;
  const principal = principalOfPrompt(session, prompt);
  // One that an earlier turn did not take may be of another principal.
  const waiting = transcripts.pendingSteer(session.id).filter((row) => isSamePrincipal(principalOfPrompt(session, row), principal));
  if (waiting.length === 0) return [];
  events.atomically(session.id, () => {
    for (const row of waiting) {
      transcripts.joinTurn(row, id);
      events.emit(session.id, id, 'prompt.accepted', {
        message_id: row.id,
        text: row.content,
        surface: row.surface ?? 'other',
        steered: true,
      });
    }
    announceQueue(parts, session.id);
  });
  return waiting.map((row) => row.content);
}

export function announceQueue({ transcripts, events }: Pick<EngineParts, 'transcripts' | 'events'>, sessionId: string): void {
  const queued = transcripts.queued(sessionId).map(({ id, content }) => ({ id, text: content }));
  events.emit(sessionId, null, 'queue.updated', { queued });
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
