/** A text that a command is given as a file, or on stdin. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { AgentError, errnoOf } from '../base/errors.ts';

/** `-` is stdin. Errors: USAGE when it cannot be read or is longer than `maxChars`. */
export async function textOf(file: string, maxChars: number): Promise<string> {
  const content = file === '-' ? await text(process.stdin) : readFile(file);
  if (content.length <= maxChars) return content;
  throw new AgentError('USAGE', `${file} has ${content.length} characters; at most ${maxChars} are taken`);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new AgentError('USAGE', `cannot read ${file} (${errnoOf(cause) ?? 'error'})`, { cause, fix: 'name a file, or - for stdin' });
  }
}
