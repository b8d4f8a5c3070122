/**
 * Compression of a conversation, from its rows to the record that replaces some of them. Stores nothing:
 * the host puts the outcome into effect, or leaves everything as it was. Accepted only when it shrinks.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Model, Usage } from '../ports.ts';
import { planByExchanges, planBySize, type ContextRow, type Plan } from './plan.ts';
import { summarize } from './summarize.ts';
import { estimateTokens, messageTokens } from './tokens.ts';

export interface CompressionRules {
  /** Exchanges that stay; undefined = by size. */
  keep?: number | undefined;
  focus?: string | undefined;
  /** Tokens of the answering model's window; null = unknown. */
  contextWindow: number | null;
  /** The provider has refused the rows as too long, whatever we believe of the window. */
  overflow?: boolean | undefined;
  threshold?: number | undefined;
  targetRatio?: number | undefined;
  protectFirst?: number | undefined;
  protectLast?: number | undefined;
}

interface Spent {
  usage: Usage | null;
  modelCalls: number;
}

export type CompressionOutcome = Spent & { beforeTokens: number; afterTokens: number } & (
    | { status: 'compressed'; plan: Plan; summary: string }
    /** `error`: the summarising model failed; otherwise there was nothing to gain. */
    | { status: 'aborted'; note: string; error: AgentError | null }
  );

export const windowOf = (contextWindow: number | null): number => contextWindow ?? limits.compress.unknownWindowTokens;

/** Never throws for a model that fails: that is an aborted compression with its words as the note. */
export async function compressRows(
  rows: readonly ContextRow[],
  rules: CompressionRules,
  { model, signal }: { model: Model; signal: AbortSignal },
): Promise<CompressionOutcome> {
  const beforeTokens = estimateTokens(rows.map((row) => row.message));
  const aborted = (note: string, { usage, modelCalls }: Spent = { usage: null, modelCalls: 0 }, error: AgentError | null = null) =>
    ({ status: 'aborted', note, error, beforeTokens, afterTokens: beforeTokens, usage, modelCalls }) as const;
  const plan = rules.keep === undefined ? planBySize(rows, sizeRules(rules, beforeTokens)) : planByExchanges(rows, rules.keep);
  if (!plan) return aborted('nothing_to_compress: everything there is would be kept');
  try {
    const messages = plan.replaced.map((row) => row.message);
    const { text, usage, modelCalls } = await summarize({ model, messages, focus: rules.focus, signal });
    const afterTokens = estimateTokens(plan.kept.map((row) => row.message)) + messageTokens({ role: 'summary', content: text });
    if (afterTokens > beforeTokens * (1 - limits.compress.shrinkMin)) {
      return aborted(`refused_would_grow: ${beforeTokens} tokens would become ${afterTokens}, too small a gain`, { usage, modelCalls });
    }
    return { status: 'compressed', plan, summary: text, beforeTokens, afterTokens, usage, modelCalls };
  } catch (thrown) {
    const error = isAgentError(thrown) ? thrown : new AgentError('INTERNAL', messageOf(thrown), { cause: thrown });
    return aborted(`${error.code}: ${error.message}`, undefined, error);
  }
}

function sizeRules({ contextWindow, overflow, threshold, targetRatio, protectFirst, protectLast }: CompressionRules, rowTokens: number) {
  const { compress } = limits;
  // What was refused is larger than the window, so that is the most the window can be.
  const window = overflow ? Math.min(windowOf(contextWindow), rowTokens) : windowOf(contextWindow);
  return {
    targetTokens: window * (targetRatio ?? compress.targetRatio),
    tailMaxTokens: window * (threshold ?? compress.threshold) * compress.tailShare,
    protectFirst: protectFirst ?? compress.protectFirst,
    protectLast: protectLast ?? compress.protectLast,
  };
}
