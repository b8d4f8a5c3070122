/**
 * Tokens and money: of a turn, of a session with everything done beside its turns, and by model. A
 * session carries its totals, so that lists and status bars read them with the row.
 */
import type { TurnEnd } from '../../agent/turn.ts';
import type { Usage } from '../../agent/ports.ts';
import type { ResultOf } from '../../ipc/method.ts';
import type { UsageTotals } from '../../ipc/contracts/rpcRecords.ts';
import type { sessionUsage } from '../../ipc/contracts/rpcSessions.ts';
import type { SessionRecord, Store } from './store.ts';

export const noUsage: UsageTotals = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0, model_calls: 0, cost_usd: null };

export function totalsOf(usage: Usage | null, modelCalls: number): UsageTotals {
  return {
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    reasoning: usage?.reasoning ?? 0,
    cache_read: usage?.cacheRead ?? 0,
    cache_write: usage?.cacheWrite ?? 0,
    model_calls: modelCalls,
    cost_usd: usage?.costUsd ?? null,
  };
}

export const sessionTotals = ({ usage }: Pick<SessionRecord, 'usage'>): UsageTotals =>
  usage ? (JSON.parse(usage) as UsageTotals) : noUsage;

/** Puts a turn's usage into the accounts of its session; the new totals. Call it in the transaction of the turn's end. */
export function recordTurn(store: Store, sessionId: string, end: TurnEnd): UsageTotals {
  if (end.contextTokens !== undefined) store.run('UPDATE sessions SET context_used = ? WHERE id = ?', end.contextTokens, sessionId);
  return grow(store, sessionId, totalsOf(end.usage, end.modelCalls));
}

export interface SideCall {
  /** `compression`, `title`, `btw`, … */
  task: string;
  provider: string;
  model: string;
  usage: Usage | null;
  modelCalls: number;
}

/** A model call beside the turns. */
export function recordSideCall(store: Store, sessionId: string, { task, provider, model, usage, modelCalls }: SideCall): void {
  if (modelCalls === 0) return;
  store.transaction(() => {
    store.run(
      'INSERT INTO auxiliary_calls (session_id, task, provider, model, model_calls, usage, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      sessionId,
      task,
      provider,
      model,
      modelCalls,
      usage && JSON.stringify(usage),
      Date.now(),
    );
    grow(store, sessionId, totalsOf(usage, modelCalls));
  });
}

function grow(store: Store, sessionId: string, more: UsageTotals): UsageTotals {
  const row = store.one<Pick<SessionRecord, 'usage'>>('SELECT usage FROM sessions WHERE id = ?', sessionId);
  const totals = sum(row ? sessionTotals(row) : noUsage, more);
  store.run('UPDATE sessions SET usage = ? WHERE id = ?', JSON.stringify(totals), sessionId);
  return totals;
}

/** Money is unknown only where none of it is known. */
function sum(a: UsageTotals, b: UsageTotals): UsageTotals {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
    model_calls: a.model_calls + b.model_calls,
    cost_usd: a.cost_usd === null ? b.cost_usd : a.cost_usd + (b.cost_usd ?? 0),
  };
}

interface CallRow {
  provider: string;
  model: string;
  usage: string | null;
  model_calls: number;
}

/** For `session.usage`, but for the window of the model. */
export function usageReport(store: Store, session: SessionRecord): Omit<ResultOf<typeof sessionUsage>, 'context_max'> {
  const rows = store.all<CallRow>(
    `SELECT provider, model, usage, model_calls FROM turns WHERE session_id = @id AND model_calls > 0 AND provider IS NOT NULL
     UNION ALL SELECT provider, model, usage, model_calls FROM auxiliary_calls WHERE session_id = @id`,
    { id: session.id },
  );
  const byModel = new Map<string, { provider: string; model: string; usage: UsageTotals }>();
  for (const { provider, model, usage, model_calls } of rows) {
    const key = `${provider}/${model}`;
    const known = byModel.get(key)?.usage ?? noUsage;
    byModel.set(key, { provider, model, usage: sum(known, totalsOf(usage ? (JSON.parse(usage) as Usage) : null, model_calls)) });
  }
  return {
    usage: sessionTotals(session),
    by_model: [...byModel.values()],
    turns: store.one<{ n: number }>('SELECT count(*) AS n FROM turns WHERE session_id = ?', session.id)!.n,
    compressions: session.compressions,
    context_used: session.context_used,
  };
}
