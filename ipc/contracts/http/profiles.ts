/** Profiles over HTTP (reference/clients §1.4). */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';

const Name = z.string().min(1).max(64);
const Named = z.object({ name: z.string().max(64) });
const Description = z.string().max(limits.profiles.descriptionMaxChars);
const Word = z.string().min(1).max(200);

export const ProfileRow = z.object({
  name: z.string(),
  path: z.string(),
  is_default: z.boolean(),
  /** `agent` works on it when no `-p` is given. */
  is_active: z.boolean(),
  description: z.string(),
  model: z.string().nullable(),
  provider: z.string().nullable(),
  has_env: z.boolean(),
  skill_count: z.number(),
  agent_running: z.boolean(),
  gateway_running: z.boolean(),
});
export type ProfileRow = z.infer<typeof ProfileRow>;

const tag = 'Profiles';

export const listProfilesRoute = httpRoute('GET /api/profiles', {
  tag,
  summary: 'Every profile, the default one first; whether its agent and its gateway run.',
  result: z.object({ profiles: z.array(ProfileRow) }),
});

export const createProfileRoute = httpRoute('POST /api/profiles', {
  tag,
  summary: 'Makes a profile, empty or with settings, secrets, personality and skills of another.',
  body: z.strictObject({
    name: Name,
    description: Description.optional(),
    clone_from: Name.optional(),
    clone_from_default: z.boolean().optional(),
    /** Its memory and scripts too. */
    clone_all: z.boolean().optional(),
    no_skills: z.boolean().optional(),
    model: Word.optional(),
    provider: Word.optional(),
  }),
  result: ProfileRow,
  status: 201,
  errors: ['PROFILE_EXISTS', 'UNKNOWN_PROFILE', 'DISK_FULL'],
});

export const renameProfileRoute = httpRoute('PATCH /api/profiles/:name', {
  tag,
  summary: 'Renames a profile none of whose workers runs.',
  params: Named,
  body: z.strictObject({ new_name: Name }),
  result: ProfileRow,
  errors: ['UNKNOWN_PROFILE', 'PROFILE_EXISTS', 'PROFILE_RUNS'],
});

export const deleteProfileRoute = httpRoute('DELETE /api/profiles/:name', {
  tag,
  summary: 'Moves a profile none of whose workers runs to backups/profiles.',
  params: Named,
  result: z.object({ ok: z.literal(true), backup: z.string() }),
  errors: ['UNKNOWN_PROFILE', 'PROFILE_RUNS'],
});

export const getActiveProfile = httpRoute('GET /api/profiles/active', {
  tag,
  summary: 'The profile that `agent` works on when no -p is given, and the one this dashboard takes when a request names none.',
  result: z.object({ active: z.string(), current: z.string() }),
});

export const setActiveProfile = httpRoute('POST /api/profiles/active', {
  tag,
  summary: 'Chooses the profile that `agent` works on when no -p is given.',
  body: z.strictObject({ name: Name }),
  result: z.object({ active: z.string(), current: z.string() }),
  errors: ['UNKNOWN_PROFILE'],
});

export const setProfileDescription = httpRoute('PUT /api/profiles/:name/description', {
  tag,
  summary: 'A line for people: what the profile is for.',
  params: Named,
  body: z.strictObject({ description: Description }),
  result: ProfileRow,
  errors: ['UNKNOWN_PROFILE', 'DISK_FULL'],
});

export const setProfileModelRoute = httpRoute('PUT /api/profiles/:name/model', {
  tag,
  summary: 'Writes model.default, and model.provider when given, of its config.yaml.',
  params: Named,
  body: z.strictObject({ model: Word, provider: Word.optional() }),
  result: ProfileRow,
  errors: ['UNKNOWN_PROFILE', 'CONFIG_INVALID', 'DISK_FULL'],
});

/** `version` names what the file says. */
const Soul = z.object({ content: z.string(), version: z.string(), path: z.string(), exists: z.boolean() });

export const getSoul = httpRoute('GET /api/profiles/:name/soul', {
  tag,
  summary: 'The personality of a profile: its SOUL.md.',
  params: Named,
  result: Soul,
  errors: ['UNKNOWN_PROFILE'],
});

export const putSoul = httpRoute('PUT /api/profiles/:name/soul', {
  tag,
  summary: 'Writes SOUL.md; new conversations have it. With the `version` that was read, only over that one.',
  params: Named,
  body: z.strictObject({ content: z.string().max(limits.profiles.soulMaxChars), version: z.string().max(64).optional() }),
  result: Soul,
  errors: ['UNKNOWN_PROFILE', 'CONFIG_CHANGED', 'DISK_FULL'],
});
