/** `agent usage`: tokens and money of the last days. What the page shows under Analytics. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { analyticsModels, analyticsUsage, type UsageSums } from '../../ipc/contracts/rpcAnalytics.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { withAgent } from '../withAgent.ts';
import { hasFlag, jsonOption, type Command, type Input } from '../command.ts';
import { out, print, printJson, table, visibleWidth } from '../terminal.ts';

export const command: Command = {
  name: 'usage',
  summary: 'Show what conversations cost',
  details:
    'Tokens that providers counted and money by the price table, of whole days of this machine, today included. Sessions that were deleted are gone from it. ' +
    'With no service running it starts the agent worker in the background, as `agent chat` does.',
  options: [
    { flags: '-d, --days <days>', summary: `how many days, today included (default ${limits.analytics.daysDefault})` },
    { flags: '--models', summary: 'by model, with the days of each' },
    jsonOption,
  ],
  examples: [
    { line: 'agent usage', does: 'the last thirty days: by day, model and source' },
    { line: 'agent usage --days 7 --models', does: 'which models the last week went to' },
    { line: 'agent usage --days 30 --json', does: 'for programs' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const days = daysOf(input);
  if (hasFlag(input, 'models')) {
    const models = await withAgent(input, (link) => link.call(analyticsModels, { days }));
    if (input.json) printJson(models);
    else print(modelsView(models));
    return exitCodes.ok;
  }
  const usage = await withAgent(input, (link) => link.call(analyticsUsage, { days }));
  if (input.json) printJson(usage);
  else print(usageView(usage));
  return exitCodes.ok;
}

function daysOf({ options }: Input): number {
  const text = String(options.days ?? limits.analytics.daysDefault);
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= limits.analytics.daysMax) return days;
  throw new AgentError('USAGE', `--days takes a number from 1 to ${limits.analytics.daysMax}, not "${text}"`, {
    fix: 'agent usage --days 30',
  });
}

function usageView({ daily, by_model, by_source, totals, period_days }: ResultOf<typeof analyticsUsage>): string {
  if (totals.turns + totals.api_calls === 0) return nothing(period_days);
  return [
    sumTable('DAY', [...daily.map((row) => [row.day, row] as const), ['total', totals]]),
    sumTable(
      'MODEL',
      by_model.map((row) => [`${row.provider}/${row.model}`, row] as const),
    ),
    sumTable(
      'SOURCE',
      by_source.map((row) => [row.source, row] as const),
    ),
    ...priceNote(totals),
  ].join('\n\n');
}

function modelsView({ models, totals, period_days }: ResultOf<typeof analyticsModels>): string {
  if (models.length === 0) return nothing(period_days);
  const sections = models.map(({ provider, model, daily, ...sums }) => {
    const days = daily.map(({ day, ...of }) => [`  ${day}`, { ...sums, ...of, turns: null, api_calls: null }] as const);
    return sumTable(`${provider}/${model}`, [...days, ['  total', sums]]);
  });
  return [...sections, ...priceNote(totals)].join('\n\n');
}

const nothing = (days: number): string =>
  `Nobody talked to a model in the last ${days === 1 ? 'day' : `${days} days`}. \`agent chat\` begins a conversation.`;

const priceNote = ({ unpriced_calls: count }: UsageSums): string[] =>
  count === 0 ? [] : [painter(out)('dim', `${number(count)} of the model calls have no known price; they count as nothing above.`)];

type Row = readonly [
  string,
  { turns: number | null; api_calls: number | null } & Pick<UsageSums, 'input_tokens' | 'output_tokens' | 'estimated_cost'>,
];

function sumTable(title: string, rows: readonly Row[]): string {
  const paint = painter(out);
  const head = ['INPUT', 'OUTPUT', 'COST', 'TURNS', 'CALLS', title].map((text) => paint('dim', text));
  const lines = rows.map(([name, { input_tokens, output_tokens, estimated_cost, turns, api_calls }]) => [
    number(input_tokens),
    number(output_tokens),
    money(estimated_cost),
    turns === null ? '' : number(turns),
    api_calls === null ? '' : number(api_calls),
    name,
  ]);
  const all = [head, ...lines];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => visibleWidth(row[column]!))));
  return table(all.map((row) => row.map((cell, column) => (column < 5 ? ' '.repeat(widths[column]! - visibleWidth(cell)) + cell : cell))));
}

const money = (dollars: number): string => `$${dollars.toFixed(dollars > 0 && dollars < 0.995 ? 4 : 2)}`;
const number = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
