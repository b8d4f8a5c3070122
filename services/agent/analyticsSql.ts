/**
 * Tokens and money out of state.db, read-only: one pass over the turns and side calls of a period, summed by day,
 * model and source. Not in the worker's main thread: see analyticsThread.ts.
 */
import type { ResultOf } from '../../ipc/method.ts';
import type { UsageSums, analyticsModels, analyticsUsage } from '../../ipc/contracts/rpcAnalytics.ts';
import { openReadOnly, type Db } from '../../state/db/open.ts';

export type UsageAnswer = ResultOf<typeof analyticsUsage>;
export type ModelsAnswer = ResultOf<typeof analyticsModels>;

export interface Analytics {
  usage: UsageAnswer;
  models: ModelsAnswer;
}

type Sums = Omit<UsageSums, 'actual_cost'>;

interface Row extends Sums {
  day: string;
  provider: string;
  model: string;
  source: string;
  first_at: number;
  last_at: number;
}

/** What is summed, of a table whose rows hold `usage` as JSON, called `u`. `cost`: its money in dollars, or null. */
const sums = (cost: string, turns: string, tools: string) => `
  total(json_extract(u.usage, '$.input')) AS input_tokens,
  total(json_extract(u.usage, '$.output')) AS output_tokens,
  total(json_extract(u.usage, '$.reasoning')) AS reasoning_tokens,
  total(json_extract(u.usage, '$.cacheRead')) AS cache_read_tokens,
  total(json_extract(u.usage, '$.cacheWrite')) AS cache_write_tokens,
  total(${cost}) AS estimated_cost,
  sum(CASE WHEN ${cost} IS NULL THEN u.model_calls ELSE 0 END) AS unpriced_calls,
  sum(u.model_calls) AS api_calls,
  ${turns} AS turns,
  ${tools} AS tool_calls`;

/** A day of the clock of this machine. */
const day = (at: string): string => `date(${at} / 1000, 'unixepoch', 'localtime')`;

const ROWS = `
  SELECT ${day('u.started_at')} AS day, coalesce(u.provider, '?') AS provider, coalesce(u.model, '?') AS model, s.source AS source,
    min(u.started_at) AS first_at, max(u.started_at) AS last_at, ${sums('u.cost_usd', 'count(*)', 'sum(u.tool_calls)')}
  FROM (SELECT session_id, provider, model, started_at, usage, cost_usd, model_calls, tool_calls FROM turns
        WHERE started_at >= @since AND model_calls > 0) u
  JOIN sessions s ON s.id = u.session_id GROUP BY 1, 2, 3, 4
  UNION ALL
  SELECT ${day('u.at')}, u.provider, u.model, s.source, min(u.at), max(u.at), ${sums("json_extract(u.usage, '$.costUsd')", '0', '0')}
  FROM auxiliary_calls u JOIN sessions s ON s.id = u.session_id WHERE u.at >= @since GROUP BY 1, 2, 3, 4`;

/** Sessions with a turn, by day and source; `''` stands for all. */
const SESSIONS = `
  WITH used AS (
    SELECT DISTINCT ${day('t.started_at')} AS day, t.session_id AS id, s.source AS source
    FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.started_at >= @since AND t.model_calls > 0
  )
  SELECT 'day' AS kind, day AS name, count(DISTINCT id) AS n FROM used GROUP BY day
  UNION ALL SELECT 'source', source, count(DISTINCT id) FROM used GROUP BY source
  UNION ALL SELECT 'all', '', count(DISTINCT id) FROM used`;

const DAY_MS = 86_400_000;

/** Errors: NOT_FOUND, STORE_CORRUPT, STORE_BUSY. */
export function readAnalytics(path: string, days: number, nowMs = Date.now()): Analytics {
  const since = startOfDay(nowMs, days - 1);
  const db = openReadOnly(path);
  try {
    const rows = db.prepare(ROWS).all({ since }) as Row[];
    const period = { period_days: days, since: new Date(since).toISOString(), until: new Date(nowMs).toISOString() };
    return { usage: { ...period, ...usageOf(rows, sessionsOf(db, since)) }, models: { ...period, ...modelsOf(rows) } };
  } finally {
    db.close();
  }
}

/** Midnight, so many days ago; a day of 23 or 25 hours does not move it. */
function startOfDay(nowMs: number, daysAgo: number): number {
  const midnight = new Date(nowMs);
  midnight.setHours(0, 0, 0, 0);
  const then = new Date(midnight.getTime() - daysAgo * DAY_MS + DAY_MS / 2);
  return then.setHours(0, 0, 0, 0);
}

function sessionsOf(db: Db, since: number): (kind: 'day' | 'source' | 'all', name?: string) => number {
  const rows = db.prepare(SESSIONS).all({ since }) as { kind: string; name: string; n: number }[];
  const counts = new Map(rows.map(({ kind, name, n }) => [`${kind} ${name}`, n]));
  return (kind, name = '') => counts.get(`${kind} ${name}`) ?? 0;
}

function usageOf(rows: readonly Row[], sessions: ReturnType<typeof sessionsOf>): Omit<UsageAnswer, 'period_days' | 'since' | 'until'> {
  const groups = (key: (row: Row) => string) => [...Map.groupBy(rows, key).values()];
  return {
    daily: groups((row) => row.day)
      .map((group) => ({ day: group[0]!.day, sessions: sessions('day', group[0]!.day), ...sumOf(group) }))
      .toSorted((a, b) => a.day.localeCompare(b.day)),
    by_model: groups(modelKey)
      .map((group) => ({ provider: group[0]!.provider, model: group[0]!.model, ...sumOf(group) }))
      .toSorted(byUse),
    by_source: groups((row) => row.source)
      .map((group) => ({ source: group[0]!.source, sessions: sessions('source', group[0]!.source), ...sumOf(group) }))
      .toSorted(byUse),
    totals: { ...sumOf(rows), sessions: sessions('all') },
  };
}

function modelsOf(rows: readonly Row[]): Omit<ModelsAnswer, 'period_days' | 'since' | 'until'> {
  const models = [...Map.groupBy(rows, modelKey).values()].map((group) => ({
    provider: group[0]!.provider,
    model: group[0]!.model,
    ...sumOf(group),
    first_used: new Date(Math.min(...group.map(({ first_at }) => first_at))).toISOString(),
    last_used: new Date(Math.max(...group.map(({ last_at }) => last_at))).toISOString(),
    daily: [...Map.groupBy(group, (row) => row.day).values()]
      .map((ofDay) => {
        const { input_tokens, output_tokens, estimated_cost } = sumOf(ofDay);
        return { day: ofDay[0]!.day, input_tokens, output_tokens, estimated_cost };
      })
      .toSorted((a, b) => a.day.localeCompare(b.day)),
  }));
  return { models: models.toSorted(byUse), totals: sumOf(rows) };
}

const modelKey = ({ provider, model }: Row): string => `${provider}\n${model}`;
const byUse = (a: Sums, b: Sums): number => b.input_tokens + b.output_tokens - a.input_tokens - a.output_tokens;

const names = [
  'input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'estimated_cost',
  'unpriced_calls',
  'api_calls',
  'turns',
  'tool_calls',
] as const satisfies readonly (keyof Sums)[];

function sumOf(rows: readonly Sums[]): UsageSums {
  const total = Object.fromEntries(names.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])) as unknown as Sums;
  // Of a hundred small sums the last digits are noise.
  return { ...total, estimated_cost: Math.round(total.estimated_cost * 1e8) / 1e8, actual_cost: null };
}
