/** `agent cron …`: asks the cron worker. */
import { limits } from '../../base/limits.ts';
import { createJob, listJobs, listRuns, pauseJob, removeJob, resumeJob, runJob, type Job, type Run } from '../../ipc/contracts/cron.ts';
import { openHome } from '../../state/home.ts';
import { AgentError } from '../../base/errors.ts';
import { painter, type Style } from '../../base/paint.ts';
import { jsonOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const id: Argument = { name: 'job', summary: 'id, its unique beginning, or the exact name' };

export const command: Command = {
  name: 'cron',
  summary: 'Make and steer scheduled jobs',
  details:
    'Schedules: "every 30s", "every 2h", "every monday 9am" repeat; "30m" and "2026-02-01T09:00" run once; "0 9 * * 1-5" is cron. ' +
    'Results go to --deliver: local (a file), <platform>, <platform>:<chat> or <platform>:<chat>:<thread>.',
  examples: [
    { line: 'agent cron create "every 10s" "say: 5 words" --deliver irc:#room', does: 'a job that posts to a chat' },
    { line: 'agent cron list', does: 'what is scheduled, and how it went' },
  ],
  commands: [
    {
      name: 'create',
      summary: 'Make a job',
      arguments: [
        { name: 'schedule', summary: 'when' },
        { name: 'prompt', summary: 'what the agent is asked; not needed with --script', optional: true },
      ],
      options: [
        { flags: '--name <name>', summary: 'a name for people' },
        { flags: '--deliver <target>', summary: 'where the result goes (default local)' },
        { flags: '--script <file>', summary: 'a file in scripts/ of the home that is the whole job', complete: 'file' },
        { flags: '--repeat <times>', summary: 'stop after this many runs' },
        { flags: '--timezone <zone>', summary: 'zone of cron expressions and local times, for example Europe/Berlin' },
        jsonOption,
      ],
      examples: [
        { line: 'agent cron create "0 9 * * 1-5" "Summarise my inbox" --name inbox', does: 'weekdays at nine' },
        { line: 'agent cron create 30m "Remind me of the oven" --deliver irc', does: 'once, in half an hour' },
      ],
      run: create,
    },
    {
      name: 'list',
      summary: 'List jobs',
      options: [jsonOption],
      examples: [{ line: 'agent cron list', does: 'with the next and the last run' }],
      run: list,
    },
    {
      name: 'runs',
      summary: 'List runs, newest first',
      arguments: [{ ...id, optional: true }],
      options: [{ flags: '-n, --limit <count>', summary: 'how many (default 50)' }, jsonOption],
      examples: [{ line: 'agent cron runs inbox -n 5', does: 'the last five of one job' }],
      run: runs,
    },
    {
      name: 'run',
      summary: 'Run a job now, off its schedule',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron run inbox', does: 'its schedule is not touched' }],
      run: runNow,
    },
    {
      name: 'pause',
      summary: 'Hold one job',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron pause inbox', does: 'until agent cron resume inbox' }],
      run: (input) => change(input, pauseJob, 'is paused'),
    },
    {
      name: 'resume',
      summary: 'Let a job go on',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron resume inbox', does: 'at its next time' }],
      run: (input) => change(input, resumeJob, 'goes on'),
    },
    {
      name: 'remove',
      summary: 'Delete a job',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron remove inbox', does: 'its output files stay' }],
      run: (input) => change(input, removeJob, 'is removed'),
    },
  ],
};

const ask = <T>(use: Parameters<typeof withWorker<T>>[2]): Promise<T> => withWorker(openHome(), 'cron', use);

async function create(input: Input): Promise<number> {
  const [schedule, prompt] = input.args as [string, string | undefined];
  const script = textOption(input, 'script');
  if (prompt === undefined && script === undefined) {
    throw new AgentError('USAGE', 'a job needs a prompt or a script', {
      fix: 'agent cron create "every 1h" "what to do", or --script <file>',
    });
  }
  const name = textOption(input, 'name');
  const timezone = textOption(input, 'timezone');
  const repeat = countOf(input, 'repeat');
  const { job } = await ask((link) =>
    link.call(createJob, {
      schedule,
      prompt: prompt ?? null,
      script: script ?? null,
      ...(name === undefined ? {} : { name }),
      deliver: textOption(input, 'deliver') ?? 'local',
      ...(repeat === undefined ? {} : { repeat }),
      ...(timezone === undefined ? {} : { timezone }),
    }),
  );
  if (input.json) printJson(job);
  else print(`Job ${job.id} (${job.name}): ${job.schedule.display}, next ${local(job.next_run_at)}, result to ${job.deliver}.`);
  return 0;
}

async function list(input: Input): Promise<number> {
  const { jobs } = await ask((link) => link.call(listJobs, {}));
  if (input.json) printJson({ jobs });
  else if (jobs.length === 0) note('agent: no jobs yet — agent cron create --help shows how');
  else print(jobTable(jobs));
  return 0;
}

async function runs(input: Input): Promise<number> {
  const job = input.args[0];
  const limit = countOf(input, 'limit') ?? 50;
  const found = await ask((link) => link.call(listRuns, { limit: Math.min(limit, 1_000), ...(job === undefined ? {} : { job_id: job }) }));
  if (input.json) printJson(found);
  else if (found.runs.length === 0) note('agent: nothing has run yet');
  else print(runTable(found.runs));
  return 0;
}

async function runNow(input: Input): Promise<number> {
  const { execution_id } = await ask((link) => link.call(runJob, { job_id: input.args[0]! }, { timeoutMs: 2 * limits.ipc.callMs }));
  if (input.json) printJson({ execution_id });
  else print(`Run ${execution_id} has started; agent cron runs ${input.args[0]!} shows how it goes.`);
  return 0;
}

async function change(input: Input, method: typeof pauseJob, outcome: string): Promise<number> {
  const { job } = await ask((link) => link.call(method, { job_id: input.args[0]! }));
  if (input.json) printJson(job);
  else print(`Job ${job.id} (${job.name}) ${outcome}.`);
  return 0;
}

function countOf(input: Input, name: string): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new AgentError('USAGE', `--${name} takes a whole number from 1, not "${text}"`, { fix: `for example --${name} 5` });
  return count;
}

