/** `agent service …`: the supervisor as a service of systemd or launchd. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import type { ServiceManager, ServiceState, ServiceStep, Unusable } from '../../state/servicePlan.ts';
import { hasFlag, jsonOption, textOption, type Command, type Input, type Option } from '../command.ts';
import { ensureSupervisor } from '../launch.ts';
import { withProgress } from '../progress.ts';
import { install, planFor, serviceTarget, wantedText, whyNotHere, type ServiceTarget } from '../service/install.ts';
import { err, out, note, print, printError, printJson } from '../terminal.ts';

const systemOption: Option = { flags: '--system', summary: 'the service of the whole system, started at boot (needs root)' };

const installOptions: Option[] = [
  systemOption,
  { flags: '--run-as <user>', summary: 'with --system: whom it runs as (default: who called sudo)' },
  { flags: '--no-linger', summary: 'let it run only while you are logged in' },
  { flags: '--dry-run', summary: 'print the file and the commands, change nothing' },
  jsonOption,
];

export const command: Command = {
  name: 'service',
  summary: 'Run as a service: systemd or launchd',
  details:
    'One service holds the supervisor, which holds everything else, for all profiles. It is started again when it dies (its workers go on meanwhile and are taken over), and it runs what was running: a stopped gateway stays stopped.',
  examples: [
    { line: 'agent service install', does: 'for you alone, also without a login' },
    { line: 'sudo agent service install --system', does: 'for the machine, running as you' },
    { line: 'agent service status', does: 'installed, enabled, running, up to date?' },
  ],
  commands: [
    {
      name: 'install',
      summary: 'Install it, start it, and have it started at boot',
      details:
        'Prints each file it writes and each command it runs. Doing it again repairs what has changed and leaves the rest. Refuses an installation that could not boot.',
      options: installOptions,
      examples: [
        { line: 'agent service install', does: 'for you alone' },
        { line: 'agent service install --dry-run', does: 'only show the unit' },
      ],
      run: runInstall,
    },
    {
      name: 'uninstall',
      summary: 'Stop it and remove it; data and settings stay',
      options: [systemOption, jsonOption],
      examples: [{ line: 'agent service uninstall', does: 'running work is finished first' }],
      run: uninstall,
    },
    {
      name: 'status',
      summary: 'Show whether it is installed, enabled, running and up to date',
      details: 'Exit code: 0 it runs and is as it should be, 1 something is not.',
      options: [systemOption, jsonOption],
      examples: [{ line: 'agent service status', does: 'the service; `agent status` shows the slots' }],
      run: status,
    },
    {
      name: 'doctor',
      summary: 'Check what belongs to the service',
      options: [systemOption, { flags: '--fix', summary: 'put right what can safely be put right' }, jsonOption],
      examples: [{ line: 'agent service doctor', does: 'the part of `agent doctor` about the service' }],
      run: async (input) => (await import('../doctor/run.ts')).runDoctor(input, 'service'),
    },
  ],
};

type Managed = ServiceTarget & { manager: ServiceManager };

const target = (input: Input): Promise<ServiceTarget> =>
  serviceTarget({
    scope: hasFlag(input, 'system') ? 'system' : 'user',
    runAs: textOption(input, 'runAs'),
    linger: input.options.linger !== false,
  });

export async function runInstall(input: Input): Promise<number> {
  const found = await target(input);
  if (hasFlag(input, 'dryRun')) return dryRun(found, input);
  const unusable = await whyNotHere(found);
  if (unusable) return withoutManager(found, unusable, input);
  if (found.scope === 'system' && found.user.uid === 0 && textOption(input, 'runAs') === undefined)
    note('agent: the service will run as root, with every permission; --run-as <user> names another user');
  const steps: ServiceStep[] = [];
  const state = await withProgress('installing the service', () => install(found as Managed, tell(steps, input))).catch(onlyUnusable);
  if ('missing' in state) return withoutManager(found, state, input);
  if (input.json) printJson({ steps, ...state });
  else print(`The service runs (supervisor ${state.pid}) on ${found.home.root}${startOf(state, found)}.`);
  return exitCodes.ok;
}

/** The manager could not be brought to life: known only after it was tried. */
function onlyUnusable(thrown: unknown): Unusable {
  if (isAgentError(thrown) && thrown.code === 'SERVICE_UNUSABLE') return { missing: thrown.message, fix: thrown.fix ?? '' };
  throw thrown;
}

const startOf = ({ linger }: ServiceState, { scope, user }: ServiceTarget): string =>
  scope === 'system' || linger ? `, as ${user.name}, and starts at boot` : `, and starts when ${user.name} logs in`;

