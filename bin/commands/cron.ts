/** `agent cron …`: asks the cron worker. */
import { limits } from '../../base/limits.ts';
import * as cron from '../../ipc/contracts/cron.ts';
import { openHome } from '../../state/home.ts';
import { AgentError } from '../../base/errors.ts';
import { parseDurationMs } from '../../base/time.ts';
import { jsonOption, listOption, textOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { withWorker } from '../connect.ts';
import { blueprintPage, blueprintTable, calendarTable, jobPage, jobTable, localTime, previewLines, runTable } from '../cronViews.ts';
import { note, print, printJson } from '../terminal.ts';

const id: Argument = { name: 'job', summary: 'id, its unique beginning, or the exact name' };

const jobOptions: Option[] = [
  { flags: '--name <name>', summary: 'a name for people' },
  { flags: '--deliver <target>', summary: 'where the result goes (default local)' },
  {
    flags: '--script <file>',
    summary: 'a file in scripts/ of the home; with a prompt it runs first, without one it is the whole job',
    complete: 'file',
  },
  { flags: '--repeat <times>', summary: 'stop after this many runs' },
  { flags: '--timezone <zone>', summary: 'zone of cron expressions and local times, for example Europe/Berlin' },
];

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
      options: [...jobOptions, jsonOption],
      examples: [
        { line: 'agent cron create "0 9 * * 1-5" "Summarise my inbox" --name inbox', does: 'weekdays at nine' },
        { line: 'agent cron create 30m "Remind me of the oven" --deliver irc', does: 'once, in half an hour' },
      ],
      run: create,
    },
    {
      name: 'add',
      summary: 'Make a job from a blueprint',
      options: [
        { flags: '--blueprint <key>', summary: 'which; agent cron blueprints lists them' },
        { flags: '--set <name=value...>', summary: 'a field of it; may be repeated' },
        { flags: '--dry-run', summary: 'show what it would do, and make nothing' },
        jsonOption,
      ],
      examples: [
        { line: 'agent cron add --blueprint morning-briefing --set time=07:30 --set days=weekday', does: 'weekdays at half past seven' },
        { line: 'agent cron add --blueprint disk-space --set percent=80 --dry-run', does: 'shows its script and its next runs' },
      ],
      run: add,
    },
    {
      name: 'blueprints',
      summary: 'List ready-made jobs, or show the fields of one',
      arguments: [{ name: 'key', summary: 'of a blueprint', optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent cron blueprints log-watch', does: 'its fields, and the command that makes the job' }],
      run: blueprints,
    },
    {
      name: 'preview',
      summary: 'Say what a schedule means and when it would run next',
      arguments: [{ name: 'schedule', summary: 'when' }],
      options: [jobOptions.find(({ flags }) => flags.startsWith('--timezone'))!, jsonOption],
      examples: [{ line: 'agent cron preview "*/15 9-17 * * 1-5"', does: 'in words, and the next three runs' }],
      run: preview,
    },
    {
      name: 'calendar',
      summary: 'List the next runs of all jobs',
      options: [{ flags: '--for <time>', summary: 'how far ahead, at most 62d (default 7d)' }, jsonOption],
      examples: [{ line: 'agent cron calendar --for 2d', does: 'today and tomorrow' }],
      run: calendar,
    },
    {
      name: 'show',
      summary: 'Show one job',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron show inbox', does: 'all of it: what, when, where to, how it went' }],
      run: show,
    },
    {
      name: 'edit',
      summary: 'Change a job',
      details: 'What is not given stays as it is. A new schedule counts from now.',
      arguments: [id],
      options: [
        { flags: '--schedule <when>', summary: 'another schedule' },
        { flags: '--prompt <text>', summary: 'another prompt; empty takes it away' },
        ...jobOptions,
        jsonOption,
      ],
      examples: [{ line: 'agent cron edit inbox --schedule "every weekday 8am"', does: 'an hour earlier' }],
      run: edit,
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
      name: 'output',
      summary: 'Print what a run wrote down',
      arguments: [{ name: 'run', summary: 'id of a run, or a job: its last run that wrote something' }],
      options: [jsonOption],
      examples: [{ line: 'agent cron output inbox', does: 'its latest result' }],
      run: output,
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
      run: (input) => change(input, cron.pauseJob, 'is paused'),
    },
    {
      name: 'resume',
      summary: 'Let a job go on',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron resume inbox', does: 'at its next time' }],
      run: (input) => change(input, cron.resumeJob, 'goes on'),
    },
    {
      name: 'remove',
      summary: 'Delete a job',
      arguments: [id],
      options: [jsonOption],
      examples: [{ line: 'agent cron remove inbox', does: 'its output files stay' }],
      run: (input) => change(input, cron.removeJob, 'is removed'),
    },
  ],
};

