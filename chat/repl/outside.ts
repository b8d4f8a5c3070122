/** Programs that get the whole terminal for a while: a shell command of the user's own, and their editor. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs in the foreground of this terminal: ctrl-C is for it. Answers the exit code, or the signal's name. */
async function inForeground(command: string, args: string[]): Promise<number | string> {
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(command, args, { stdio: 'inherit' });
      child.on('error', reject);
      child.on('exit', (code, signal) => resolve(code ?? signal ?? 0));
    });
  } finally {
    process.off('SIGINT', ignore);
  }
}

export const runShell = (command: string): Promise<number | string> => inForeground(process.env.SHELL ?? '/bin/sh', ['-c', command]);

/** The text as it is after editing; unchanged when the editor failed. Errors: the editor could not be started. */
export async function editText(text: string): Promise<string> {
  const editor = process.env.VISUAL ?? process.env.EDITOR ?? 'vi';
  const dir = mkdtempSync(join(tmpdir(), 'agent-prompt-'));
  const file = join(dir, 'prompt.md');
  try {
    writeFileSync(file, text, { mode: 0o600 });
    const code = await inForeground('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file]);
    return code === 0 ? readFileSync(file, 'utf8').replace(/\n$/, '') : text;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
