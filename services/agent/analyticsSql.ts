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

/**
 * The days asked for, each with its bounds: a day is then a range of an index, and no row is asked for its date.
 * `d.day` counts from the first one.
 */
const DAYS = `WITH days AS MATERIALIZED (SELECT key AS day, value ->> 0 AS since, value ->> 1 AS until FROM json_each(@days))`;
const TURNS = `FROM days d CROSS JOIN turns u WHERE u.started_at >= d.since AND u.started_at < d.until AND u.model_calls > 0`;

const ROWS = `${DAYS}
  SELECT d.day AS day, coalesce(u.provider, '?') AS provider, coalesce(u.model, '?') AS model, s.source AS source,
    min(u.started_at) AS first_at, max(u.started_at) AS last_at, ${sums('u.cost_usd', 'count(*)', 'sum(u.tool_calls)')}
  FROM days d CROSS JOIN turns u JOIN sessions s ON s.id = u.session_id
  WHERE u.started_at >= d.since AND u.started_at < d.until AND u.model_calls > 0 GROUP BY 1, 2, 3, 4
  UNION ALL
  SELECT d.day, u.provider, u.model, s.source, min(u.at), max(u.at), ${sums("json_extract(u.usage, '$.costUsd')", '0', '0')}
  FROM days d CROSS JOIN auxiliary_calls u JOIN sessions s ON s.id = u.session_id
  WHERE u.at >= d.since AND u.at < d.until GROUP BY 1, 2, 3, 4`;

/** Sessions with a turn, by day. */
const SESSIONS_BY_DAY = `${DAYS} SELECT day, count(*) AS n FROM (SELECT DISTINCT d.day AS day, u.session_id ${TURNS}) GROUP BY day`;
/** And by source; a session has one. */
const SESSIONS_BY_SOURCE = `${DAYS}
  SELECT s.source AS source, count(*) AS n FROM (SELECT DISTINCT u.session_id AS id ${TURNS}) JOIN sessions s USING (id) GROUP BY s.source`;

interface Day {
  /** `2026-11-21`, by the clock of this machine. */
  name: string;
  since: number;
  until: number;
}

/** Errors: NOT_FOUND, STORE_CORRUPT, STORE_BUSY. */
export function readAnalytics(path: string, days: number, nowMs = Date.now()): Analytics {
  const asked = daysUntil(nowMs, days);
  const bounds = JSON.stringify(asked.map(({ since, until }) => [since, until]));
  const db = openReadOnly(path);
  try {
    const found = db.prepare(ROWS).all({ days: bounds }) as (Omit<Row, 'day'> & { day: number })[];
    const rows = found.map((row): Row => ({ ...row, day: asked[row.day]!.name }));
    const since = new Date(asked[0]!.since).toISOString();
    const period = { period_days: days, since, until: new Date(nowMs).toISOString() };
    return { usage: { ...period, ...usageOf(rows, sessionsOf(db, asked, bounds)) }, models: { ...period, ...modelsOf(rows) } };
  } finally {
    db.close();
  }
}

/** So many days, the last one that of `nowMs`; from midnight to midnight, also where one has 23 or 25 hours. */
function daysUntil(nowMs: number, days: number): Day[] {
  const today = new Date(nowMs);
  const midnight = (back: number): Date => new Date(today.getFullYear(), today.getMonth(), today.getDate() - back);
  return Array.from({ length: days }, (_, n) => {
    const start = midnight(days - 1 - n);
    const name = [start.getFullYear(), start.getMonth() + 1, start.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
    return { name, since: start.getTime(), until: midnight(days - 2 - n).getTime() };
  });
}

interface SessionCounts {
  byDay: ReadonlyMap<string, number>;
  bySource: ReadonlyMap<string, number>;
}

function sessionsOf(db: Db, asked: readonly Day[], bounds: string): SessionCounts {
  const ofDays = db.prepare(SESSIONS_BY_DAY).all({ days: bounds }) as { day: number; n: number }[];
  const ofSources = db.prepare(SESSIONS_BY_SOURCE).all({ days: bounds }) as { source: string; n: number }[];
  return {
    byDay: new Map(ofDays.map(({ day, n }) => [asked[day]!.name, n])),
    bySource: new Map(ofSources.map(({ source, n }) => [source, n])),
  };
}

function usageOf(rows: readonly Row[], { byDay, bySource }: SessionCounts): Omit<UsageAnswer, 'period_days' | 'since' | 'until'> {
  const groups = (key: (row: Row) => string) => [...Map.groupBy(rows, key).values()];
  return {
    daily: groups((row) => row.day)
      .map((group) => ({ day: group[0]!.day, sessions: byDay.get(group[0]!.day) ?? 0, ...sumOf(group) }))
      .toSorted((a, b) => a.day.localeCompare(b.day)),
    by_model: groups(modelKey)
      .map((group) => ({ provider: group[0]!.provider, model: group[0]!.model, ...sumOf(group) }))
      .toSorted(byUse),
    by_source: groups((row) => row.source)
      .map((group) => ({ source: group[0]!.source, sessions: bySource.get(group[0]!.source) ?? 0, ...sumOf(group) }))
      .toSorted(byUse),
    totals: { ...sumOf(rows), sessions: [...bySource.values()].reduce((sum, n) => sum + n, 0) },
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
