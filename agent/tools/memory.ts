/**
 * `memory`: short facts that outlive a conversation, in MEMORY.md and USER.md, separated by `§`. An edit is a
 * value that can wait for its owner (`memory.write_approval`) and be applied to what the file holds by then.
 */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { MemoryStore, ToolResult } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const SEPARATOR = '\n§\n';
export const memoryCaps = { memory: limits.tools.memoryMaxChars, user: limits.tools.userMaxChars } as const;

export const MemoryEdit = z.object({
  action: z.enum(['add', 'replace', 'remove']),
  target: z.enum(['memory', 'user']).default('memory').describe('`memory`: notes of your own; `user`: what is known about the user.'),
  content: z.string().trim().max(2_000).optional().describe('The new entry (add, replace).'),
  old_text: z.string().optional().describe('Part of the one entry that is meant (replace, remove).'),
});
export type MemoryEdit = z.infer<typeof MemoryEdit>;

/** Puts an edit before the owner instead of making it; undefined = edits are made at once. Errors: QUEUE_FULL. */
export type StageEdit = (edit: MemoryEdit) => void;

export function memoryTool(store: MemoryStore, stage?: StageEdit): Tool {
  return defineTool({
    name: 'memory',
    toolset: 'memory',
    description: 'Keeps short facts for later conversations. Entries added now are part of the prompt from the next session on.',
    args: MemoryEdit,
    async run(edit) {
      const { text, entries, said } = edited(store.read(edit.target), edit);
      const used = `(${text.length} of ${memoryCaps[edit.target]} characters used)`;
      if (stage) {
        stage(edit);
        return result(`Put before the user for review, not in force yet: ${said}`, { target: edit.target, staged: true });
      }
      store.write(edit.target, text);
      return result(`${said} ${used}`, { target: edit.target, entries });
    },
  });
}

const result = (text: string, data: unknown): ToolResult => ({ text, data, isError: false });

/** The file after an edit. Errors: BAD_REQUEST, NOT_FOUND, TOOL_REFUSED when it would be too long. */
export function edited(before: string, edit: MemoryEdit): { text: string; entries: string[]; said: string } {
  const entries = split(before);
  const { next, said } = changed(entries, edit);
  const text = next.join(SEPARATOR);
  const room = memoryCaps[edit.target];
  if (text.length > room && next.length >= entries.length) {
    throw new AgentError('TOOL_REFUSED', `the ${edit.target} file would have ${text.length} of ${room} characters`, {
      fix: `remove or shorten an entry first: ${entries.map((entry) => `"${entry}"`).join(', ')}`,
    });
  }
  return { text: text ? `${text}\n` : '', entries: next, said };
}

const split = (text: string): string[] =>
  text
    .split(/\n?§\n?/)
    .map((entry) => entry.trim())
    .filter(Boolean);

function changed(entries: string[], { action, content, old_text }: MemoryEdit): { next: string[]; said: string } {
  if (action !== 'remove' && !content) throw new AgentError('BAD_REQUEST', `${action} needs content`);
  if (content?.includes('§'))
    throw new AgentError('BAD_REQUEST', '§ separates entries and cannot stand in one', { fix: 'add each entry on its own' });
  if (action === 'add') {
    if (entries.includes(content!)) return { next: entries, said: 'That is remembered already' };
    return { next: [...entries, content!], said: `Remembered: ${content}` };
  }
  const index = onlyMatch(entries, old_text);
  const next = entries.toSpliced(index, 1, ...(action === 'replace' ? [content!] : []));
  return { next, said: action === 'replace' ? `Replaced by: ${content}` : `Removed: ${entries[index]}` };
}

function onlyMatch(entries: string[], part: string | undefined): number {
  const found = entries.flatMap((entry, index) => (part && entry.includes(part) ? [index] : []));
  if (found.length === 1) return found[0]!;
  const fits = found.length === 0 ? `no entry holds "${part ?? ''}"` : `${found.length} entries hold "${part}"; one must be meant`;
  throw new AgentError('NOT_FOUND', part ? fits : 'old_text is missing: a part of the entry that is meant', {
    fix: `entries: ${entries.map((entry) => `"${entry}"`).join(', ') || 'none'}`,
  });
}
