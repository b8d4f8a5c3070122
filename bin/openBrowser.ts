/** Opening an address in the user's browser, where there is one: a desktop here, or the word of $BROWSER. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { limits } from '../base/limits.ts';

/** False: there is nothing to open it with, or that failed at once. Never waits for the browser to be closed. */
export async function openBrowser(address: string, env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  const opener = openerOf(env);
  if (!opener) return false;
  const [file, ...args] = opener as [string, ...string[]];
  const child = spawn(file, [...args, address], { detached: true, stdio: 'ignore', env });
  return new Promise((resolve) => {
    const done = (opened: boolean) => {
      clearTimeout(taken);
      child.unref();
      resolve(opened);
    };
    // Some openers stay as long as the browser does.
    const taken = setTimeout(() => done(true), limits.signIn.browserMs);
    child.once('error', () => done(false));
    child.once('exit', (code) => done(code === 0));
  });
}

function openerOf(env: NodeJS.ProcessEnv): string[] | undefined {
  // A list in the manner of xdg-open; the first one, with its options.
  const [wish] = (env.BROWSER ?? '').split(':');
  if (wish) return wish.trim().split(/\s+/);
  if (process.platform === 'darwin') return ['open'];
  if (env.DISPLAY || env.WAYLAND_DISPLAY) return ['xdg-open'];
  return isWindowsBelow() ? ['explorer.exe'] : undefined;
}

function isWindowsBelow(): boolean {
  try {
    return /microsoft/i.test(readFileSync('/proc/sys/kernel/osrelease', 'utf8'));
  } catch {
    return false;
  }
}
