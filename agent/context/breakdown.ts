/** What the next prompt is made of, as numbers: one computation for `/context`, `session.context_breakdown` and `agent prompt-size`. */
import type { ModelMessage, ToolSpec } from '../ports.ts';
import { isForeignName } from '../tools/foreign.ts';
import { textTokens } from './estimate.ts';
import { partCategories, type Category, type PromptPart } from './promptParts.ts';

export interface ToolSize {
  name: string;
  toolset: string;
  bytes: number;
  tokens: number;
}

export interface Breakdown {
  categories: Category[];
  /** As many tokens as the provider counted last, or as estimated. */
  context_used: number;
  context_max: number | null;
  context_percent: number | null;
  estimated_total: number;
  context_source: 'provider' | 'estimate';
}

/** A tool as it is sent. */
export function toolSize({ name, description, parameters, toolset }: ToolSpec & { toolset: string }): ToolSize {
  const text = JSON.stringify({ name, description, parameters });
  return { name, toolset, bytes: Buffer.byteLength(text), tokens: textTokens(text) };
}

/** The part of every prompt that stays: instructions and schemas of tools. */
export function fixedCategories(parts: readonly PromptPart[], tools: readonly ToolSize[]): Category[] {
  const own = tools.filter(({ name }) => !isForeignName(name));
  const foreign = tools.filter(({ name }) => isForeignName(name));
  return [
    ...partCategories(parts),
    ...(own.length ? [sum('tools', `Tools (${own.length})`, own)] : []),
    ...(foreign.length ? [sum('mcp_tools', `MCP tools (${foreign.length})`, foreign)] : []),
  ];
}

export function messageCategories(messages: readonly ModelMessage[]): Category[] {
  const sizes = messages.map((message) => ({ role: message.role, ...sizeOf(message) }));
  const summary = sizes.filter(({ role }) => role === 'summary');
  const results = sizes.filter(({ role }) => role === 'tool');
  const talk = sizes.filter(({ role }) => role === 'user' || role === 'assistant');
  return [
    ...(summary.length ? [sum('summary', 'Summary of earlier messages', summary)] : []),
    ...(talk.length ? [sum('messages', `Messages (${talk.length})`, talk)] : []),
    ...(results.length ? [sum('tool_results', `Tool results (${results.length})`, results)] : []),
  ];
}

/** `counted`: tokens of the conversation as the provider counted them last; null = unknown. */
export function totalsOf(categories: Category[], { counted, max }: { counted: number | null; max: number | null }): Breakdown {
  const estimated = categories.reduce((total, { tokens }) => total + tokens, 0);
  const used = counted ?? estimated;
  return {
    categories,
    context_used: used,
    context_max: max,
    context_percent: max ? Math.round((used / max) * 1_000) / 10 : null,
    estimated_total: estimated,
    context_source: counted === null ? 'estimate' : 'provider',
  };
}

function sizeOf(message: ModelMessage): { bytes: number; tokens: number } {
  const text =
    message.role === 'assistant' && message.toolCalls.length ? message.content + JSON.stringify(message.toolCalls) : message.content;
  return { bytes: Buffer.byteLength(text), tokens: textTokens(text) };
}

const sum = (id: string, label: string, sizes: readonly { bytes: number; tokens: number }[]): Category => ({
  id,
  label,
  bytes: sizes.reduce((total, { bytes }) => total + bytes, 0),
  tokens: sizes.reduce((total, { tokens }) => total + tokens, 0),
});
