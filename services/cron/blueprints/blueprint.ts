/** What a blueprint is: fields of the four kinds that the interface spec has (other.2), and what a job made of their values looks like. Data; the checks are in ../blueprints.ts. */

interface FieldBase {
  name: string;
  /** The question. */
  label: string;
  help?: string;
  default?: string;
  /** May be left empty. */
  optional?: true;
}

export type Field = FieldBase &
  (
    | { type: 'text'; long?: true; shape?: 'path' | 'url' | 'urls' | 'zone' | 'schedule' }
    | { type: 'text'; shape: 'number'; min: number; max: number }
    /** `weekdays`: `day`, `weekday`, `weekend`, or names of days with commas, as `every {days} {time}` takes them. */
    | { type: 'time' | 'weekdays' }
    | { type: 'enum'; options: readonly { value: string; label: string }[] }
  );

/** By field name; every field of the blueprint is there, an optional one perhaps empty. */
export type Values = Readonly<Record<string, string>>;

export interface BlueprintJob {
  name: string;
  schedule: string;
  prompt?: string;
  /** Written into `scripts/` as a program of its own; values in it are quoted by `sh` or `js`. */
  script?: { kind: 'sh' | 'mjs'; text: string };
}

export interface Blueprint {
  key: string;
  title: string;
  /** One sentence. */
  description: string;
  category: 'Daily' | 'This machine' | 'Work' | 'Reading';
  tags: readonly string[];
  fields: readonly Field[];
  job(values: Values): BlueprintJob;
}

/** A value as one word of a shell script. */
export const sh = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;
/** A value as a literal of a module. */
export const js = (value: string): string => JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

export const timeField = (preset: string): Field => ({
  name: 'time',
  type: 'time',
  label: 'At what time?',
  default: preset,
  help: '24 hours, HH:MM',
});

export const daysField = {
  name: 'days',
  type: 'weekdays',
  label: 'On which days?',
  default: 'day',
  help: 'day, weekday, weekend, or days such as mon,thu',
} satisfies Field;

export const everyField = (preset: string, values: readonly string[]): Field => ({
  name: 'every',
  type: 'enum',
  label: 'How often?',
  default: preset,
  options: values.map((value) => ({
    value,
    label: `every ${value.replace(/m$/, ' minutes').replace(/^1h$/, 'hour').replace(/h$/, ' hours').replace(/^1d$/, 'day')}`,
  })),
});
