/**
 * `terminal`: a shell command, to its end or in the background, on pipes or on a pseudoterminal. It sees
 * an allow-listed environment; no secret of the service is in it.
 */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Danger } from '../ports.ts';
import type { BackgroundProcesses } from './background.ts';
import { shellLine, type CommandHost } from './command.ts';
import { absolutePath } from './filePath.ts';
import { defineTool, type Tool } from './registry.ts';
import { runToEnd, timeoutMsOf } from './runToEnd.ts';

export interface TerminalOptions {
  /** Working directory of the session. */
  cwd: string;
  host: CommandHost;
  /** `terminal.timeout_seconds`. */
  timeoutSeconds?: number | undefined;
  /** Commands that go on after the call; absent = there are none here. */
  background?: { processes: BackgroundProcesses; sessionId: string } | undefined;
  /** What is dangerous about a command that would run there. */
  dangerOf?: ((command: string, workdir?: string) => Danger | undefined) | undefined;
}

const maxSeconds = limits.tools.terminalMaxMs / 1_000;

const Args = z.object({
  command: z.string().min(1),
  background: z.boolean().optional().describe('Answers at once with a process_id; see the process tool.'),
  pty: z.boolean().optional().describe('On a pseudoterminal, for programs that want one.'),
  workdir: z.string().optional().describe('Default: the directory of the session.'),
  timeout: z.number().positive().max(maxSeconds).optional().describe(`Seconds, at most ${maxSeconds}.`),
});

export function terminalTool({ cwd, host, timeoutSeconds, background, dangerOf }: TerminalOptions): Tool {
  return defineTool({
    name: 'terminal',
    toolset: 'terminal',
    description:
      'Runs a shell command; answers its output and exit code. What it leaves running is ended with it: use background for servers and long work.',
    args: Args,
    danger: ({ command, workdir }) => dangerOf?.(command, workdir),
    async run({ command, background: goesOn, pty, workdir, timeout }, run) {
      const where = workdir === undefined ? cwd : absolutePath(workdir, cwd);
      if (!goesOn) {
        const timeoutMs = timeoutMsOf(timeout, timeoutSeconds);
        return runToEnd({ ...shellLine(command), cwd: where, name: 'terminal', pty, timeoutMs }, host, run);
      }
      if (!background) throw new AgentError('TOOL_REFUSED', 'nothing can go on in the background here', { fix: 'run it to its end' });
      const { processes, sessionId } = background;
      const started = await processes.start({ sessionId, command, cwd: where, pty, sandbox: host.sandbox });
      return {
        text: `Started ${started.process_id}. Read it with process (poll), end it with process (kill).`,
        data: started,
        isError: false,
      };
    },
  });
}
