/**
 * Blueprints: ready-made jobs with gaps to fill. Checks every value and names each wrong one by its path;
 * what passes becomes a job like any other, and a script of its own in `scripts/blueprints/` where it has one.
 */
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isZone } from '../../base/time.ts';
import type { Blueprint as BlueprintView, BlueprintField } from '../../ipc/contracts/cron.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import { secretFiles } from '../../state/secretFiles.ts';
import type { Blueprint, Field, Values } from './blueprints/blueprint.ts';
import { blueprintTable } from './blueprints/table.ts';
import type { Desk } from './desk.ts';
import { BLUEPRINT_SCRIPTS, checkDeliver, createJob } from './jobs.ts';
import { parseSchedule } from './schedule.ts';

type Given = Readonly<Record<string, string | number>>;

/** Asked of every blueprint. */
const commonFields: readonly Field[] = [
  {
    name: 'schedule',
    type: 'text',
    shape: 'schedule',
    label: 'Another schedule',
    optional: true,
    help: 'free text in place of the above: 30m, every 2h, every monday 9am',
  },
  {
    name: 'deliver',
    type: 'text',
    label: 'Where does the result go?',
    default: 'local',
    help: 'local (a file), <platform>, <platform>:<chat>; several with commas',
  },
  {
    name: 'timezone',
    type: 'text',
    shape: 'zone',
    label: 'Time zone',
    optional: true,
    help: 'for example Europe/Berlin; empty: as configured',
  },
];
const fieldsOf = ({ fields }: Blueprint): readonly Field[] => [...fields, ...commonFields];

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** Sets of days with a name of their own: the word that a schedule takes, and its other spellings. */
const DAY_SETS = [
  { value: 'day', label: 'every day', also: ['daily', 'everyday'], days: WEEKDAYS },
  { value: 'weekday', label: 'Monday to Friday', also: ['weekdays'], days: WEEKDAYS.slice(0, 5) },
  { value: 'weekend', label: 'Saturday and Sunday', also: ['weekends'], days: WEEKDAYS.slice(5) },
];

/** The catalogue in the words of the contract. */
export const blueprintViews = (): BlueprintView[] =>
  blueprintTable.map((blueprint) => ({
    key: blueprint.key,
    title: blueprint.title,
    description: blueprint.description,
    category: blueprint.category,
    tags: [...blueprint.tags],
    uses_model: blueprint.job(examples(blueprint)).prompt !== undefined,
    fields: fieldsOf(blueprint).map(fieldView),
    command: commandOf(blueprint),
    appUrl: `/cron?blueprint=${blueprint.key}`,
  }));

/** Errors: NOT_FOUND, INVALID_PARAMS with every wrong field in `facts.errors`. */
export function fillBlueprint(key: string, given: Given) {
  const blueprint = blueprintTable.find((one) => one.key === key);
  if (!blueprint) {
    throw new AgentError('NOT_FOUND', `there is no blueprint "${key}"`, {
      fix: `there are ${blueprintTable.map((one) => one.key).join(', ')}`,
    });
  }
  const values = checkValues(blueprint, given);
  const { name, schedule, prompt, script } = blueprint.job(values);
  const timezone = values.timezone === '' ? undefined : values.timezone;
  return {
    key,
    name: name.length > limits.cron.nameMaxChars ? `${name.slice(0, limits.cron.nameMaxChars - 1)}…` : name,
    schedule: { text: values.schedule || schedule, timezone },
    prompt: prompt ?? null,
    script: script ?? null,
    deliver: values.deliver!,
  };
}

/** Makes the job; answers its id. Errors: as `fillBlueprint` and `createJob`, NOT_PERMITTED for a script asked for by a chat. */
export function makeFromBlueprint(desk: Desk, key: string, given: Given, createdBy: string | null): string {
  const { name, schedule, prompt, script, deliver } = filledFor(desk, key, given, createdBy);
  const file = script && writeScript(desk, key, script);
  const { text, timezone } = schedule;
  try {
    return createJob(desk, {
      name,
      schedule: text,
      prompt,
      script: file,
      deliver,
      created_by: createdBy,
      ...(timezone === undefined ? {} : { timezone }),
    });
  } catch (thrown) {
    if (file) rmSync(join(desk.context.paths.scripts, file), { force: true });
    throw thrown;
  }
}