async function dryRun(found: ServiceTarget, input: Input): Promise<number> {
  if (!found.manager) throw unusableError((await whyNotHere(found))!);
  const text = await found.manager.text(planFor(found));
  const commands = found.manager.commands();
  if (input.json) printJson({ file: found.manager.file, text, commands });
  else print(`# ${found.manager.file}\n${text}\n# then:\n${commands.map((line) => `#   ${line}`).join('\n')}`);
  return exitCodes.ok;
}

/** Nothing to install into: the supervisor runs by itself, with the same commands (lessons 39). */
async function withoutManager(found: ServiceTarget, unusable: Unusable, input: Input): Promise<number> {
  const { home, scope } = found;
  const error = unusableError(unusable);
  printError(error, input.json);
  if (scope === 'system') return exitCodes.failed;
  const { link, started } = await withProgress('starting the supervisor', () => ensureSupervisor(home, {}));
  const { pid } = link.peer;
  link.close();
  if (input.json) printJson({ installed: false, missing: unusable.missing, fix: unusable.fix, supervisor: { pid, started } });
  else {
    print(
      `${started ? 'Started' : 'It runs'} without a service manager (supervisor ${pid}): it outlives this terminal, and nobody starts it again after a reboot.`,
    );
    print('All commands work as ever: agent status, agent down, agent up.');
  }
  return exitCodes.failed;
}

const unusableError = ({ missing, fix }: Unusable, what = 'it cannot be installed as a service'): AgentError =>
  new AgentError('SERVICE_UNUSABLE', `${what}: ${missing}`, { fix });

const NOT_INSTALLED = 'there is no service here';

export async function uninstall(input: Input): Promise<number> {
  const found = await target(input);
  const unusable = await whyNotHere(found);
  if (unusable || !found.manager) throw unusableError(unusable!, NOT_INSTALLED);
  const steps: ServiceStep[] = [];
  const { manager } = found;
  await withProgress('stopping the service', () => manager.remove(tell(steps, input)));
  const removed = steps.some(({ did }) => did === 'removed');
  if (input.json) printJson({ steps, removed });
  else print(removed ? `The service is removed; ${found.home.root} stays as it is.` : 'It was not installed.');
  return exitCodes.ok;
}

async function status(input: Input): Promise<number> {
  const found = await target(input);
  const unusable = await whyNotHere(found);
  if (unusable || !found.manager) throw unusableError(unusable!, NOT_INSTALLED);
  const state = await found.manager.state(await wantedText(found as Managed));
  if (input.json) printJson({ manager: found.manager.kind, scope: found.scope, ...state });
  else printState(found as Managed, state);
  return state.active && state.drift.length === 0 ? exitCodes.ok : exitCodes.failed;
}

function printState({ manager, scope, user, home }: Managed, state: ServiceState): void {
  const paint = painter(out);
  if (!state.installed) {
    print(`No service is installed for ${scope === 'system' ? 'the system' : user.name} (${state.file}).`);
    return note(`agent: install it with \`agent service install${scope === 'system' ? ' --system' : ''}\``);
  }
  const yes = (is: boolean, no: string) => (is ? paint('green', 'yes') : paint('yellow', no));
  const rows: [string, string][] = [
    [manager.kind, paint(state.active ? 'green' : 'red', state.state)],
    ['file', state.file],
    ['home', `${state.home}${state.home === home.root ? '' : paint('yellow', ` (this shell means ${home.root})`)}`],
    ['at boot', yes(state.enabled && state.linger !== false, state.enabled ? 'no: only while you are logged in' : 'no: it is not enabled')],
    ['supervisor', state.pid === null ? '-' : `process ${state.pid}${state.restarts ? `, started again ${state.restarts} times` : ''}`],
    ['up to date', yes(state.drift.length === 0, 'no: `agent service install` repairs it')],
  ];
  for (const [name, text] of rows) print(`${paint('dim', name.padEnd(11))} ${text}`);
  for (const line of state.drift) print(paint('yellow', `  ${line}`));
}

/** Each step as it is done; with --json they come at the end, in the document. */
function tell(steps: ServiceStep[], input: Input): (step: ServiceStep) => void {
  const paint = painter(err);
  return (step) => {
    steps.push(step);
    if (input.json) return;
    const { did, what, detail } = step;
    const [first, ...more] = (detail ?? '').split('\n');
    note(
      `${paint(did === 'note' ? 'yellow' : 'dim', did.padEnd(8))}${what}${first ? paint('dim', more.length ? '' : `  (${first})`) : ''}`,
    );
    if (more.length) for (const line of [first, ...more]) note(paint('dim', `          ${line}`));
  };
}
