/**
 * `/blueprint`: the catalogue, and a conversation of one question at a time that ends in one scheduled
 * job. Everything answered so far stands in the line itself, so nothing is lost by a restart.
 */
import { AgentError } from '../../base/errors.ts';
import { asked, catalogue, makeJob, wrongValue, type Blueprint, type Values } from './blueprints.ts';
import { split, text, type CommandResult, type Invocation } from './command.ts';
import type { CommandHost, FieldFacts } from './host.ts';
import { columns } from './views.ts';

export async function runBlueprint({ host, args }: Invocation): Promise<CommandResult> {
  const all = await catalogue(host);
  const [key, rest] = split(args);
  if (!key || key === 'list') {
    const blueprints = all.map(({ suggested, ...one }) => ({ ...one, skill: suggested?.skill ?? null }));
    return text(columns(all.map((one) => [`  ${one.key}`, one.description, slotNames(one)])), { blueprints });
  }
  const blueprint = all.find((one) => one.key === key.toLowerCase()) ?? all.find((one) => one.key.startsWith(key.toLowerCase()));
  if (!blueprint) throw new AgentError('NOT_FOUND', `there is no blueprint "${key}"`, { fix: '/blueprint lists them' });
  return await filledIn(host, blueprint, rest);
}

/** Asks for what is open, or makes the job: `...` goes on asking, also for what has a default. */
async function filledIn(host: CommandHost, blueprint: Blueprint, words: string): Promise<CommandResult> {
  const values = slotValues(words);
  const stranger = Object.keys(values).find((name) => !blueprint.fields.some((field) => field.name === name));
  if (stranger !== undefined)
    throw new AgentError('USAGE', `${blueprint.key} has no slot "${stranger}"`, { fix: `its slots: ${slotNames(blueprint)}` });
  const given = Object.keys(values).length > 0;
  const talks = /(?:^|\s)\.\.\.$/.test(words);
  if (given && talks) {
    const wrong = await wrongValue(host, blueprint, values);
    if (wrong) return again(blueprint, values, wrong);
  }
  const open = asked(blueprint).find(({ name, default: preset }) => values[name] === undefined && !(given && !talks && preset !== null));
  if (open) return question(blueprint, open, values);
  const job = await makeJob(host, blueprint, values);
  const next = job.next_run_at ? `, next ${new Date(job.next_run_at).toLocaleString('sv-SE').slice(0, 16)}` : '';
  return text(`Made the job “${job.name}” (${job.id}): ${job.schedule.display}${next}. /cron lists it.`, { job });
}

/** The same question once more, with what was wrong about the answer. */
function again(blueprint: Blueprint, values: Values, { name, why }: { name: string; why: string }): CommandResult {
  const { [name]: answer, ...others } = values;
  const asks = question(
    blueprint,
    blueprint.fields.find((field) => field.name === name)!,
    others,
  );
  return { ...asks, text: `“${answer}” will not do: ${why}\n${asks.text}` };
}

function question(blueprint: Blueprint, field: FieldFacts, values: Values): CommandResult {
  const known = (more: Values) =>
    `/blueprint ${[blueprint.key, ...Object.entries({ ...values, ...more }).map(([name, value]) => `${name}=${quoted(value)}`)].join(' ')}`;
  const proposals = [
    ...(field.default === null || field.options.some(({ value }) => value === field.default)
      ? []
      : [{ value: field.default, label: field.default }]),
    ...field.options.toSorted((a, b) => Number(b.value === field.default) - Number(a.value === field.default)),
  ];
  const last = asked(blueprint).every(({ name }) => name === field.name || values[name] !== undefined);
  return {
    kind: 'choice',
    text: `${blueprint.title}: ${field.label}${field.help ? ` (${field.help})` : ''}`,
    // The answer of the user goes behind it.
    args: `${known({})} ${field.name}=`,
    data: { blueprint: blueprint.key, slot: field.name },
    choices: proposals.map(({ value, label }) => ({ label, line: `${known({ [field.name]: value })}${last ? '' : ' ...'}` })),
  };
}

const slotNames = ({ fields }: Blueprint): string =>
  fields.map(({ name, default: preset, optional }) => (preset === null && !optional ? name : `[${name}]`)).join(' ');

const quoted = (value: string): string => (/^[^\s"]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`);

/** `slot=value slot="two words"`; text without `=` goes on with the last value, so that an answer needs no quotes. */
export function slotValues(words: string): Record<string, string> {
  const values: Record<string, string> = {};
  let last: string | undefined;
  for (const [, name, inQuotes, plain] of words.matchAll(/(?:(\w+)=)?(?:"((?:\\.|[^"\\])*)"|(\S+))/g)) {
    const value = inQuotes === undefined ? plain! : inQuotes.replaceAll(/\\(.)/g, '$1');
    if (name !== undefined) values[(last = name)] = value;
    else if (value === '...') continue;
    else if (last === undefined) throw new AgentError('USAGE', `"${value}" belongs to no slot`, { fix: 'write slot=value' });
    else values[last] += ` ${value}`;
  }
  return values;
}