const ask = <T>(use: Parameters<typeof withWorker<T>>[2]): Promise<T> => withWorker(openHome(), 'cron', use);

async function create(input: Input): Promise<number> {
  const [schedule, prompt] = input.args as [string, string | undefined];
  const { script, name, timezone, repeat, deliver } = partsOf(input);
  if (prompt === undefined && script === undefined) {
    throw new AgentError('USAGE', 'a job needs a prompt or a script', {
      fix: 'agent cron create "every 1h" "what to do", or --script <file>',
    });
  }
  const { profile } = input;
  const { job } = await ask((link) =>
    link.call(cron.createJob, {
      schedule,
      prompt: prompt ?? null,
      script: script ?? null,
      ...(name === undefined ? {} : { name }),
      deliver: deliver ?? 'local',
      ...(repeat === undefined ? {} : { repeat }),
      ...(timezone === undefined ? {} : { timezone }),
      profile,
    }),
  );
  return made(input, job);
}

function made(input: Input, job: cron.Job): number {
  if (input.json) printJson(job);
  else print(`Job ${job.id} (${job.name}): ${job.schedule.display}, next ${localTime(job.next_run_at)}, result to ${job.deliver}.`);
  return 0;
}

const partsOf = (input: Input) => ({
  script: textOption(input, 'script'),
  name: textOption(input, 'name'),
  timezone: textOption(input, 'timezone'),
  deliver: textOption(input, 'deliver'),
  repeat: countOf(input, 'repeat'),
});

async function add(input: Input): Promise<number> {
  const blueprint = textOption(input, 'blueprint');
  if (blueprint === undefined) {
    throw new AgentError('USAGE', 'which blueprint?', { fix: 'agent cron add --blueprint <key>; agent cron blueprints lists them' });
  }
  const { profile } = input;
  const values = Object.fromEntries(listOption(input, 'set').map(pairOf));
  if (input.options.dryRun !== true) {
    const { job } = await ask((link) => link.call(cron.instantiateBlueprint, { blueprint, values, profile }));
    return made(input, job);
  }
  const seen = await ask((link) => link.call(cron.previewBlueprint, { blueprint, values, profile }));
  if (input.json) printJson(seen);
  else {
    print([`${seen.name}: ${previewLines(seen)}`, `Result to ${seen.deliver}.`].join('\n'));
    for (const [title, text] of [
      ['Prompt', seen.prompt],
      ['Script', seen.script],
    ])
      if (text) print(`\n${title}:\n${text.trimEnd()}`);
  }
  return 0;
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new AgentError('USAGE', `--set takes name=value, not "${text}"`, { fix: 'for example --set time=07:30' });
  return [text.slice(0, at), text.slice(at + 1)];
}

async function blueprints(input: Input): Promise<number> {
  const [key] = input.args;
  const all = (await ask((link) => link.call(cron.listBlueprints, {}))).blueprints;
  if (key === undefined) {
    if (input.json) printJson({ blueprints: all });
    else print(blueprintTable(all));
    return 0;
  }
  const found = all.find((one) => one.key === key);
  if (!found)
    throw new AgentError('NOT_FOUND', `there is no blueprint "${key}"`, { fix: `there are ${all.map((one) => one.key).join(', ')}` });
  if (input.json) printJson(found);
  else print(blueprintPage(found));
  return 0;
}

async function preview(input: Input): Promise<number> {
  const timezone = textOption(input, 'timezone');
  const { profile } = input;
  const seen = await ask((link) =>
    link.call(cron.previewSchedule, { schedule: input.args[0]!, profile, ...(timezone === undefined ? {} : { timezone }) }),
  );
  if (input.json) printJson(seen);
  else print(previewLines(seen));
  return 0;
}