/** A chat gets no program and no look at files of this machine; no one gets the secrets of the service. */
export function filledFor(
  { context }: Pick<Desk, 'context'>,
  key: string,
  given: Given,
  createdBy: string | null,
): ReturnType<typeof fillBlueprint> {
  const filled = fillBlueprint(key, given);
  const paths = blueprintTable.find((one) => one.key === key)!.fields.filter((field) => field.type === 'text' && field.shape === 'path');
  if (createdBy !== null && (filled.script !== null || paths.length > 0)) {
    throw new AgentError('NOT_PERMITTED', `${key} runs a script on this machine, which a chat may not start`, {
      fix: `the owner makes the job with \`agent cron add --blueprint ${key}\``,
    });
  }
  const isSecret = secretFiles(context.home);
  for (const { name } of paths) {
    const path = resolve(String(given[name] ?? '').replace(/^~(?=\/|$)/, homedir()));
    if (![path, realPathOf(path)].some(isSecret)) continue;
    throw new AgentError('INVALID_PARAMS', `values.${name}: ${path} holds secrets of the service`, {
      field: `values.${name}`,
      facts: { errors: [{ path: `values.${name}`, message: 'it holds secrets of the service' }] },
      fix: 'name another file',
    });
  }
  return filled;
}

const realPathOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

/** Answers its name inside `scripts/`. Errors: DISK_FULL, HOME_UNUSABLE. */
function writeScript({ context }: Desk, key: string, { kind, text }: { kind: 'sh' | 'mjs'; text: string }): string {
  mkdirSync(join(context.paths.scripts, BLUEPRINT_SCRIPTS), { recursive: true, mode: 0o700 });
  const file = `${BLUEPRINT_SCRIPTS}/${key}-${hexId(6)}.${kind}`;
  const note = `Made from the blueprint ${key}. It is removed with its job; copy it before you change it.`;
  writeFileAtomic(join(context.paths.scripts, file), `${kind === 'sh' ? '#' : '//'} ${note}\n${text}`, { mode: 0o600 });
  return file;
}

function checkValues(blueprint: Blueprint, given: Given): Values {
  const fields = fieldsOf(blueprint);
  const errors: { path: string; message: string }[] = [];
  for (const name of Object.keys(given)) {
    if (fields.some((field) => field.name === name)) continue;
    errors.push({
      path: `values.${name}`,
      message: `${blueprint.key} has no such field; it has ${fields.map((field) => field.name).join(', ')}`,
    });
  }
  const values: Record<string, string> = {};
  for (const field of fields) {
    const raw = Object.hasOwn(given, field.name) ? String(given[field.name]).trim() : (field.default ?? '');
    try {
      values[field.name] = checkValue(field, raw);
    } catch (thrown) {
      errors.push({ path: `values.${field.name}`, message: messageOf(thrown) });
    }
  }
  const [first] = errors;
  if (!first) return values;
  throw new AgentError('INVALID_PARAMS', `${first.path}: ${first.message}`, {
    field: first.path,
    facts: { errors },
    fix: `correct ${errors.map(({ path }) => path).join(', ')}`,
  });
}

/** The value as it is used. Throws with a sentence about what would be right. */
function checkValue(field: Field, value: string): string {
  const wrong = (message: string): never => {
    throw new Error(message);
  };
  if (value === '') return field.optional ? '' : wrong('it is needed');
  switch (field.type) {
    case 'time': {
      const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(value) ?? [];
      if (hour === undefined || Number(hour) > 23 || Number(minute) > 59) wrong('a time of day is written HH:MM, from 00:00 to 23:59');
      return `${hour!.padStart(2, '0')}:${minute}`;
    }
    case 'weekdays':
      return checkDays(value) ?? wrong(`${DAY_SETS.map((set) => set.value).join(', ')}, or days of the week with commas: mon,thu`);
    case 'enum':
      return (
        field.options.find((option) => option.value === value)?.value ??
        wrong(`one of ${field.options.map((option) => option.value).join(', ')}`)
      );
    case 'text':
      return checkText(field, value, wrong);
  }
}

