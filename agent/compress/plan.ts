/**
 * Which rows of a conversation a summary replaces. A call of a tool and its results stay on one side, the
 * latest request of the user is always kept word for word, an earlier summary goes into the new one. Pure.
 */
import { limits } from '../../base/limits.ts';
import type { ModelMessage } from '../ports.ts';
import { estimateTokens } from './tokens.ts';

export interface ContextRow {
  id: number;
  message: ModelMessage;
  /** A prompt that began a turn; a text that joined a running one did not. */
  asks: boolean;
}

export interface Plan {
  /** In order; the summary takes the place of the last of them. */
  replaced: ContextRow[];
  kept: ContextRow[];
}

export interface SizeRules {
  /** Tokens that may be left. */
  targetTokens: number;
  /** The protected end is cut down to this, however few messages that leaves. */
  tailMaxTokens: number;
  protectFirst: number;
  protectLast: number;
}

/** By size: a protected beginning, a protected end, and the request that is being worked on. Undefined: nothing to gain. */
export function planBySize(rows: readonly ContextRow[], rules: SizeRules): Plan | undefined {
  const units = unitsOf(rows);
  const head = headUnits(units, rules);
  const tail = tailUnits(units.slice(head), rules);
  const middle = units.slice(head, units.length - tail).flat();
  const latestAsk = rows.findLast((row) => row.asks);
  return planOf(rows, new Set(middle.filter((row) => row !== latestAsk)));
}

/** The last `keep` exchanges stay word for word, all before them is replaced. */
export function planByExchanges(rows: readonly ContextRow[], keep: number): Plan | undefined {
  const starts = rows.flatMap((row, index) => (row.asks ? [index] : []));
  const end = keep === 0 ? rows.length : (starts.at(-keep) ?? 0);
  return planOf(rows, new Set(rows.slice(0, end)));
}

function planOf(rows: readonly ContextRow[], replaced: ReadonlySet<ContextRow>): Plan | undefined {
  // A summary alone would only be summarised again.
  if (![...replaced].some(({ message }) => message.role !== 'summary')) return undefined;
  return { replaced: rows.filter((row) => replaced.has(row)), kept: rows.filter((row) => !replaced.has(row)) };
}

/** What must not be separated: an answer with the results of its calls; every other row stands alone. */
function unitsOf(rows: readonly ContextRow[]): ContextRow[][] {
  const units: ContextRow[][] = [];
  for (const row of rows) {
    const last = units.at(-1);
    if (row.message.role === 'tool' && last?.[0]?.message.role === 'assistant') last.push(row);
    else units.push([row]);
  }
  return units;
}

const tokensOf = (unit: readonly ContextRow[]): number => estimateTokens(unit.map((row) => row.message));

/** Units at the beginning that stay; none when they alone would take half of what may be left. */
function headUnits(units: ContextRow[][], { protectFirst, targetTokens }: SizeRules): number {
  let count = 0;
  let taken = 0;
  let tokens = 0;
  for (const unit of units) {
    if (count >= protectFirst || unit[0]!.message.role === 'summary') break;
    tokens += tokensOf(unit);
    if (tokens > targetTokens * limits.compress.headShare) return 0;
    count += unit.length;
    taken++;
  }
  return taken;
}

/** Units at the end that stay: the last `protectLast` messages, and more as long as the target is not reached. */
function tailUnits(units: ContextRow[][], { protectLast, targetTokens, tailMaxTokens }: SizeRules): number {
  let count = 0;
  let taken = 0;
  let tokens = 0;
  for (const unit of units.toReversed()) {
    tokens += tokensOf(unit);
    if (tokens > tailMaxTokens || (count >= protectLast && tokens > targetTokens)) break;
    count += unit.length;
    taken++;
  }
  return taken;
}
