/** `agent env …`: variables of `.env`. Values come by masked prompt or stdin, never as an argument, and are shown only by `reveal`. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { loadConfig } from '../../state/config/load.ts';
import { readEnvVariables, setEnvValue, unsetEnvValue } from '../../state/envFile.ts';
import { envCategories, envRows, type EnvRow } from '../../state/envVariables.ts';
import { openHome, prepareHome, requireProfile, type ProfilePaths } from '../../state/home.ts';
import { hasFlag, jsonOption, type Argument, type Command, type Input } from '../command.ts';
import { readSecret } from '../readSecret.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const name: Argument = { name: 'name', summary: 'a variable, for example OPENAI_API_KEY' };

export const command: Command = {
  name: 'env',
  summary: 'Keep secrets and other variables in .env',
  details: 'Running workers see a change at once. Needs no service.',
  examples: [
    { line: 'agent env set OPENAI_API_KEY', does: 'asks for the value, unseen' },
    { line: 'pass show openai | agent env set OPENAI_API_KEY', does: 'from a password store' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'Show what is set, never the values',
      options: [{ flags: '--all', summary: 'known variables too that are not set' }, jsonOption],
      examples: [{ line: 'agent env list --all', does: 'with what each of them is for' }],
      run: list,
    },
    {
      name: 'set',
      summary: 'Set a variable',
      details: 'The value is asked for on a terminal, else read from stdin; one line break at its end is not part of it.',
      arguments: [name],
      options: [jsonOption],
      examples: [{ line: 'agent env set ANTHROPIC_API_KEY', does: 'asks for the value' }],
      run: set,
    },
    {
      name: 'unset',
      summary: 'Remove a variable',
      arguments: [name],
      options: [jsonOption],
      examples: [{ line: 'agent env unset IRC_PASSWORD', does: 'comments around it stay' }],
      run: unset,
    },
    {
      name: 'reveal',
      summary: 'Print the value of a variable',
      arguments: [name],
      options: [jsonOption],
      examples: [{ line: 'agent env reveal OPENAI_API_KEY', does: 'the value alone on stdout' }],
      run: reveal,
    },
  ],
};

const profileOf = (input: Input): ProfilePaths => requireProfile(openHome(), input.profile);

async function list(input: Input): Promise<number> {
  const home = openHome();
  const profile = profileOf(input);
  const rows = envRows(readEnvVariables(profile.env), loadConfig(home, profile).config, process.env);
  const shown = Object.entries(rows).filter(([, row]) => row.is_set || row.used_by.length > 0 || hasFlag(input, 'all'));
  if (input.json) printJson(Object.fromEntries(shown));
  else if (shown.length === 0) note(`agent: nothing is set in ${profile.env} — agent env list --all shows what can be`);
  else print(table(shown.toSorted(byCategory).map(rowText)));
  return exitCodes.ok;
}

const byCategory = ([a, { category: x }]: [string, EnvRow], [b, { category: y }]: [string, EnvRow]): number =>
  envCategories.indexOf(x) - envCategories.indexOf(y) || (a < b ? -1 : 1);

function rowText([key, row]: [string, EnvRow]): string[] {
  const paint = painter(out);
  const missing = row.used_by.length > 0 ? paint('yellow', 'not set') : paint('dim', 'not set');
  const from = row.source === 'environment' ? ' (from the environment)' : '';
  return [key, row.is_set ? `${row.redacted_value}${from}` : missing, paint('dim', row.description)];
}

async function set(input: Input): Promise<number> {
  const key = input.args[0]!;
  prepareHome(openHome());
  const profile = profileOf(input);
  const { replaced } = await setEnvValue(profile.env, key, await readSecret(`Value of ${key}: `));
  if (input.json) printJson({ key, replaced, path: profile.env });
  else {
    print(`${key} ${replaced ? 'replaced' : 'set'}  ${painter(out)('dim', profile.env)}`);
    if (process.env[key]) note(`agent: ${key} is also set in this shell's environment; where a service has it there, that one counts`);
  }
  return exitCodes.ok;
}

async function unset(input: Input): Promise<number> {
  const key = input.args[0]!;
  const profile = profileOf(input);
  const { removed } = await unsetEnvValue(profile.env, key);
  if (!removed) throw notThere(key, profile);
  if (input.json) printJson({ key, path: profile.env });
  else print(`${key} removed`);
  return exitCodes.ok;
}

async function reveal(input: Input): Promise<number> {
  const key = input.args[0]!;
  const profile = profileOf(input);
  const value = readEnvVariables(profile.env)[key];
  if (!value) throw notThere(key, profile);
  if (input.json) printJson({ key, value });
  else print(value);
  return exitCodes.ok;
}

const notThere = (key: string, profile: ProfilePaths): AgentError =>
  new AgentError('NOT_FOUND', `${key} does not stand in ${profile.env}`, { fix: 'agent env list shows what does' });
