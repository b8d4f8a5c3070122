/** Fields of config.yaml for a form: types and bounds from the schema, words and defaults from the table beside it. */
import { z } from 'zod';
import { classOf } from './classes.ts';
import { categoryLabels, fieldWords } from './fieldWords.ts';
import { dottedKey } from './diff.ts';
import { platformSettings } from './platformSettings.ts';
import { Config } from './schema.ts';

export interface ConfigField {
  /** `list`: of texts. `map`: names to texts. `structure`: anything deeper, written as YAML. */
  type: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'map' | 'structure';
  label: string;
  description: string;
  category: string;
  /** What holds when nothing is written; null = nothing. */
  default: unknown;
  options: string[] | null;
  min: number | null;
  max: number | null;
  /** Whole numbers only. */
  whole: boolean;
  applies: 'live' | 'slot' | 'supervisor';
  /** Slots that a running service restarts for it. */
  slots: readonly string[];
}

export interface ConfigForm {
  fields: Record<string, ConfigField>;
  category_order: string[];
  category_labels: Record<string, string>;
}

export function configForm(): ConfigForm {
  const fields = Object.fromEntries(leaves(Config as z.ZodType, []).map(([path, schema]) => [path.join('.'), fieldOf(path, schema)]));
  const used = new Set(Object.values(fields).map(({ category }) => category));
  const known = Object.keys(categoryLabels);
  return {
    fields,
    category_order: [...known.filter((name) => used.has(name)), ...[...used].filter((name) => !known.includes(name))],
    category_labels: { ...categoryLabels },
  };
}

/** Fields at and below a key, also below a name of the user's own (`providers.box`). Empty: nothing reads such a key. */
export function fieldsBelow(path: readonly (string | number)[]): Record<string, ConfigField> {
  let schema: z.ZodType | undefined = Config;
  for (const [depth, part] of path.entries()) {
    const inner: z.ZodType = bare(schema);
    if (depth === 1 && path[0] === 'platforms') schema = (platformSettings as Record<string, z.ZodType>)[String(part)];
    else if (inner instanceof z.ZodObject) schema = (inner.shape as Record<string, z.ZodType>)[String(part)];
    else schema = inner instanceof z.ZodRecord ? (inner.valueType as z.ZodType) : undefined;
    if (!schema) return {};
  }
  return Object.fromEntries(leaves(schema, path.map(String)).map(([keys, leaf]) => [dottedKey(keys), fieldOf(keys, leaf)]));
}

/** Defaults as they would stand in the file. */
export function configDefaults(): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [key, { default: value }] of Object.entries(configForm().fields)) {
    if (value === null) continue;
    const path = key.split('.');
    const last = path.pop()!;
    let section = all;
    for (const name of path) section = (section[name] ??= {}) as Record<string, unknown>;
    section[last] = value;
  }
  return all;
}

/** Sections are walked; what has free names inside is one field. */
function leaves(schema: z.ZodType, path: string[]): [string[], z.ZodType][] {
  const inner = bare(schema);
  return inner instanceof z.ZodObject
    ? Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, part]) => leaves(part, [...path, name]))
    : [[path, schema]];
}

const bare = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? bare(schema.unwrap() as z.ZodType) : schema;

function fieldOf(path: string[], written: z.ZodType): ConfigField {
  const schema = bare(written);
  const key = path.join('.');
  const words = fieldWords[key];
  const change = classOf(path);
  const number = schema instanceof z.ZodNumber ? schema : undefined;
  return {
    type: typeOf(schema),
    label: words?.label ?? labelOf(path.at(-1)!),
    description: words?.help ?? '',
    category: words?.category ?? path[0]!,
    default: words?.default ?? (written instanceof z.ZodDefault ? written.def.defaultValue : null),
    options: schema instanceof z.ZodEnum ? schema.options.map(String) : null,
    min: bound(number?.minValue),
    max: bound(number?.maxValue),
    whole: number?.isInt ?? false,
    applies: change.kind,
    slots: change.kind === 'slot' ? change.slots : [],
  };
}

function typeOf(schema: z.ZodType): ConfigField['type'] {
  if (schema instanceof z.ZodEnum) return 'choice';
  if (schema instanceof z.ZodArray) return bare(schema.element as z.ZodType).type === 'string' ? 'list' : 'structure';
  if (schema instanceof z.ZodRecord) return bare(schema.valueType as z.ZodType).type === 'string' ? 'map' : 'structure';
  if (schema.type === 'boolean' || schema.type === 'number') return schema.type;
  return schema.type === 'string' ? 'text' : 'structure';
}

/** A bound that only says "not infinite" is none. */
const bound = (value: number | null | undefined): number | null =>
  value === null || value === undefined || !Number.isFinite(value) || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value;

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ').replace(/\bms$/, '(ms)').replace(/\bmb$/, '(MB)');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
