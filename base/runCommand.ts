/**
 * Asking a program of the system (`systemctl`, `launchctl`, …): bounded in time and output, no shell, no
 * terminal, and never thrown: what it said is the answer. For commands; the supervisor does not load it.
 */
import { limits } from './limits.ts';

export interface CommandResult {
  command: readonly string[];
  /** Null when it could not be started, was killed, or ran out of time. */
  code: number | null;
  stdout: string;
  /** Why it could not be run, where that is so. */
  stderr: string;
}

export interface CommandOptions {
  timeoutMs?: number;
  /** Added to this process's environment. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

export async function runCommand(command: readonly [string, ...string[]], options: CommandOptions = {}): Promise<CommandResult> {
  const { execa } = await import('execa');
  const [file, ...args] = command;
  const { timeoutMs = limits.service.commandMs, env = {}, cwd = '/' } = options;
  const result = await execa(file, args, {
    reject: false,
    stdin: 'ignore',
    timeout: timeoutMs,
    forceKillAfterDelay: limits.worker.termMs,
    maxBuffer: limits.service.commandOutputMaxChars,
    env: { ...env, SYSTEMD_PAGER: '', SYSTEMD_COLORS: '0' },
    cwd,
  });
  const why = result.timedOut ? `no answer within ${timeoutMs} ms` : result.exitCode === undefined ? result.shortMessage : '';
  return { command, code: result.exitCode ?? null, stdout: result.stdout, stderr: [result.stderr, why].filter(Boolean).join('\n') };
}
