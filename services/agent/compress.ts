/**
 * Compression put into effect: one phase with a start and an end that followers always see both of, one
 * transaction in which the replaced rows step back and the summary takes their place. A kill at any point
 * leaves the rows as they were or all of it done; what was replaced stays readable.
 */
import { estimateTokens } from '../../agent/compress/tokens.ts';
import { textTokens } from '../../agent/context/estimate.ts';
import { compressRows, windowOf, type CompressionOutcome } from '../../agent/compress/compress.ts';
import type { Plan } from '../../agent/compress/plan.ts';
import type { Compressor, Model } from '../../agent/ports.ts';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { within } from '../../base/time.ts';
import type { sessionCompress } from '../../ipc/contracts/rpcSessions.ts';
import type { ResultOf } from '../../ipc/method.ts';
import type { WorkerContext } from '../worker.ts';
import type { EventLog } from './events.ts';
import type { ModelDesk } from './models.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord, Store } from './store.ts';
import type { Transcripts } from './transcripts.ts';
import { recordSideCall } from './usage.ts';

export interface CompressParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  desk: ModelDesk;
}

interface CompressRequest {
  session: SessionRecord;
  /** Of the running turn; null between turns. */
  turnId: number | null;
  /** Answers in this session. */
  model: Model;
  keep?: number | undefined;
  focus?: string | undefined;
  /** The provider found the prompt as it is too long. */
  overflow?: boolean | undefined;
}

type Report = ResultOf<typeof sessionCompress>;

// --- for a running turn ---

/** Undefined when it is switched off. */
export function compressorOf(
  parts: CompressParts,
  { id, session }: { id: number; session: SessionRecord },
  model: Model,
): Compressor | undefined {
  const { transcripts, store, context } = parts;
  const settings = sessionConfig(context, session).compression;
  if (settings?.enabled === false) return undefined;
  const maxTokens = windowOf(model.contextWindow) * (settings?.threshold ?? limits.compress.threshold);
  return {
    due(messages, lastInput) {
      if (lastInput !== null) return lastInput > maxTokens;
      const used = store.session(session.id)?.context_used ?? 0;
      return Math.max(used, estimateTokens(messages) + textTokens(session.system_prompt ?? '')) > maxTokens;
    },
    async compress(reason) {
      context.log.info('a conversation is compressed', { session_id: session.id, turn: id, reason });
      const { status } = await compressSession(parts, { session, turnId: id, model, overflow: reason === 'overflow' });
      return status === 'compressed' ? transcripts.modelMessages(session.id, { withAuthors: !model.scripted }) : null;
    },
  };
}

// --- the phase ---

/** Never throws for a model that fails (`error` says it then). Errors: those of the store before anything was done. */
export async function compressSession(parts: CompressParts, request: CompressRequest): Promise<Report & { error: AgentError | null }> {
  const { session } = request;
  const phase = openPhase(parts, request);
  try {
    const outcome = await bounded(parts, request);
    if (outcome.status === 'aborted') {
      const { note, error, beforeTokens, afterTokens } = outcome;
      phase.end(`Not compressed. ${note}`);
      return { status: 'aborted', note, removed: 0, before_tokens: beforeTokens, after_tokens: afterTokens, error };
    }
    return { ...phase.end(doneText(outcome), () => apply(parts, request, outcome)), error: null };
  } catch (thrown) {
    phase.end('Not compressed: the store refused it.');
    parts.context.log.error('a compression could not be stored', { session_id: session.id, ...errorFields(thrown) });
    const error = isAgentError(thrown) ? thrown : new AgentError('INTERNAL', 'the compression failed', { cause: thrown });
    return { status: 'aborted', note: `${error.code}: ${error.message}`, removed: 0, before_tokens: 0, after_tokens: 0, error };
  }
}

/** Not interruptible, so it is bounded by the clock alone. */
async function bounded(parts: CompressParts, request: CompressRequest): Promise<CompressionOutcome> {
  const { context, transcripts } = parts;
  const { session, model, keep, focus, overflow } = request;
  const settings = sessionConfig(context, session).compression;
  const watchdog = new AbortController();
  const rules = {
    keep,
    focus,
    contextWindow: model.contextWindow,
    overflow,
    threshold: settings?.threshold,
    targetRatio: settings?.target_ratio,
    protectFirst: settings?.protect_first,
    protectLast: settings?.protect_last,
  };
  const rows = transcripts.contextRows(session.id);
  const work = async () => {
    const summarizer = await summaryModel(parts, session, model);
    const outcome = await compressRows(rows, rules, { model: summarizer, signal: watchdog.signal });
    recordSideCall(parts.store, session.id, { task: 'compression', provider: summarizer.provider, model: summarizer.id, ...outcome });
    return outcome;
  };
  try {
    return await within(work(), { ms: limits.compress.totalMs, what: 'compressing the conversation' });
  } catch (thrown) {
    const error = isAgentError(thrown) ? thrown : new AgentError('INTERNAL', 'the compression failed', { cause: thrown });
    watchdog.abort(error);
    const tokens = estimateTokens(rows.map((row) => row.message));
    return {
      status: 'aborted',
      note: `${error.code}: ${error.message}`,
      error,
      beforeTokens: tokens,
      afterTokens: tokens,
      usage: null,
      modelCalls: 0,
    };
  }
}

