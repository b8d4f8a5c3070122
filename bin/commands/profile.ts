/** `agent profile …`: separate agents on this machine, each with its own settings, memory, skills and conversations. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { visibleText } from '../../base/visibleText.ts';
import { startSlot, stopSlot } from '../../ipc/contracts/supervisor.ts';
import { useProfile } from '../../state/activeProfile.ts';
import { openHome, prepareHome, requireProfile, type Home } from '../../state/home.ts';
import { ownPause, type Pause } from '../../state/pause.ts';
import {
  createProfile,
  deleteProfile,
  profileRow,
  profileRows,
  readSoul,
  renameProfile,
  setProfileModel,
  writeDescription,
  writeSoul,
  type ProfileRow,
} from '../../state/profiles.ts';
import { hasFlag, jsonOption, textOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { withSupervisor } from '../connect.ts';
import { textOf } from '../textInput.ts';
import { out, print, printJson, table } from '../terminal.ts';

const name: Argument = { name: 'name', summary: 'name of the profile', complete: 'profile' };
const newName: Argument = { name: 'new-name', summary: 'small letters, digits, - and _' };
const stopOption: Option = { flags: '--stop', summary: 'stop its running workers first' };
const descriptionOption: Option = { flags: '--description <text>', summary: 'what it is for' };
const modelOptions: Option[] = [
  { flags: '--model <name>', summary: 'its model' },
  { flags: '--provider <name>', summary: 'the provider of that model' },
];

export const command: Command = {
  name: 'profile',
  summary: 'Make and choose separate agents on this machine',
  details:
    'A profile has its own settings, secrets, personality, memory, skills, conversations and gateway. `agent -p <name> …` works on one; `agent profile use` makes that the usual one.',
  examples: [
    { line: 'agent profile create work --clone-from default', does: 'with the settings and skills of another' },
    { line: 'agent -p work chat', does: 'talk to it' },
    { line: 'agent profile use work', does: 'from now on without -p' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List profiles',
      options: [{ flags: '--names', summary: 'names alone' }, jsonOption],
      examples: [{ line: 'agent profile list', does: 'the one in use is marked' }],
      run: list,
    },
    {
      name: 'show',
      summary: 'Show a profile',
      arguments: [{ ...name, optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent profile show work', does: 'its folder, model and personality' }],
      run: show,
    },
    {
      name: 'create',
      summary: 'Make a profile',
      details:
        'With --clone-from the settings, secrets, personality and skills of another are copied; with --clone-all its memory and scripts too. Conversations, jobs and logs stay with the other.',
      arguments: [{ name: 'name', summary: 'small letters, digits, - and _' }],
      options: [
        { flags: '--clone-from <profile>', summary: 'copy another', complete: 'profile' },
        { flags: '--clone', summary: 'the same as --clone-from default' },
        { flags: '--clone-all', summary: 'memory and scripts too' },
        { flags: '--no-skills', summary: 'without its skills' },
        descriptionOption,
        ...modelOptions,
        jsonOption,
      ],
      examples: [
        { line: 'agent profile create work', does: 'an empty one' },
        { line: 'agent profile create work --clone --model claude-sonnet-4-5', does: 'like the default one, with another model' },
      ],
      run: create,
    },
    {
      name: 'set',
      summary: 'Change description or model of a profile',
      arguments: [name],
      options: [descriptionOption, ...modelOptions, jsonOption],
      examples: [{ line: 'agent profile set work --description "mail and calendar"', does: 'what it is for' }],
      run: change,
    },
    {
      name: 'soul',
      summary: 'Print or replace the personality of a profile',
      details: 'It is SOUL.md in its folder; new conversations have it.',
      arguments: [{ ...name, optional: true }],
      options: [{ flags: '--from <file>', summary: 'write the text of this file; - is stdin', complete: 'file' }, jsonOption],
      examples: [
        { line: 'agent profile soul work', does: 'print it' },
        { line: 'echo "You are terse." | agent profile soul work --from -', does: 'replace it' },
      ],
      run: soul,
    },
    {
      name: 'rename',
      summary: 'Rename a profile',
      details: 'None of its workers may run. --stop stops those that do, and starts them again under the new name.',
      arguments: [name, newName],
      options: [stopOption, jsonOption],
      examples: [{ line: 'agent profile rename work office', does: 'everything it has comes along' }],
      run: rename,
    },
    {
      name: 'delete',
      summary: 'Move a profile to backups/profiles',
      details: 'None of its workers may run. The last ten deleted profiles are kept there; moving one back to profiles/ brings it back.',
      arguments: [name],
      options: [stopOption, jsonOption],
      examples: [{ line: 'agent profile delete work --stop', does: 'says where it is kept' }],
      run: remove,
    },
    {
      name: 'use',
      summary: 'Choose the profile that commands work on',
      details: 'Where -p is not given. `agent profile use default` goes back.',
      arguments: [name],
      options: [jsonOption],
      examples: [{ line: 'agent profile use work', does: '`agent chat` is `agent -p work chat` from now on' }],
      run: use,
    },
  ],
};

async function list(input: Input): Promise<number> {
  const home = openHome();
  const profiles = profileRows(home).map((row) => withPause(home, row));
  const everyone = profiles.find(({ is_default }) => is_default)?.paused ?? null;
  if (hasFlag(input, 'names')) print(profiles.map((row) => row.name).join('\n'));
  else if (input.json) printJson({ profiles });
  else {
    const paint = painter(out);
    print(
      table([
        ['', 'PROFILE', 'MODEL', 'SKILLS', 'RUNS', 'PAUSED', ''],
        ...profiles.map((row) => [
          row.is_active ? paint('green', '*') : ' ',
          row.name,
          modelOf(row),
          String(row.skill_count),
          running(row) || '-',
          row.paused ? heldBy(row.paused) : everyone ? 'with default' : '-',
          row.description,
        ]),
      ]),
    );
  }
  return exitCodes.ok;
}

/** `paused`: its own pause; that of the default profile holds every profile. */
const withPause = (home: Home, row: ProfileRow): ProfileRow & { paused: Pause | null } => ({
  ...row,
  paused: ownPause(home.profile(row.name)) ?? null,
});

