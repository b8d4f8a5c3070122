/** Answers of commands as lines of text, the same on every surface. */
import type { Calls, JobFacts, SessionFacts, UsageFacts } from './host.ts';

const number = (value: number): string => value.toLocaleString('en-US').replaceAll(',', ' ');
const localTime = (iso: string): string => new Date(iso).toLocaleString('sv-SE').slice(0, 16);
const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);

/** Pads all columns but the last. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Numbered as in the whole list, so that `/resume N` fits what is shown. */
export function sessionLines(shown: readonly SessionFacts[], all: readonly SessionFacts[]): string {
  if (shown.length === 0) return 'No conversations.';
  return columns(
    shown.map((row) => [
      String(all.indexOf(row) + 1).padStart(3),
      localTime(row.last_active),
      cut((row.title ?? row.preview).replaceAll(/\s+/g, ' ') || '(empty)', 60),
      `(${row.message_count} messages, ${row.source}${row.status === 'idle' ? '' : `, ${row.status}`})`,
    ]),
  );
}

const BAR = 40;

export function contextLines(found: Calls['session.context_breakdown']['result']): string {
  const { categories, context_used, context_max, context_percent, context_source, model, context_files } = found;
  const percent = context_percent ?? (context_max ? (100 * context_used) / context_max : null);
  const filled = percent === null ? 0 : Math.min(BAR, Math.round((percent / 100) * BAR));
  const head = [
    `${model ?? 'no model'}: ${number(context_used)}${context_max === null ? '' : ` of ${number(context_max)}`} tokens${context_source === 'estimate' ? ' (estimated)' : ''}`,
    ...(percent === null ? [] : [`${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${percent.toFixed(1)} %`]),
  ];
  const all = categories.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  const table = columns(
    categories.map(({ label, tokens }) => [`  ${label}`, number(tokens).padStart(9), `${((100 * tokens) / all).toFixed(0)} %`]),
  );
  const files = context_files.map(({ path, chars, est_tokens, status }) => [
    `  ${path}`,
    `${number(chars)} characters`,
    `${number(est_tokens)} tokens`,
    status,
  ]);
  return [...head, '', table, ...(files.length ? ['', 'Context files', columns(files)] : ['', 'No context files.'])].join('\n');
}

const money = (usd: number | null): string => (usd === null ? 'no price known' : `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`);
const usageRow = (label: string, usage: UsageFacts): string[] => [
  `  ${label}`,
  `${number(usage.input)} in`,
  `${number(usage.output)} out`,
  usage.cache_read ? `${number(usage.cache_read)} cached` : '',
  `${usage.model_calls} call${usage.model_calls === 1 ? '' : 's'}`,
  money(usage.cost_usd),
];

export function usageLines({ usage, by_model, turns, compressions, context_used, context_max }: Calls['session.usage']['result']): string {
  const window =
    context_used === null ? [] : [`Context: ${number(context_used)}${context_max === null ? '' : ` of ${number(context_max)}`} tokens`];
  return [
    `${turns} turn${turns === 1 ? '' : 's'}${compressions ? `, ${compressions} compression${compressions === 1 ? '' : 's'}` : ''}`,
    columns([...by_model.map((row) => usageRow(`${row.provider}:${row.model}`, row.usage)), usageRow('together', usage)]),
    ...window,
  ].join('\n');
}

/** Models named by `/insights`. */
const INSIGHT_MODELS_MAX = 10;

export function insightLines({ totals, daily, by_model }: Calls['analytics.usage']['result'], span: number): string {
  const { turns, sessions, api_calls, tool_calls } = totals;
  if (turns === 0) return `Nothing was asked in the last ${span} day${span === 1 ? '' : 's'}.`;
  const most = Math.max(...daily.map((day) => day.turns), 1);
  const models = by_model.toSorted((a, b) => b.turns - a.turns).slice(0, INSIGHT_MODELS_MAX);
  return [
    `Last ${span} day${span === 1 ? '' : 's'}: ${turns} turns in ${sessions} conversations, ${api_calls} model calls, ${tool_calls} tool calls`,
    columns(
      daily.map((day) => [
        day.day,
        '█'.repeat(Math.max(1, Math.round((day.turns / most) * 24))),
        `${day.turns} turns, ${number(day.input_tokens)} in, ${number(day.output_tokens)} out`,
      ]),
    ),
    `Models: ${models.map(({ model, turns: count }) => `${model} (${count})`).join(', ')}`,
  ].join('\n');
}

type Toolsets = Calls['tools.list']['result']['toolsets'];

export function toolsetLines(toolsets: Toolsets, { withTools }: { withTools: boolean }): string {
  if (toolsets.length === 0) return 'None.';
  const rows = columns(
    toolsets.map(({ name, description, enabled, refused, tools }) => [
      `${enabled ? '✓' : '✗'} ${name}`,
      withTools ? namesOf(tools) : `${description}${enabled ? '' : `  (off${refused ? `: ${refused}` : ''})`}`,
    ]),
  );
  const missing = withTools ? toolsets.flatMap(({ tools }) => tools.filter(({ unavailable }) => unavailable)) : [];
  return [rows, ...missing.map(({ name, unavailable }) => `${name} is not available: ${unavailable}`)].join('\n');
}

const namesOf = (tools: Toolsets[number]['tools']): string =>
  tools
    .filter(({ unavailable }) => !unavailable)
    .map(({ name }) => name)
    .join(' ');

export function jobLines(jobs: readonly JobFacts[]): string {
  if (jobs.length === 0) return 'There are no scheduled jobs.';
  return columns(
    jobs.map(({ id, name, schedule, state, next_run_at, last_status, deliver }) => [
      id.slice(0, 12),
      cut(name, 40),
      schedule.display,
      state,
      next_run_at ? `next ${localTime(next_run_at)}` : '',
      last_status ? `last ${last_status}` : '',
      deliver,
    ]),
  );
}
