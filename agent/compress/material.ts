/** The replaced messages as text for the model that summarises them, in pieces that fit its window. */
import { limits } from '../../base/limits.ts';
import type { ModelMessage } from '../ports.ts';
import { cutMiddle } from '../tools/outputCap.ts';
import { textTokens } from '../context/estimate.ts';

/** Of English text and JSON; only to cut by, nothing is counted with it. */
const CHARS_PER_TOKEN = 4;

/** Pieces of at most `maxTokens` tokens (estimated), each ending between two messages. Files are named, never included. */
export function materialOf(messages: readonly ModelMessage[], maxTokens: number): string[] {
  const pieces: string[] = [];
  let open = '';
  for (const message of messages) {
    const text = cutMiddle(written(message), Math.min(limits.compress.materialMessageMaxChars, maxTokens * CHARS_PER_TOKEN));
    if (open && textTokens(open) + textTokens(text) > maxTokens) {
      pieces.push(open);
      open = '';
    }
    open += `${text}\n\n`;
  }
  return open ? [...pieces, open] : pieces;
}

function written(message: ModelMessage): string {
  switch (message.role) {
    case 'user': {
      const files = (message.files ?? []).map(({ kind, name }) => `\n[${kind}: ${name}]`).join('');
      return `USER: ${message.content}${files}`;
    }
    case 'summary':
      return `EARLIER RECORD:\n${message.content}`;
    case 'assistant': {
      const calls = message.toolCalls.map(({ name, args }) => `\n[calls ${name} ${JSON.stringify(args)}]`).join('');
      return `ASSISTANT: ${message.content}${calls}`;
    }
    case 'tool':
      return `RESULT of ${message.toolName}${message.isError ? ' (failed)' : ''}: ${message.content}`;
  }
}
