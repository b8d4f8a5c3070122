/** `/context` in words: what the next prompt is made of, as a table that a terminal and a chat can show. */
import type { Breakdown } from './breakdown.ts';

export interface ContextView extends Breakdown {
  model: string | null;
  context_files: readonly { label: string; path: string; chars: number; est_tokens: number; status: string }[];
}

const GAUGE_CELLS = 20;

export function contextText(view: ContextView): string {
  const rows = view.categories.map(({ label, tokens, bytes }) => [label, `~${grouped(tokens)}`, `${grouped(bytes)} B`]);
  const total = ['Total', `~${grouped(view.estimated_total)}`, `${grouped(view.categories.reduce((sum, { bytes }) => sum + bytes, 0))} B`];
  return [summary(view), aligned([['Part', 'Tokens', 'Size'], ...rows, total]), files(view)].filter(Boolean).join('\n\n');
}

function summary({ model, context_used, context_max, context_percent, context_source }: ContextView): string {
  const how = context_source === 'provider' ? 'as the provider counted' : 'estimated';
  const name = model ?? 'no model';
  if (context_max === null) return `${name}: ${grouped(context_used)} tokens (${how}); its window is not known`;
  const filled = Math.min(GAUGE_CELLS, Math.round((context_used / context_max) * GAUGE_CELLS));
  const gauge = '█'.repeat(filled) + '░'.repeat(GAUGE_CELLS - filled);
  return `${name}: ${gauge} ${grouped(context_used)} of ${grouped(context_max)} tokens, ${context_percent} % (${how})`;
}

function files({ context_files }: ContextView): string {
  if (context_files.length === 0) return '';
  return ['Files:', ...context_files.map((file) => `  ${file.path}: ${file.status}${sizeOf(file)}`)].join('\n');
}

const sizeOf = ({ chars, est_tokens }: ContextView['context_files'][number]): string =>
  chars === 0 ? '' : ` (${grouped(chars)} characters, ~${grouped(est_tokens)} tokens)`;

/** Columns; numbers to the right. */
function aligned(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '))
    .join('\n');
}

const grouped = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
