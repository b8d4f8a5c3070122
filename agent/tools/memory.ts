/** `memory`: short facts that outlive a conversation, in MEMORY.md and USER.md, separated by `§`. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { MemoryStore, ToolResult } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const SEPARATOR = '\n§\n';
const maxChars = { memory: limits.tools.memoryMaxChars, user: limits.tools.userMaxChars } as const;

const Args = z.object({
  action: z.enum(['add', 'replace', 'remove']),
  target: z.enum(['memory', 'user']).default('memory').describe('`memory`: notes of your own; `user`: what is known about the user.'),
  content: z.string().trim().max(2_000).optional().describe('The new entry (add, replace).'),
  old_text: z.string().optional().describe('Part of the one entry that is meant (replace, remove).'),
});
type Args = z.infer<typeof Args>;

export function memoryTool(store: MemoryStore): Tool {
  return defineTool({
    name: 'memory',
    toolset: 'memory',
    description: 'Keeps short facts for later conversations. Entries added now are part of the prompt from the next session on.',
    args: Args,
    async run(args) {
      const entries = split(store.read(args.target));
      const { next, said } = changed(entries, args);
      const text = next.join(SEPARATOR);
      const room = maxChars[args.target];
      if (text.length > room && next.length >= entries.length) {
        return refusal(
          `The ${args.target} file would have ${text.length} of ${room} characters; remove or shorten an entry first: ${entries.map((entry) => `"${entry}"`).join(', ')}`,
        );
      }
      store.write(args.target, text ? `${text}\n` : '');
      return {
        text: `${said} (${text.length} of ${room} characters used)`,
        data: { target: args.target, entries: next },
        isError: false,
      } satisfies ToolResult;
    },
  });
}

const split = (text: string): string[] =>
  text
    .split(/\n?§\n?/)
    .map((entry) => entry.trim())
    .filter(Boolean);

function changed(entries: string[], { action, content, old_text }: Args): { next: string[]; said: string } {
  if (action !== 'remove' && !content) throw new AgentError('BAD_REQUEST', `${action} needs content`);
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
  throw new AgentError('NOT_FOUND', `old_text fits ${found.length} entries, not one`, {
    fix: `entries: ${entries.map((entry) => `"${entry}"`).join(', ') || 'none'}`,
  });
}

const refusal = (text: string): ToolResult => ({ text, isError: true });
