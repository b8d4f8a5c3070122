/** A real terminal: a tmux server of its own, one pane, keys in, screen out. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { requirePackage } from './debianPackage.ts';
import { until } from './until.ts';

const run = promisify(execFile);

export interface Terminal extends AsyncDisposable {
  /** Text is typed as it is; `Enter`, `C-c`, `Up`, … are keys. */
  press(...keys: string[]): Promise<void>;
  type(text: string): Promise<void>;
  /** Everything on the screen and above it, without styles. */
  screen(): Promise<string>;
  /** Waits until the screen shows it. */
  shows(what: string | RegExp): Promise<string>;
}

/** Runs a shell command line in a new terminal of that size. */
export async function openTerminal(
  commandLine: string,
  { env, columns = 100, rows = 50 }: { env: Record<string, string>; columns?: number; rows?: number },
): Promise<Terminal> {
  const tmux = await requirePackage('tmux', '/usr/bin/tmux');
  const dir = mkdtempSync(join(tmpdir(), 'agent-tmux-'));
  const socket = join(dir, 'tmux');
  const call = async (...args: string[]) =>
    (await run(tmux, ['-S', socket, '-f', '/dev/null', ...args], { env: { ...env, TERM: 'xterm-256color', LANG: 'C.UTF-8' } })).stdout;
  await call('new-session', '-d', '-x', String(columns), '-y', String(rows), commandLine);
  const screen = () => call('capture-pane', '-p', '-S', '-1000');
  return {
    screen,
    async press(...keys) {
      await call('send-keys', ...keys);
    },
    async type(text) {
      await call('send-keys', '-l', text);
    },
    async shows(what) {
      let last = '';
      try {
        return await until(`the screen shows ${String(what)}`, async () => {
          last = await screen();
          return (typeof what === 'string' ? last.includes(what) : what.test(last)) && last;
        });
      } catch (thrown) {
        throw new Error(`${(thrown as Error).message}:\n${last.trimEnd()}`, { cause: thrown });
      }
    },
    async [Symbol.asyncDispose]() {
      await call('kill-server').catch(() => {});
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