const outcomeStyle: Record<string, Style> = {
  ok: 'green',
  error: 'red',
  delivery_failed: 'red',
  blocked_config: 'red',
  paused: 'yellow',
  running: 'cyan',
};

function jobTable(jobs: readonly Job[]): string {
  const paint = painter(out);
  const styled = (word: string) => (outcomeStyle[word] ? paint(outcomeStyle[word], word) : word);
  const rows = jobs.map((job) => [
    job.id,
    job.name,
    job.schedule.display,
    styled(job.state),
    local(job.next_run_at),
    local(job.last_run_at),
    styled(job.last_status ?? '-'),
    job.deliver,
  ]);
  return table([['ID', 'NAME', 'SCHEDULE', 'STATE', 'NEXT', 'LAST', 'RESULT', 'TO'].map((title) => paint('dim', title)), ...rows]);
}

function runTable(found: readonly Run[]): string {
  const paint = painter(out);
  const rows = found.map((one) => [
    one.execution_id,
    one.job_id,
    one.trigger,
    outcomeStyle[one.status] ? paint(outcomeStyle[one.status]!, one.status) : one.status,
    local(one.started_at),
    one.delivery,
    one.error ?? one.output_path ?? '',
  ]);
  return table([['RUN', 'JOB', 'TRIGGER', 'STATUS', 'STARTED', 'DELIVERY', ''].map((title) => paint('dim', title)), ...rows]);
}

/** Local time without the date when it is today. */
function local(iso: string | null): string {
  if (!iso) return '-';
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  return today ? at.toLocaleTimeString('sv-SE') : at.toLocaleString('sv-SE');
}