const heldBy = ({ scope }: Pause): string => visibleText(scope.join(', ')) || 'all';

const modelOf = ({ model, provider }: ProfileRow): string => (model === null ? '-' : provider === null ? model : `${provider}/${model}`);

const running = ({ agent_running, gateway_running }: ProfileRow): string =>
  [agent_running ? 'agent' : '', gateway_running ? 'gateway' : ''].filter(Boolean).join(', ');

async function show(input: Input): Promise<number> {
  const home = openHome();
  const row = withPause(home, profileRow(home, input.args[0] ?? input.profile));
  const soul = readSoul(home.profile(row.name));
  if (input.json) printJson({ ...row, soul });
  else {
    const paint = painter(out);
    print(`${paint('bold', row.name)}${row.is_active ? ' (in use)' : ''}${row.description ? `: ${row.description}` : ''}`);
    print(
      table([
        ['  folder', row.path],
        ['  model', modelOf(row)],
        ['  skills', String(row.skill_count)],
        ['  runs', running(row) || 'nothing'],
        ...(row.paused ? [['  paused', `${heldBy(row.paused)} (${row.paused.path})`]] : []),
      ]),
    );
    print(`\n${paint('dim', 'SOUL.md')}\n${soul.trim() || paint('dim', '(none: the built-in personality)')}`);
  }
  return exitCodes.ok;
}

async function create(input: Input): Promise<number> {
  const home = openHome();
  prepareHome(home);
  const cloneAll = hasFlag(input, 'cloneAll');
  const cloneFrom = textOption(input, 'cloneFrom') ?? (hasFlag(input, 'clone') || cloneAll ? 'default' : undefined);
  const made = await createProfile(home, {
    name: input.args[0]!,
    cloneFrom,
    cloneAll,
    noSkills: input.options.skills === false,
    description: textOption(input, 'description'),
    model: textOption(input, 'model'),
    provider: textOption(input, 'provider'),
  });
  if (input.json) printJson(made);
  else print(`Made ${made.name} in ${made.path}. Talk to it: agent -p ${made.name} chat`);
  return exitCodes.ok;
}

