/** Skills over HTTP (reference/clients §1.4). They are the agent worker's of that profile. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';
import { SkillRow } from '../rpcTools.ts';

const tag = 'Skills';
const Name = z.string().min(1).max(200);
const Path = z.string().min(1).max(300);
const Content = z.string().min(1).max(limits.skills.fileMaxBytes);
const Saved = z.object({ name: z.string(), path: z.string(), version: z.string() });

export const listSkills = httpRoute('GET /api/skills', {
  tag,
  summary: 'Every skill of the profile, whether it is offered and why not; files that are wrong, with their line.',
  profile: true,
  query: z.looseObject({ platform: z.string().max(64).optional() }),
  result: z.object({ skills: z.array(SkillRow), problems: z.array(z.object({ path: z.string(), message: z.string() })) }),
});

export const toggleSkill = httpRoute('PUT /api/skills/toggle', {
  tag,
  summary: 'Offers a skill, or does no longer: writes skills.disabled of config.yaml.',
  profile: true,
  body: z.strictObject({ name: Name, enabled: z.boolean(), profile: Profile }),
  result: z.object({ name: z.string(), enabled: z.boolean() }),
  errors: ['NOT_FOUND', 'CONFIG_INVALID', 'DISK_FULL'],
});

export const readSkill = httpRoute('GET /api/skills/content', {
  tag,
  summary: 'SKILL.md, or one of the files beside it. `version` names what the file says on disk.',
  profile: true,
  query: z.looseObject({ name: Name, file: Path.optional() }),
  result: z.object({ name: z.string(), path: z.string(), content: z.string(), version: z.string(), files: z.array(z.string()) }),
  errors: ['NOT_FOUND', 'SKILL_UNREACHABLE'],
});

export const writeSkill = httpRoute('PUT /api/skills/content', {
  tag,
  summary:
    'Writes SKILL.md, or one of the files beside it, of a skill of the profile. With the `version` that was read, only over that one.',
  profile: true,
  body: z.strictObject({ name: Name, file: Path.optional(), content: Content, version: z.string().max(64).optional(), profile: Profile }),
  result: Saved,
  errors: ['NOT_FOUND', 'CONFIG_CHANGED', 'DISK_FULL'],
});

export const createSkill = httpRoute('POST /api/skills', {
  tag,
  summary: 'Makes a skill from the text of its SKILL.md.',
  profile: true,
  body: z.strictObject({ name: Name, category: z.string().max(100).optional(), content: Content, profile: Profile }),
  result: Saved,
  status: 201,
  errors: ['DISK_FULL'],
});
