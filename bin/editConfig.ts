/** `agent config edit`: an editor on a copy; the copy replaces the file only when it is valid. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { AgentError, isAgentError } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { writeFileAtomic } from '../state/atomicFile.ts';
import { replaceConfigText } from '../state/config/edit.ts';
import { readText } from '../state/config/load.ts';
import { noteIneffective } from './configKeys.ts';
import { note, print, printError } from './terminal.ts';

const TEMPLATE = '# Settings of the agent. `agent config check` says what is wrong; secrets belong into .env.\n';

export async function editConfig(file: string): Promise<number> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new AgentError('USAGE', 'an editor needs a terminal', {
      fix: `use \`agent config set\`, or change ${file} and run \`agent config check\``,
    });
  }
  const before = readText(file);
  const copy = file.replace(/\.yaml$/, '.edit.yaml');
  writeFileAtomic(copy, before || TEMPLATE);
  for (;;) {
    await openEditor(copy);
    const after = readText(copy);
    if (after === before || (!before && after === TEMPLATE)) {
      rmSync(copy, { force: true });
      print('Nothing changed.');
      return exitCodes.ok;
    }
    try {
      const { ineffective } = await replaceConfigText(file, after, before);
      rmSync(copy, { force: true });
      print(`Saved ${file}`);
      noteIneffective(ineffective);
      return exitCodes.ok;
    } catch (thrown) {
      printError(thrown, false);
      // Its text would be refused again however it was mended.
      const stale = isAgentError(thrown) && thrown.code === 'CONFIG_CHANGED';
      if (!stale && (await again())) continue;
      note(`agent: your text is kept in ${copy}; ${file} is as it was`);
      return exitCodes.config;
    }
  }
}

async function openEditor(path: string): Promise<void> {
  const editor = process.env.VISUAL || process.env.EDITOR || 'vi';
  // The variable may hold arguments ("code --wait"), which only a shell splits the way its owner meant.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0)
    throw new AgentError('USAGE', `the editor "${editor}" ended with ${code ?? 'a signal'}`, {
      fix: 'set EDITOR to one that is installed',
    });
}

async function again(): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question('Edit again? [Y/n] ');
  lines.close();
  return !/^n/i.test(answer.trim());
}
