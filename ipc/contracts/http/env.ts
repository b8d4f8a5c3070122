/** `.env` of a profile over HTTP (reference/clients §1.4): what is set, never with its value but where one asks for it. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';

const Name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'it is not the name of a variable');
const Row = z.object({
  is_set: z.boolean(),
  source: z.enum(['env_file', 'environment']).nullable(),
  redacted_value: z.string().nullable(),
  description: z.string(),
  url: z.string().nullable(),
  category: z.enum(['providers', 'platforms', 'dashboard', 'cron', 'web', 'other']),
  is_password: z.boolean(),
  used_by: z.array(z.string()),
  tools: z.array(z.string()),
  advanced: z.boolean(),
  channel_managed: z.boolean(),
  custom: z.boolean(),
});
export type EnvRowView = z.infer<typeof Row>;

const shared = { tag: 'Environment', profile: true } as const;
const refusals = ['ENV_INVALID', 'LOCK_HELD', 'DISK_FULL', 'HOME_UNUSABLE'] as const;

export const listEnv = httpRoute('GET /api/env', {
  ...shared,
  summary: 'Known variables, those of the file, and those that config.yaml names, by name.',
  result: z.record(z.string(), Row),
});

export const setEnv = httpRoute('PUT /api/env', {
  ...shared,
  summary: 'Writes one variable; running workers see it at once.',
  body: z.strictObject({ key: Name, value: z.string().min(1).max(limits.env.valueMaxBytes), profile: Profile }),
  result: z.object({ ok: z.literal(true), key: z.string(), replaced: z.boolean() }),
  errors: refusals,
});

export const deleteEnv = httpRoute('DELETE /api/env', {
  ...shared,
  summary: 'Removes one variable.',
  body: z.strictObject({ key: Name, profile: Profile }),
  result: z.object({ ok: z.literal(true), key: z.string() }),
  errors: [...refusals, 'NOT_FOUND'],
});

export const revealEnv = httpRoute('POST /api/env/reveal', {
  ...shared,
  summary: 'The value of one variable of the file. Rate limited, and logged without the value.',
  body: z.strictObject({ key: Name, profile: Profile }),
  result: z.object({ key: z.string(), value: z.string() }),
  errors: ['NOT_FOUND', 'TOO_MANY_REQUESTS', 'HOME_UNUSABLE'],
});
