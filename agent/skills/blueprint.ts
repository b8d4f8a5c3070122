/**
 * A cron blueprint that a skill suggests: a prompt template with typed slots. Data only: nothing is
 * scheduled before somebody fills it in and submits it.
 */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

const Key = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a key has small letters, digits, - and _');
const Time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time is written HH:MM');
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const Weekdays = z.union([
  z.array(z.enum(weekdays)).min(1),
  z
    .enum(['daily', 'weekdays', 'weekends'])
    .transform((word) => [...weekdays].filter((_, day) => word === 'daily' || (word === 'weekdays') === day < 5)),
]);

const common = { label: z.string().max(200).optional() };
const Slot = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('time'), default: Time, ...common }),
  z.looseObject({ kind: z.literal('text'), default: z.string().max(2_000), ...common }),
  z.looseObject({ kind: z.literal('weekdays'), default: Weekdays, ...common }),
  z
    .looseObject({ kind: z.literal('enum'), default: z.string(), options: z.array(z.string()).min(1), ...common })
    .refine((slot) => slot.options.includes(slot.default), { path: ['default'], message: 'it is none of the options' }),
]);
export type Slot = z.infer<typeof Slot>;

/** By name, or as a list of slots that name themselves. */
const Slots = z.union([
  z.record(Key, Slot),
  z.array(z.looseObject({ name: Key })).transform((slots, context): Record<string, Slot> => {
    const named = z.record(Key, Slot).safeParse(Object.fromEntries(slots.map(({ name, ...slot }) => [name, slot])));
    if (named.success) return named.data;
    for (const { path, message } of named.error.issues) context.addIssue({ code: 'custom', path, message });
    return z.NEVER;
  }),
]);

export const Blueprint = z
  .looseObject({
    /** Default: the name of the skill. */
    key: Key.optional(),
    title: z.string().max(200).optional(),
    /** Free text with `{slot}` in it; what is suggested for the schedule. */
    schedule: z.string().min(1).max(200),
    /** Default: to use the skill. */
    prompt: z.string().min(1).max(10_000).optional(),
    slots: Slots.default({}),
    deliver: z.string().max(200).optional(),
  })
  .superRefine(({ slots, schedule, prompt = '' }, problem) => {
    const names = Object.keys(slots);
    if (names.length > limits.skills.blueprintSlotsMax)
      problem.addIssue({
        code: 'custom',
        path: ['slots'],
        message: `it has ${names.length} slots; ${limits.skills.blueprintSlotsMax} are allowed`,
      });
    if (names.includes('schedule')) problem.addIssue({ code: 'custom', path: ['slots'], message: 'schedule is a slot of every blueprint' });
    for (const [place, text] of Object.entries({ schedule, prompt })) {
      const gaps = [...text.matchAll(/\{([a-z0-9_-]+)(?::\w+)?\}/g)].map(([, name]) => name!);
      const missing = gaps.find((name) => !names.includes(name) && name !== 'schedule');
      if (missing) problem.addIssue({ code: 'custom', path: [place], message: `{${missing}} is no slot` });
    }
  });
export type Blueprint = z.infer<typeof Blueprint>;

/** A blueprint with nothing left out, and the skill that brings it. */
export interface SkillBlueprint {
  skill: string;
  description: string;
  blueprint: Blueprint & { key: string; title: string; prompt: string };
}

export function blueprintOf({ name, description, blueprint }: Suggesting): SkillBlueprint | undefined {
  if (!blueprint) return undefined;
  const { key = name, title = name, prompt = `Use the skill "${name}": read it with skill_view, then follow it.` } = blueprint;
  return { skill: name, description, blueprint: { ...blueprint, key, title, prompt } };
}

interface Suggesting {
  name: string;
  description: string;
  blueprint: Blueprint | undefined;
}

/** What the words of a choice of days stand for, besides a list of them. */
export const weekdayPresets = ['daily', 'weekdays', 'weekends'] as const;

/** The default as somebody would write it. */
export const presetOf = (slot: Slot): string => (slot.kind === 'weekdays' ? daysInWords(slot.default) : slot.default);

/** As `cron.create` takes it. */
export interface FilledBlueprint {
  name: string;
  schedule: string;
  prompt: string;
  deliver: string;
}

/** Values by slot; besides `schedule` and `deliver`. Errors: INVALID_PARAMS with every wrong one in `facts.errors`, as `cron.blueprints.instantiate`. */
export function fillSkillBlueprint({ blueprint }: SkillBlueprint, given: Readonly<Record<string, string>>): FilledBlueprint {
  const { title, slots } = blueprint;
  const errors: { path: string; message: string }[] = [];
  const values: Record<string, string> = {};
  for (const [name, slot] of Object.entries(slots)) {
    const checked = schemaOf(slot).safeParse(given[name] ?? presetOf(slot));
    if (checked.success) values[name] = checked.data;
    else errors.push({ path: `values.${name}`, message: checked.error.issues[0]!.message });
  }
  const [first] = errors;
  if (first)
    throw new AgentError('INVALID_PARAMS', `${first.path}: ${first.message}`, {
      field: first.path,
      facts: { errors },
      fix: `correct ${errors.map(({ path }) => path).join(', ')}`,
    });
  const schedule = given.schedule || filled(blueprint.schedule, values);
  return {
    name: title,
    schedule,
    prompt: filled(blueprint.prompt, { ...values, schedule }),
    deliver: given.deliver ?? blueprint.deliver ?? 'local',
  };
}

function schemaOf(slot: Slot): z.ZodType<string> {
  switch (slot.kind) {
    case 'time':
      return Time;
    case 'text':
      return z.string().max(2_000);
    case 'enum':
      return z.string().refine((value) => slot.options.includes(value), `one of ${slot.options.join(', ')}`);
    case 'weekdays':
      return z
        .string()
        .transform((words) => Weekdays.safeParse(words.includes(',') || isDay(words) ? words.split(',').map((day) => day.trim()) : words))
        .refine(({ success }) => success, `${weekdayPresets.join(', ')}, or days such as mon,wed`)
        .transform(({ data }) => daysForSchedule(data!));
  }
}

const isDay = (word: string): boolean => (weekdays as readonly string[]).includes(word);

const presets = { daily: 'day', weekdays: 'weekday', weekends: 'weekend' } as const;

function daysInWords(days: readonly string[]): string {
  return weekdayPresets.find((word) => sameDays(Weekdays.parse(word), days)) ?? days.join(',');
}

/** As a schedule says it: `every {days} at {time}`. */
function daysForSchedule(days: readonly string[]): string {
  const words = daysInWords(days);
  return presets[words as keyof typeof presets] ?? words;
}

const sameDays = (a: readonly string[], b: readonly string[]): boolean =>
  new Set([...a, ...b]).size === a.length && new Set(b).size === a.length;

/** `{slot}` becomes its value; `{time:cron}` turns HH:MM into a daily cron line. */
function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([a-z0-9_-]+)(?::(cron))?\}/g, (whole, name: string, form: string | undefined) => {
    const value = values[name];
    if (value === undefined) return whole;
    const time = form === 'cron' ? /^(\d{2}):(\d{2})$/.exec(value) : null;
    return time ? `${Number(time[2])} ${Number(time[1])} * * *` : value;
  });
}