/** The auxiliary model of the task where one is configured, else the session's own. */
async function summaryModel({ context, desk }: CompressParts, session: SessionRecord, model: Model): Promise<Model> {
  const configured = sessionConfig(context, session).auxiliary?.compression;
  return configured ? desk.auxiliary('compression', session) : model;
}

type Done = Extract<CompressionOutcome, { status: 'compressed' }>;

const doneText = ({ plan, beforeTokens, afterTokens }: Done): string =>
  `${plan.replaced.length} messages are a summary now: about ${beforeTokens} tokens became ${afterTokens}.`;

/** Inside a transaction. Errors: BUSY when the conversation is no longer the one that was summarised. */
function apply({ store, events }: CompressParts, { session, turnId }: CompressRequest, outcome: Done): Report {
  const { plan, summary, beforeTokens, afterTokens } = outcome;
  replaceRows(store, session.id, plan, summary);
  const fixedTokens = textTokens(session.system_prompt ?? '');
  store.run('UPDATE sessions SET compressions = compressions + 1, context_used = ? WHERE id = ?', afterTokens + fixedTokens, session.id);
  events.emit(session.id, turnId, 'session.changed', { reason: 'compressed' });
  return {
    status: 'compressed',
    note: doneText(outcome),
    removed: plan.replaced.length,
    before_tokens: beforeTokens,
    after_tokens: afterTokens,
  };
}

function replaceRows(store: Store, sessionId: string, { replaced }: Plan, summary: string): void {
  for (const { id } of replaced) {
    const { changes } = store.run(
      'UPDATE messages SET compacted = 1 WHERE id = ? AND session_id = ? AND compacted = 0 AND active = 1 AND position IS NOT NULL',
      id,
      sessionId,
    );
    if (changes !== 1) throw new AgentError('BUSY', 'the conversation changed while it was compressed', { fix: 'try again' });
  }
  store.run(
    `INSERT INTO messages (session_id, position, role, kind, content, timestamp)
     SELECT ?, position, 'system', 'summary', ?, ? FROM messages WHERE id = ?`,
    sessionId,
    summary,
    Date.now(),
    replaced.at(-1)!.id,
  );
}

// --- its start and its end ---

const PHASE = 'compacting:';

interface Phase {
  /** With what becomes true together with it. The second call does nothing. */
  end<T = void>(text: string, work?: () => T): T;
}

function openPhase({ store, events, context }: CompressParts, { session, turnId }: CompressRequest): Phase {
  const key = PHASE + session.id;
  let open = true;
  events.atomically(session.id, () => {
    store.run('INSERT OR REPLACE INTO state_meta (key, value) VALUES (?, ?)', key, String(turnId ?? ''));
    events.emit(session.id, turnId, 'status.update', { kind: 'compacting', phase: 'start', text: 'Compressing the conversation' });
  });
  return {
    end<T>(text: string, work?: () => T): T {
      if (!open) return undefined as T;
      const update = { kind: 'compacting', phase: 'end', text };
      const close = () => {
        const done = work?.();
        store.run('DELETE FROM state_meta WHERE key = ?', key);
        events.emit(session.id, turnId, 'status.update', update);
        return done as T;
      };
      try {
        const done = events.atomically(session.id, close);
        open = false;
        return done;
      } catch (thrown) {
        if (work) throw thrown;
        open = false;
        // The start of the next worker says it on record.
        events.tell(session.id, 'status.update', update);
        context.log.error('the end of a compression could not be stored', { session_id: session.id, ...errorFields(thrown) });
        return undefined as T;
      }
    },
  };
}

/** Phases that the last worker began and could not end; how many. */
export function settleCutPhases({ store, events }: Pick<CompressParts, 'store' | 'events'>): number {
  const cut = store.all<{ key: string; value: string }>('SELECT key, value FROM state_meta WHERE key GLOB ?', `${PHASE}*`);
  for (const { key, value } of cut) {
    const sessionId = key.slice(PHASE.length);
    store.transaction(() => {
      store.run('DELETE FROM state_meta WHERE key = ?', key);
      if (!store.session(sessionId)) return;
      const text = 'Not compressed: the agent worker ended meanwhile; nothing was changed.';
      events.emit(sessionId, value ? Number(value) : null, 'status.update', { kind: 'compacting', phase: 'end', text });
    });
  }
  return cut.length;
}
