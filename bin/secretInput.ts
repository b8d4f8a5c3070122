/** A secret from whoever types it, unseen, or from a pipe: never from an argument, which every user of the machine can read. */
import { text } from 'node:stream/consumers';
import { AgentError } from '../base/errors.ts';
import { draw } from './terminal.ts';

/** One line without its end. Errors: USAGE when there is none. */
export async function readSecret(what: string): Promise<string> {
  const value = process.stdin.isTTY ? await typed(what) : (await text(process.stdin)).replace(/\r?\n$/, '');
  if (value === '' || /[\r\n]/.test(value))
    throw new AgentError('USAGE', `${what}: one line is needed`, { fix: `type it, or pipe it in: printf %s "$VALUE" | agent …` });
  return value;
}

function typed(what: string): Promise<string> {
  const { stdin } = process;
  draw(`${what} (not shown): `);
  stdin.setRawMode(true);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let value = '';
  const onKeys = (keys: Buffer) => {
    for (const key of keys.toString()) {
      if (key === '\r' || key === '\n') return resolve(value);
      if (key === '\x03' || key === '\x04') return reject(new AgentError('USAGE', 'nothing was entered'));
      if (key === '\x7f' || key === '\b') value = value.slice(0, -1);
      else if (key >= ' ') value += key;
    }
  };
  stdin.on('data', onKeys);
  return promise.finally(() => {
    stdin.off('data', onKeys);
    stdin.setRawMode(false);
    stdin.pause();
    draw('\n');
  });
}