async function calendar(input: Input): Promise<number> {
  const given = textOption(input, 'for') ?? '7d';
  const ms = parseDurationMs(given);
  if (ms === undefined || ms > limits.cron.calendarDaysMax * DAY_MS) {
    throw new AgentError('USAGE', `--for takes a time up to ${limits.cron.calendarDaysMax}d, not "${given}"`, {
      fix: 'for example --for 2d',
    });
  }
  const nowMs = Date.now();
  const span = { from: new Date(nowMs).toISOString(), to: new Date(nowMs + ms).toISOString() };
  const seen = await ask((link) => link.call(cron.calendar, { ...span, profile: input.profile }));
  if (input.json) printJson(seen);
  else if (seen.runs.length + seen.often.length === 0) note('agent: nothing runs in that time');
  else print(calendarTable(seen));
  return 0;
}

const DAY_MS = 86_400_000;

async function show(input: Input): Promise<number> {
  const { job } = await ask((link) => link.call(cron.getJob, { job_id: input.args[0]!, profile: input.profile }));
  if (input.json) printJson(job);
  else print(jobPage(job));
  return 0;
}

async function edit(input: Input): Promise<number> {
  const given = { ...partsOf(input), schedule: textOption(input, 'schedule'), prompt: textOption(input, 'prompt') };
  const updates = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(updates).length === 0) {
    throw new AgentError('USAGE', 'nothing to change', { fix: 'agent cron edit <job> --schedule "every day 8am"; see --help' });
  }
  const { job } = await ask((link) => link.call(cron.updateJob, { job_id: input.args[0]!, updates, profile: input.profile }));
  if (input.json) printJson(job);
  else print(jobPage(job));
  return 0;
}

async function list(input: Input): Promise<number> {
  const { jobs } = await ask((link) => link.call(cron.listJobs, { profile: input.profile }));
  if (input.json) printJson({ jobs });
  else if (jobs.length === 0) note('agent: no jobs yet — agent cron create --help shows how, agent cron blueprints has ready-made ones');
  else print(jobTable(jobs));
  return 0;
}

async function runs(input: Input): Promise<number> {
  const job = input.args[0];
  const limit = countOf(input, 'limit') ?? 50;
  const { profile } = input;
  const found = await ask((link) =>
    link.call(cron.listRuns, { limit: Math.min(limit, 1_000), profile, ...(job === undefined ? {} : { job_id: job }) }),
  );
  if (input.json) printJson(found);
  else if (found.runs.length === 0) note('agent: nothing has run yet');
  else print(runTable(found.runs));
  return 0;
}

async function output(input: Input): Promise<number> {
  const { profile } = input;
  const [asked] = input.args as [string];
  const seen = await ask(async (link) => {
    if (/^run_[0-9a-z]+$/.test(asked)) return link.call(cron.runOutput, { execution_id: asked, profile });
    const { runs: found } = await link.call(cron.listRuns, { job_id: asked, limit: 1_000, profile });
    const last = found.find(({ output_path }) => output_path !== null);
    if (!last) throw new AgentError('NOT_FOUND', `${asked} has written nothing down yet`, { fix: `agent cron run ${asked}` });
    return link.call(cron.runOutput, { execution_id: last.execution_id, profile });
  });
  if (input.json) printJson(seen);
  else {
    print(seen.text.trimEnd());
    if (seen.truncated) note(`agent: only the beginning; all of it is in ${seen.run.output_path}`);
  }
  return 0;
}

async function runNow(input: Input): Promise<number> {
  const { execution_id } = await ask((link) =>
    link.call(cron.runJob, { job_id: input.args[0]!, profile: input.profile }, { timeoutMs: 2 * limits.ipc.callMs }),
  );
  if (input.json) printJson({ execution_id });
  else print(`Run ${execution_id} has started; agent cron runs ${input.args[0]!} shows how it goes.`);
  return 0;
}

async function change(input: Input, method: typeof cron.pauseJob, outcome: string): Promise<number> {
  const { job } = await ask((link) => link.call(method, { job_id: input.args[0]!, profile: input.profile }));
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
