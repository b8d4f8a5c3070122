/**
 * `/blueprint`: the catalogue, and a conversation of one question at a time that ends in one scheduled
 * job. Everything answered so far stands in the line itself, so nothing is lost by a restart.
 */
import { AgentError } from '../../base/errors.ts';
import { builtinBlueprints, filled, skillBlueprint, type Blueprint } from './blueprints.ts';
import { split, text, type CommandResult, type Invocation } from './command.ts';
import type { CommandHost } from './host.ts';
import { columns } from './views.ts';

export async function runBlueprint({ host, args }: Invocation): Promise<CommandResult> {
  const all = await catalogue(host);
  const [key, rest] = split(args);
  if (!key || key === 'list')
    return text(columns(all.map((one) => [`  ${one.key}`, one.description, slotNames(one)])), { blueprints: all });
  const blueprint = all.find((one) => one.key === key.toLowerCase()) ?? all.find((one) => one.key.startsWith(key.toLowerCase()));
  if (!blueprint) throw new AgentError('NOT_FOUND', `there is no blueprint "${key}"`, { fix: '/blueprint lists them' });
  const values = slotValues(rest);
  const known = new Set(blueprint.slots.map(({ name }) => name));
  const stranger = Object.keys(values).find((name) => !known.has(name));
  if (stranger !== undefined)
    throw new AgentError('USAGE', `${blueprint.key} has no slot "${stranger}"`, { fix: `its slots: ${slotNames(blueprint)}` });
  const given = Object.keys(values).length > 0 && !/(?:^|\s)\.\.\.$/.test(rest);
  const open = blueprint.slots.find(({ name, default: preset }) => values[name] === undefined && !(given && preset !== undefined));
  if (open) return question(blueprint, open, values);
  return create(host, blueprint, values);
}

/** Built-in ones first, then those of skills; a skill that cannot be read stands in nobody's way. */
export async function catalogue(host: CommandHost): Promise<Blueprint[]> {
  const offered = await host.call('skills.list', {}).then(
    ({ skills }) => skills.filter(({ has_blueprint, enabled, hidden_because }) => has_blueprint && enabled && hidden_because === null),
    () => [],
  );
  const ofSkills = await Promise.all(
    offered.map(async ({ name }) => {
      try {
        return skillBlueprint(name, (await host.call('skills.view', { name })).content);
      } catch {
        return undefined;
      }
    }),
  );
  const found = ofSkills.filter((one) => one !== undefined);
  return [...builtinBlueprints.filter(({ key }) => !found.some((one) => one.key === key)), ...found];
}

function question(blueprint: Blueprint, slot: Blueprint['slots'][number], values: Record<string, string>): CommandResult {
  const asked = (more: Record<string, string>) =>
    `/blueprint ${[blueprint.key, ...Object.entries({ ...values, ...more }).map(([name, value]) => `${name}=${quoted(value)}`)].join(' ')}`;
  const proposals = [...new Set([...(slot.default === undefined ? [] : [slot.default]), ...(slot.options ?? [])])];
  const last = blueprint.slots.at(-1) === slot;
  return {
    kind: 'choice',
    text: `${blueprint.title}: ${slot.label}${slot.help ? ` (${slot.help})` : ''}`,
    // The answer of the user goes behind it.
    args: `${asked({})} ${slot.name}=`,
    data: { blueprint: blueprint.key, slot: slot.name },
    choices: proposals.map((value) => ({
      label: value,
      line: last ? asked({ [slot.name]: value }) : `${asked({ [slot.name]: value })} ...`,
    })),
  };
}

async function create(host: CommandHost, blueprint: Blueprint, given: Record<string, string>): Promise<CommandResult> {
  const values = Object.fromEntries(blueprint.slots.map(({ name, default: preset }) => [name, given[name] ?? preset ?? '']));
  const { job } = await host.call('cron.create', {
    schedule: filled(blueprint.schedule, values),
    prompt: filled(blueprint.prompt, values),
    name: blueprint.title,
    deliver: host.origin ?? 'local',
  });
  const next = job.next_run_at ? `, next ${new Date(job.next_run_at).toLocaleString('sv-SE').slice(0, 16)}` : '';
  return text(`Made the job “${job.name}” (${job.id}): ${job.schedule.display}${next}. /cron lists it.`, { job });
}

const slotNames = ({ slots }: Blueprint): string =>
  slots.map(({ name, default: preset }) => (preset === undefined ? name : `[${name}]`)).join(' ');

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
