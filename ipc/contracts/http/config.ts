/** config.yaml of a profile over HTTP: as values, as text, and what a form needs. Secrets in it are masked; a mask that comes back keeps them. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';

const Values = z.record(z.string(), z.unknown()).superRefine((values, context) => {
  const problem = problemOf(values);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});

/** Names that mean something else to every object of the language. */
const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Level by level: what a client nests is walked without a stack. */
function problemOf(values: unknown): string | undefined {
  let level: unknown[] = [values];
  let keys = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.configEdit.depthMax) return `it goes deeper than ${limits.configEdit.depthMax} levels`;
    const maps = level.filter((value) => typeof value === 'object' && value !== null);
    const names = maps.flatMap((map) => (Array.isArray(map) ? [] : Object.keys(map)));
    keys += names.length;
    if (keys > limits.state.configKeysMax) return `it has more than ${limits.state.configKeysMax} keys`;
    const reserved = names.find((name) => RESERVED.has(name));
    if (reserved !== undefined) return `${reserved} cannot be a key`;
    level = maps.flatMap((map) => Object.values(map));
  }
  return undefined;
}

/** Names a state of the file; also the ETag. */
const Version = z.string().max(64);
/** What is wrong with the file as it stands; what was good last serves. */
const Problem = z.object({ line: z.number(), column: z.number(), key: z.string(), message: z.string(), fix: z.string() });
export type ConfigProblemView = z.infer<typeof Problem>;

/** `restarts`: slots that a running service restarts by itself. `restart_required`: keys that wait for the next start of the service. */
const Changed = z.object({
  ok: z.literal(true),
  version: Version,
  changed: z.array(z.object({ key: z.string(), applies: z.enum(['live', 'slot', 'supervisor']), slots: z.array(z.string()).readonly() })),
  restarts: z.array(z.string()),
  restart_required: z.array(z.string()),
  unknown: z.array(z.string()),
});
export type ConfigChanged = z.infer<typeof Changed>;

const Field = z.object({
  type: z.enum(['text', 'number', 'boolean', 'choice', 'list', 'map', 'structure']),
  label: z.string(),
  description: z.string(),
  category: z.string(),
  default: z.unknown(),
  options: z.array(z.string()).nullable(),
  min: z.number().nullable(),
  max: z.number().nullable(),
  whole: z.boolean(),
  applies: z.enum(['live', 'slot', 'supervisor']),
  slots: z.array(z.string()).readonly(),
});
export type ConfigFieldView = z.infer<typeof Field>;

const shared = { tag: 'Configuration', profile: true } as const;
const refusals = ['CONFIG_INVALID', 'CONFIG_KEY', 'CONFIG_CHANGED', 'CONFIG_LOCKOUT', 'LOCK_HELD', 'DISK_FULL'] as const;

export const getConfig = httpRoute('GET /api/config', {
  ...shared,
  summary: 'The configuration in force, as values; `problem` when the file is broken and an older version serves.',
  result: z.object({
    config: Values,
    path: z.string(),
    version: Version,
    problem: Problem.nullable(),
    unknown: z.array(z.string()),
  }),
});

export const putConfig = httpRoute('PUT /api/config', {
  ...shared,
  summary: 'Merges values into the file (null removes); with `replace` they are all that is to be there. Comments stay.',
  body: z.strictObject({ config: Values, replace: z.boolean().optional(), version: Version.optional(), profile: Profile }),
  result: Changed,
  errors: refusals,
});

export const getConfigDefaults = httpRoute('GET /api/config/defaults', {
  ...shared,
  summary: 'What holds where nothing is written.',
  result: z.object({ config: Values }),
});

export const getConfigSchema = httpRoute('GET /api/config/schema', {
  ...shared,
  summary: 'Fields of a form: type, bounds, words, default, and when a change counts.',
  result: z.object({
    fields: z.record(z.string(), Field),
    category_order: z.array(z.string()),
    category_labels: z.record(z.string(), z.string()),
  }),
});

export const getConfigRaw = httpRoute('GET /api/config/raw', {
  ...shared,
  summary: 'The file as text.',
  result: z.object({ yaml: z.string(), path: z.string(), version: Version, problem: Problem.nullable() }),
});

export const putConfigRaw = httpRoute('PUT /api/config/raw', {
  ...shared,
  summary: 'Replaces the text of the file; refused with line and column when it is not valid.',
  body: z.strictObject({ yaml_text: z.string(), version: Version.optional(), profile: Profile }),
  result: Changed,
  errors: refusals,
  bodyMaxBytes: limits.configEdit.bodyMaxBytes,
});
