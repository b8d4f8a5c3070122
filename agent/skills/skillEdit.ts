/**
 * Changes of skills that the agent makes itself: checked here as whole files, then written, or staged
 * for the owner.
 */
import { realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { scanText } from '../context/scan.ts';
import type { LibraryState, SkillEntry } from './library.ts';
import { isSafeRelative, parseSkill, SkillName } from './skillFile.ts';
import { pathInside, readSkillFile, textOrNull } from './skillFolder.ts';

export interface SkillRequest {
  action: 'create' | 'edit' | 'patch' | 'delete';
  name: string;
  /** Folder of a new skill. */
  category?: string | undefined;
  /** Below the folder of the skill; default SKILL.md. */
  file?: string | undefined;
  /** The whole new text (create, edit). */
  content?: string | undefined;
  /** The one place that changes (patch). */
  old_string?: string | undefined;
  new_string?: string | undefined;
}

export interface SkillWrite {
  action: SkillRequest['action'];
  name: string;
  /** Below the skills folder of the profile, with slashes. */
  folder: string;
  /** Below `folder`; null = the whole skill goes. */
  file: string | null;
  /** Null = there is no such file. */
  before: string | null;
  /** Null = it is removed. */
  after: string | null;
}

/** A change as it is kept for the owner's review: a file below the skills folder; `content` null = it, or the whole skill, goes. */
export interface StagedSkill {
  kind: 'skill';
  name: string;
  action: SkillRequest['action'];
  sessionId: string | null;
  write: { path: string; content: string | null };
}

/** Durable when it returns; its id. The approvals of the host implement it. */
export type StageWrite = (change: StagedSkill) => string;

export interface SkillEditor {
  /** Written, or staged with the id. Errors: NOT_FOUND, BAD_REQUEST, TOOL_REFUSED, DISK_FULL. */
  change(request: SkillRequest): { write: SkillWrite; staged: string | null };
}

/** What a request would do. `root`: the skills folder of the profile. Errors: NOT_FOUND, BAD_REQUEST. */
export function plannedWrite(request: SkillRequest, { skills, bad }: LibraryState, root: string): SkillWrite {
  const { action, name } = request;
  const existing = skills.get(name) ?? broken(name, bad);
  if (action === 'create') {
    if (existing) throw new AgentError('BAD_REQUEST', `there is a skill ${name} already`, { fix: 'change it with edit or patch' });
    return created(request);
  }
  if (!existing) {
    throw new AgentError('NOT_FOUND', `there is no skill ${name}`, {
      fix: `known: ${[...skills.keys()].slice(0, 30).join(', ') || 'none'}`,
    });
  }
  const folder = folderBelow(root, existing);
  if (action === 'delete' && request.file === undefined)
    return { action, name, folder, file: null, before: readSkillFile(existing.path, 'SKILL.md'), after: null };
  const file = request.file ?? 'SKILL.md';
  pathInside(existing.path, file);
  const before = textOrNull(existing.path, file);
  if (action === 'delete') {
    if (before === null) throw new AgentError('NOT_FOUND', `the skill ${name} has no file ${file}`);
    if (file === 'SKILL.md')
      throw new AgentError('BAD_REQUEST', 'a skill is nothing without SKILL.md', { fix: 'delete without `file` removes the skill' });
    return { action, name, folder, file, before, after: null };
  }
  const after = action === 'patch' ? patched(request, before, file) : required(request.content, 'content');
  checkText(after, file, name);
  return { action, name, folder, file, before, after };
}

function created({ action, name, category, content }: SkillRequest): SkillWrite {
  const wrong = SkillName.safeParse(name).error?.issues[0]?.message;
  if (wrong) throw new AgentError('BAD_REQUEST', `"${name}" cannot name a skill: ${wrong}`, { field: 'name' });
  if (category !== undefined && (!isSafeRelative(category) || category.includes('/') || category.startsWith('.')))
    throw new AgentError('BAD_REQUEST', `"${category}" cannot be a category`, { field: 'category', fix: 'one word, for example devops' });
  const after = required(content, 'content');
  checkText(after, 'SKILL.md', name);
  return { action, name, folder: category ? `${category}/${name}` : name, file: 'SKILL.md', before: null, after };
}

function patched({ old_string, new_string }: SkillRequest, before: string | null, file: string): string {
  const old = required(old_string, 'old_string');
  if (before === null) throw new AgentError('NOT_FOUND', `there is no ${file} to patch`, { fix: 'write it with edit' });
  const places = before.split(old).length - 1;
  if (places !== 1) {
    throw new AgentError('BAD_REQUEST', `old_string stands in ${file} ${places} times, not once`, {
      field: 'old_string',
      fix: places === 0 ? 'read the file again and copy the place exactly' : 'take in more of what stands around it',
    });
  }
  // A function, so that $& in the new text is only text.
  return before.replace(old, () => new_string ?? '');
}

function checkText(text: string, file: string, name: string): void {
  if (Buffer.byteLength(text) > limits.skills.fileMaxBytes)
    throw new AgentError('BAD_REQUEST', `${file} would have more than ${limits.skills.fileMaxBytes} bytes`, {
      fix: 'split it into several files',
    });
  const finding = scanText(text, 'skill');
  if (finding)
    throw new AgentError('BAD_REQUEST', `${file} is not written: it ${finding.why} (line ${finding.line})`, {
      fix: 'write it without that',
    });
  if (file !== 'SKILL.md') return;
  const { skill, problems } = parseSkill(text, name);
  const first = problems[0];
  if (!skill)
    throw new AgentError('BAD_REQUEST', `SKILL.md, line ${first!.line}: ${first!.message}`, {
      fix: 'begin it with ---, name, description, ---',
    });
  if (skill.name !== name) throw new AgentError('BAD_REQUEST', `its frontmatter names it ${skill.name}, not ${name}`, { field: 'name' });
}

/** A skill whose file is wrong can be repaired or removed. */
function broken(name: string, bad: LibraryState['bad']): Pick<SkillEntry, 'path'> | undefined {
  return bad.find((entry) => entry.name === name);
}

/** Errors: BAD_REQUEST for skills of other folders, which belong to somebody else. */
function folderBelow(root: string, { path }: Pick<SkillEntry, 'path'>): string {
  const [top, folder] = [realOf(root), realOf(path)];
  if (folder.startsWith(top + sep)) return folder.slice(top.length + 1).replaceAll(sep, '/');
  throw new AgentError('BAD_REQUEST', `${path} does not lie in ${root} and is not changed from here`, {
    fix: 'its owner changes it, or make a skill of your own with another name',
  });
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function required(text: string | undefined, field: string): string {
  if (text === undefined || text === '') throw new AgentError('BAD_REQUEST', `${field} is missing`, { field });
  return text;
}
