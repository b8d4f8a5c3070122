/**
 * The one list of blueprints that `/blueprint` offers: those of the cron worker, which owns and checks them,
 * and those that skills suggest, which are filled in here. Either way the cron worker makes the job.
 */
import { isAgentError } from '../../base/errors.ts';
import { may } from '../authority/may.ts';
import { fillSkillBlueprint, presetOf, weekdayPresets, type SkillBlueprint, type Slot } from '../skills/blueprint.ts';
import type { BlueprintFacts, CommandHost, FieldFacts, JobFacts } from './host.ts';

export interface Blueprint {
  key: string;
  title: string;
  description: string;
  fields: readonly FieldFacts[];
  /** Undefined = one of the cron worker. */
  suggested?: SkillBlueprint;
}

export type Values = Readonly<Record<string, string>>;

/** Those of the cron worker first; a skill may put its own in the place of one. Errors: PEER_UNREACHABLE (the cron worker is down). */
export async function catalogue(host: CommandHost): Promise<Blueprint[]> {
  const { blueprints } = await host.call('cron.blueprints', {});
  const suggested = host.skillBlueprints().map(ofSkill);
  const own = blueprints.filter(({ key }) => !suggested.some((one) => one.key === key));
  return [...own.map(ofCron), ...suggested];
}

const ofCron = ({ key, title, description, fields }: BlueprintFacts): Blueprint => ({ key, title, description, fields });

function ofSkill(suggested: SkillBlueprint): Blueprint {
  const { key, title, slots } = suggested.blueprint;
  const own = Object.entries(slots).map(([name, slot]) => fieldOf(name, slot));
  const fields = [...own, ...beside.filter(({ name }) => !(name in slots))];
  return { key, title, description: suggested.description, fields, suggested };
}

const fieldOf = (name: string, slot: Slot): FieldFacts => ({
  name,
  label: slot.label ?? `${name}?`,
  help: slot.kind === 'time' ? '24 hours, HH:MM' : slot.kind === 'weekdays' ? 'daily, weekdays, weekends, or mon,wed' : null,
  default: presetOf(slot),
  optional: false,
  options: (slot.kind === 'enum' ? slot.options : slot.kind === 'weekdays' ? weekdayPresets : []).map((value) => ({ value, label: value })),
});

/** What every blueprint takes and none asks for. */
const beside: readonly FieldFacts[] = [
  {
    name: 'schedule',
    label: 'Another schedule?',
    help: 'free text: 30m, every 2h, every day 9am',
    default: null,
    optional: true,
    options: [],
  },
  { name: 'deliver', label: 'Where does the result go?', help: null, default: 'local', optional: true, options: [] },
];

/** Fields that the conversation asks about; the others are for who names them. */
export const asked = ({ fields }: Blueprint): FieldFacts[] => fields.filter(({ name, optional }) => !optional && name !== 'deliver');

/** The first given value that does not fit; undefined = all that are given do. Errors: PEER_UNREACHABLE. */
export async function wrongValue(
  host: CommandHost,
  blueprint: Blueprint,
  values: Values,
): Promise<{ name: string; why: string } | undefined> {
  try {
    if (blueprint.suggested) fillSkillBlueprint(blueprint.suggested, values);
    else await host.call('cron.blueprints.preview', { blueprint: blueprint.key, values: { ...values } });
    return undefined;
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'INVALID_PARAMS') throw thrown;
    const errors = (thrown.facts?.errors ?? []) as { path: string; message: string }[];
    // What is not answered yet is missing, not wrong.
    const wrong = errors.find(({ path }) => path.slice('values.'.length) in values);
    return wrong && { name: wrong.path.slice('values.'.length), why: wrong.message };
  }
}

/** Makes the job; what is left out is as by default, and its result goes where it was asked for. Errors: INVALID_PARAMS, BAD_SCHEDULE, PEER_UNREACHABLE. */
export async function makeJob(host: CommandHost, { key, suggested }: Blueprint, given: Values): Promise<JobFacts> {
  const goesTo = (may(host.principal, 'keep_jobs', { own: false }) ? suggested?.blueprint.deliver : undefined) ?? host.origin;
  const values = { ...(goesTo === null ? {} : { deliver: goesTo }), ...given };
  const { job } = suggested
    ? await host.call('cron.create', fillSkillBlueprint(suggested, values))
    : await host.call('cron.blueprints.instantiate', { blueprint: key, values });
  return job;
}