/** In the words of a schedule, each day once, Monday first. */
function checkDays(value: string): string | undefined {
  const words = value
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  const named = words.map((word) => DAY_SETS.find((set) => set.value === word || set.also.includes(word))?.days ?? dayNamed(word));
  if (named.includes(undefined)) return undefined;
  const days = WEEKDAYS.filter((day) => named.some((some) => some?.includes(day)));
  return DAY_SETS.find((set) => set.days.join() === days.join())?.value ?? days.join(',');
}

/** A whole name, or its first three letters. */
function dayNamed(word: string): string[] | undefined {
  const day = WEEKDAYS.find((name) => name === word || name.slice(0, 3) === word);
  return day === undefined ? undefined : [day];
}

function checkText(field: Extract<Field, { type: 'text' }>, value: string, wrong: (message: string) => never): string {
  if (field.shape === 'number') {
    const ok = /^\d+$/.test(value) && Number(value) >= field.min && Number(value) <= field.max;
    return ok ? String(Number(value)) : wrong(`a whole number from ${field.min} to ${field.max}`);
  }
  const max = field.long ? TEXT_MAX_CHARS : limits.cron.fieldMaxChars;
  if (value.length > max) wrong(`at most ${max} characters`);
  if (/[\0-\x08\x0b-\x1f\x7f]/.test(value) || (!field.long && /[\n\t]/.test(value))) wrong('no control characters, and one line');
  if (field.name === 'deliver') checkDeliver(value);
  switch (field.shape) {
    case 'path': {
      const path = value === '~' || value.startsWith('~/') ? `${homedir()}${value.slice(1)}` : value;
      return path.startsWith('/') ? path : wrong('a whole path, from / or ~/');
    }
    case 'zone':
      return isZone(value) ? value : wrong('a time zone such as Europe/Berlin');
    case 'schedule':
      // Its zone is known where the job is made.
      return parseSchedule(value, { nowMs: Date.now(), zone: 'UTC' }).display;
    case 'url':
      return isUrl(value) ? value : wrong('an address that begins with http:// or https://');
    case 'urls': {
      const urls = value.split(/\s+/);
      return urls.every(isUrl) ? urls.join('\n') : wrong('addresses that begin with http:// or https://, one in a line');
    }
    default:
      return value;
  }
}

/** Goes into a prompt or a script. */
const TEXT_MAX_CHARS = 2_000;

const isUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

function fieldView(field: Field): BlueprintField {
  const options =
    field.type === 'enum'
      ? [...field.options]
      : field.type === 'weekdays'
        ? [
            ...DAY_SETS.map(({ value, label }) => ({ value, label })),
            ...WEEKDAYS.map((day) => ({ value: day, label: `every ${capital(day)}` })),
          ]
        : [];
  const bounds = field.type === 'text' && field.shape === 'number' ? field : { min: null, max: null };
  return {
    name: field.name,
    type: field.type,
    label: field.label,
    help: field.help ?? null,
    default: field.default ?? null,
    optional: field.optional ?? false,
    strict: field.type === 'enum',
    options,
    min: bounds.min,
    max: bounds.max,
    long: field.type === 'text' && field.shape !== 'number' && field.long === true,
  };
}

const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** Values that fit, for what does not depend on them. */
const examples = ({ fields }: Blueprint): Values =>
  Object.fromEntries(fields.map((field) => [field.name, field.default ?? exampleOf(field)]));

const exampleOf = (field: Field): string => {
  if (field.type !== 'text' || field.shape === undefined) return field.optional ? '' : 'text';
  return field.optional
    ? ''
    : ({ path: '/', url: 'https://example.org/', urls: 'https://example.org/', zone: 'UTC', schedule: '1d', number: '1' } as const)[
        field.shape
      ];
};

/** With the fields that have to be given. */
function commandOf(blueprint: Blueprint): string {
  const needed = fieldsOf(blueprint).filter((field) => field.default === undefined && !field.optional);
  const sets = needed.map(({ name }) => ` --set ${name}=…`).join('');
  return `agent cron add --blueprint ${blueprint.key}${sets}`;
}
