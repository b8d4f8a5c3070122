/** A secret from a person, unseen, or from stdin: never from an argument, which every process of the machine can read. */
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { draw } from './terminal.ts';

/** One line break at the end is not part of it. Errors: USAGE when it is empty, too large or given up. */
export async function readSecret(prompt: string): Promise<string> {
  const value = process.stdin.isTTY ? await typed(prompt) : await piped();
  if (value !== '') return value;
  throw new AgentError('USAGE', 'no value was given', { fix: 'type it, or pipe it in: pass show key | agent env set NAME' });
}

async function piped(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    if ((size += chunk.length) > limits.env.valueMaxBytes + 2) {
      throw new AgentError('USAGE', `stdin holds more than ${limits.env.valueMaxBytes} bytes`, { fix: 'a secret is shorter' });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks)
    .toString()
    .replace(/\r?\n$/, '');
}

/** What is typed is drawn as dots; Ctrl-U empties it, Ctrl-C and Ctrl-D leave. */
function typed(prompt: string): Promise<string> {
  const { stdin } = process;
  draw(prompt);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((resolve, reject) => {
    let value = '';
    const end = (settle: () => void) => {
      stdin.off('data', take);
      stdin.setRawMode(false);
      stdin.pause();
      draw('\n');
      settle();
    };
    const take = (text: string) => {
      // A paste arrives whole, between marks where the terminal brackets it.
      for (const character of text.replace(/\u001b\[20[01]~/g, '')) {
        if (character === '\r' || character === '\n') return end(() => resolve(value));
        if (character === '\u0003' || (character === '\u0004' && value === '')) {
          return end(() => reject(new AgentError('USAGE', 'given up; nothing was written')));
        }
        if (character === '\u0015') {
          draw('\b \b'.repeat([...value].length));
          value = '';
        } else if (character === '\u007f' || character === '\b') {
          if (value) draw('\b \b');
          value = [...value].slice(0, -1).join('');
        } else if (character >= ' ') {
          value += character;
          draw('•');
        }
      }
      return undefined;
    };
    stdin.on('data', take);
  });
}
