/** Asking for a secret: typed without an echo, or piped in; never an argument, which every user of the machine could read. */
import { text } from 'node:stream/consumers';
import { AgentError } from '../base/errors.ts';
import { draw, note } from './terminal.ts';

/** Errors: USAGE when there is neither a terminal nor a pipe, or ctrl-C was pressed. */
export async function askSecret(question: string): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return (await text(stdin)).split(/\r?\n/, 1)[0]!;
  draw(`${question}: `);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  try {
    return await typed(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    note('');
  }
}

/** Keys until Enter. Nothing is shown, not even how many. */
function typed(stdin: NodeJS.ReadStream): Promise<string> {
  let secret = '';
  return new Promise((resolve, reject) => {
    const onData = (chunk: string) => {
      // What a paste brings is one piece; its brackets are no part of it.
      for (const key of chunk.replaceAll(/\u001b\[20[01]~/g, '')) {
        if (key === '\r' || key === '\n') return finish(() => resolve(secret));
        if (key === '\u0003' || key === '\u0004')
          return finish(() => reject(new AgentError('USAGE', 'nothing was changed', { fix: 'the question was not answered' })));
        if (key === '\u007f' || key === '\b') secret = [...secret].slice(0, -1).join('');
        else if (key === '\u0015') secret = '';
        else if (key >= ' ') secret += key;
      }
    };
    const finish = (settle: () => void) => {
      stdin.off('data', onData);
      settle();
    };
    stdin.on('data', onData);
    stdin.resume();
  });
}
