/** `process`: the background commands of this session: list, read, write to, wait for, end. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Danger, ToolResult } from '../ports.ts';
import type { BackgroundProcesses, BackgroundRow } from './background.ts';
import { defineTool, type Tool } from './registry.ts';

export interface ProcessOptions {
  processes: BackgroundProcesses;
  sessionId: string;
  /** What is dangerous about a command that would run there. */
  dangerOf?: ((command: string, workdir?: string) => Danger | undefined) | undefined;
}

const maxSeconds = limits.tools.terminalMaxMs / 1_000;

const Args = z.object({
  action: z.enum(['list', 'poll', 'log', 'write', 'wait', 'kill']).describe('poll: new output; log: all that is held; wait: for its end.'),
  process_id: z.string().optional(),
  text: z.string().max(limits.tools.processInputMaxChars).optional().describe('For write; a line ends with \\n.'),
  close: z.boolean().optional().describe('Ends its input after the text.'),
  timeout: z.number().positive().max(maxSeconds).optional().describe('Seconds of wait, default 30.'),
});

export function processTool({ processes, sessionId, dangerOf }: ProcessOptions): Tool {
  /** Text for a shell is a command like any other, split over several writes or not; allowed once, as it is. */
  const dangerOfInput = (id: string, text: string): Danger | undefined => {
    const input = processes.inputWith(id, sessionId, text);
    const found = input && dangerOf?.(input.script, input.cwd);
    return found && { command: text, reasons: found.reasons, ...(found.blocked ? { blocked: true } : {}) };
  };
  return defineTool({
    name: 'process',
    toolset: 'terminal',
    description: 'Handles commands that terminal started in the background.',
    args: Args,
    danger: ({ action, process_id, text }) => (action === 'write' && process_id && text ? dangerOfInput(process_id, text) : undefined),
    async run({ action, process_id, text = '', close = false, timeout = 30 }, { signal }) {
      if (action === 'list') return listed(processes.list(sessionId));
      if (!process_id) throw new AgentError('BAD_REQUEST', `${action} needs process_id`, { fix: 'list shows them' });
      if (action === 'log') {
        const row = processes.log(process_id, sessionId);
        return { text: render(row, row.output, row.output_file), data: row, isError: false };
      }
      if (action === 'write')
        processes.write(process_id, sessionId, { text, close, passed: dangerOfInput(process_id, text) === undefined });
      if (action === 'write') return { text: `Written to ${process_id}.`, isError: false };
      if (action === 'wait') await processes.wait(process_id, sessionId, { ms: timeout * 1_000, signal });
      if (action === 'kill') await processes.stop(process_id, sessionId);
      const row = processes.poll(process_id, sessionId);
      const missed = row.missed > 0 ? `[… ${row.missed} characters left out …]\n` : '';
      return { text: render(row, missed + row.output, row.output_file), data: row, isError: false };
    },
  });
}

function listed(rows: BackgroundRow[]): ToolResult {
  const text = rows.map((row) => `${row.process_id} ${stateOf(row)}, since ${row.started_at}: ${row.command.slice(0, 200)}`).join('\n');
  return { text: text || 'There are no background commands.', data: { processes: rows }, isError: false };
}

function render(row: BackgroundRow, output: string, file: string | null): string {
  return [output.trimEnd(), file && `[full output: ${file}]`, `[${row.process_id} ${stateOf(row)}]`].filter(Boolean).join('\n');
}

function stateOf({ state, exit_code, signal }: BackgroundRow): string {
  if (state === 'running') return 'is running';
  return signal ? `was ended by ${signal}` : `ended with exit code ${exit_code}`;
}