async function change(input: Input): Promise<number> {
  const home = openHome();
  const chosen = input.args[0]!;
  const paths = requireProfile(home, chosen);
  const [description, model, provider] = ['description', 'model', 'provider'].map((option) => textOption(input, option));
  if (description === undefined && model === undefined)
    throw new AgentError('USAGE', 'nothing to change was named', { fix: '--description, or --model with --provider' });
  if (description !== undefined) writeDescription(paths, description);
  if (model !== undefined) await setProfileModel(home, chosen, { model, provider });
  const row = profileRow(home, chosen);
  if (input.json) printJson(row);
  else print(`${row.name}: ${modelOf(row)}${row.description ? `, ${row.description}` : ''}`);
  return exitCodes.ok;
}

async function soul(input: Input): Promise<number> {
  const home = openHome();
  const paths = requireProfile(home, input.args[0] ?? input.profile);
  const from = textOption(input, 'from');
  if (from !== undefined) writeSoul(paths, await textOf(from, limits.profiles.soulMaxChars));
  const content = readSoul(paths);
  if (input.json) printJson({ path: paths.soul, content });
  else print(from === undefined ? content.trimEnd() : `Wrote ${paths.soul}`);
  return exitCodes.ok;
}

async function rename(input: Input): Promise<number> {
  const home = openHome();
  const [from, to] = input.args as [string, string];
  const stopped = hasFlag(input, 'stop') ? await stopWorkers(home, from) : [];
  const row = await renameProfile(home, from, to).catch(async (thrown: unknown) => {
    await startWorkers(home, stopped, from);
    throw thrown;
  });
  await startWorkers(home, stopped, to);
  if (input.json) printJson(row);
  else print(`${from} is now ${row.name}, in ${row.path}`);
  return exitCodes.ok;
}

async function remove(input: Input): Promise<number> {
  const home = openHome();
  const gone = input.args[0]!;
  if (hasFlag(input, 'stop')) await stopWorkers(home, gone);
  const { backup } = await deleteProfile(home, gone);
  if (input.json) printJson({ ok: true, backup });
  else print(`Deleted ${gone}. It is kept in ${backup}`);
  return exitCodes.ok;
}

const CHANGED = { drain: true, actor: 'cli', cause: 'its profile is changed' };

/** Answers the workers that ran. Errors: UNKNOWN_PROFILE, NO_SUPERVISOR, STOP_FAILED. */
async function stopWorkers(home: Home, profile: string): Promise<string[]> {
  const { agent_running, gateway_running, is_default } = profileRow(home, profile);
  if (is_default) return [];
  const running = [...(gateway_running ? ['gateway'] : []), ...(agent_running ? ['agent'] : [])];
  for (const worker of running) await withSupervisor(home, (link) => link.call(stopSlot, { slot: `${worker}@${profile}`, ...CHANGED }));
  return running;
}

/** Errors: NO_SUPERVISOR, START_FAILED. */
async function startWorkers(home: Home, workers: readonly string[], profile: string): Promise<void> {
  for (const worker of workers.toReversed()) {
    const slot = `${worker}@${profile}`;
    const { ok, error } = await withSupervisor(home, (link) => link.call(startSlot, { slot, ...CHANGED }));
    if (!ok) throw new AgentError('START_FAILED', `${slot} did not start again: ${error ?? 'unknown cause'}`, { fix: `agent why ${slot}` });
  }
}

async function use(input: Input): Promise<number> {
  const home = openHome();
  useProfile(home, input.args[0]!);
  if (input.json) printJson({ active: input.args[0] });
  else print(`Commands without -p work on ${input.args[0]} from now on.`);
  return exitCodes.ok;
}
