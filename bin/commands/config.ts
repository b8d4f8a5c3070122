/** `agent config …`: reads and changes config.yaml by dotted path; comments and layout survive. Needs no service. */
import { stringify } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { dottedKey } from '../../state/config/diff.ts';
import { getConfigValue, parseKeyPath, parseValue, replaceConfigText, setConfigValue, type KeyPath } from '../../state/config/edit.ts';
import { classOf, whenInForce, type ChangeClass } from '../../state/config/classes.ts';
import type { ConfigField } from '../../state/config/fields.ts';
import { configProblems, parseConfigText, placed, readText, type ConfigProblem } from '../../state/config/load.ts';
import { configVersions, newerForm } from '../../state/config/schema.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { hasFlag, jsonErrorsOption, jsonOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { misplacedSecrets } from '../../state/config/accept.ts';
import { noteIneffective, requireKnownKey } from '../configKeys.ts';
import { note, out, print, printError, printJson } from '../terminal.ts';
import { textOf } from '../textInput.ts';

const key: Argument = { name: 'key', summary: 'dotted path; a backslash makes a dot part of a name (providers.a\\.b.kind)' };
const force: Option = { flags: '--force', summary: 'write it although it has no effect in this version' };

export const command: Command = {
  name: 'config',
  summary: 'Read and change config.yaml',
  details: 'Running workers see a change at once. Secrets belong into .env, never here.',
  examples: [
    { line: 'agent config set model.default gpt-5', does: 'choose a model' },
    { line: 'agent config check', does: 'is the file good? where not?' },
  ],
  commands: [
    {
      name: 'get',
      summary: 'Print a value, or the whole file',
      arguments: [{ ...key, optional: true }],
      options: [jsonOption],
      examples: [
        { line: 'agent config get model', does: 'a part as YAML' },
        { line: 'agent config get platforms.irc.port --json', does: 'a value as JSON' },
      ],
      run: get,
    },
    {
      name: 'set',
      summary: 'Change a value; the whole result must be valid',
      details: 'The value is read as YAML: true, 5, [a, b], {k: v}; anything else is text.',
      arguments: [key, { name: 'value', summary: 'the new value' }],
      options: [{ flags: '--text', summary: 'take the value as text, whatever it looks like' }, force, jsonOption],
      examples: [
        { line: 'agent config set platforms.irc.enabled true', does: 'a boolean' },
        { line: 'agent config set platforms.irc.channels "[\'#room\']"', does: 'a list' },
        { line: 'agent config set providers.my\\\\.box.kind openai-compatible', does: 'a name with a dot' },
      ],
      run: set,
    },
    {
      name: 'unset',
      summary: 'Remove a value',
      arguments: [key],
      options: [jsonOption],
      examples: [{ line: 'agent config unset platforms.irc', does: 'with everything below it' }],
      run: unset,
    },
    {
      name: 'explain',
      summary: 'Say what a key does, its default and when a change counts',
      arguments: [{ ...key, summary: 'a key or a part of one (default: all keys)', optional: true }],
      options: [jsonOption],
      examples: [
        { line: 'agent config explain dashboard', does: 'every key of that section' },
        { line: 'agent config explain display.busy_input_mode', does: 'with its choices' },
      ],
      run: explain,
    },
    {
      name: 'path',
      summary: 'Print where the file is',
      options: [jsonOption],
      examples: [{ line: 'agent -p work config path', does: 'the file of a profile' }],
      run: path,
    },
    {
      name: 'edit',
      summary: 'Open it in $VISUAL or $EDITOR; it is saved when it is valid',
      options: [jsonErrorsOption],
      examples: [{ line: 'EDITOR=nano agent config edit', does: 'a broken edit never reaches the service' }],
      run: edit,
    },
    {
      name: 'write',
      summary: 'Replace the whole of it by a text, when that is valid',
      arguments: [{ name: 'file', summary: 'a file, or - for stdin', complete: 'file' }],
      options: [jsonOption],
      examples: [
        { line: 'agent config write new.yaml', does: 'a broken one changes nothing, and the line is named' },
        { line: 'ssh box agent config get | agent config write -', does: 'the settings of another machine' },
      ],
      run: write,
    },
    {
      name: 'check',
      summary: 'Check the file and name all that is wrong, with line and column',
      options: [jsonOption],
      examples: [{ line: 'agent config check', does: 'exit code 0 valid, 1 settings without effect or secrets in clear, 78 not usable' }],
      run: check,
    },
  ],
};

const slotsOf = (change: ChangeClass): readonly string[] => (change.kind === 'slot' ? change.slots : []);

const fileOf = (input: Input): string => openHome().profile(input.profile).config;

async function get(input: Input): Promise<number> {
  const file = fileOf(input);
  const dotted = input.args[0];
  if (dotted === undefined) {
    const text = readText(file);
    if (input.json) printJson(parseConfigText(text, file).config);
    else if (text) print(text.trimEnd());
    else note(`agent: ${file} is empty; defaults serve`);
    return exitCodes.ok;
  }
  const value = getConfigValue(file, dotted);
  if (value === undefined) {
    requireKnownKey(parseKeyPath(dotted), dotted);
    const literal = literalKey(file, parseKeyPath(dotted));
    const { fieldsBelow } = await import('../../state/config/fields.ts');
    const isSetting = Object.keys(fieldsBelow(parseKeyPath(dotted))).length > 0;
    const advice = isSetting
      ? `set it with: agent config set ${dotted} <value>`
      : 'nothing reads such a key; see all: agent config explain';
    const fix = literal ? `did you mean ${literal}? a backslash makes a dot part of a name` : advice;
    throw new AgentError('NOT_FOUND', `${dotted} is not set`, { fix });
  }
  if (input.json) printJson(value);
  else print(typeof value === 'object' && value !== null ? stringify(value).trimEnd() : String(value));
  return exitCodes.ok;
}

/** The spelling of a name with a dot in it that the unescaped path runs through, if the file has one. */
function literalKey(file: string, keys: KeyPath): string | undefined {
  for (let depth = 0; depth < keys.length - 1; depth++) {
    for (let end = keys.length; end > depth + 1; end--) {
      const path = dottedKey([...keys.slice(0, depth), keys.slice(depth, end).join('.'), ...keys.slice(end)]);
      if (getConfigValue(file, path) !== undefined) return path;
    }
  }
  return undefined;
}

async function set(input: Input): Promise<number> {
  const [dotted, text] = input.args as [string, string];
  const keys = parseKeyPath(dotted);
  const force = hasFlag(input, 'force');
  const file = prepared(input);
  const value = hasFlag(input, 'text') ? text : parseValue(text);
  const { before, after } = await setConfigValue(file, dotted, value, { force });
  const change = classOf(keys);
  if (input.json) printJson({ path: file, key: dotted, before: before ?? null, after, applies: change.kind, slots: slotsOf(change) });
  else {
    print(`${dotted}: ${before === undefined ? '' : `${JSON.stringify(before)} → `}${JSON.stringify(after)}  ${painter(out)('dim', file)}`);
    const ignored = parseConfigText(readText(file), file).ineffective.filter(({ key }) => `${dottedKey(keys)}.`.startsWith(`${key}.`));
    if (ignored.length > 0) noteIneffective(ignored);
    else note(whenInForce(change));
  }
  return exitCodes.ok;
}

async function unset(input: Input): Promise<number> {
  const dotted = input.args[0]!;
  const file = prepared(input);
  const { before } = await setConfigValue(file, dotted, undefined);
  if (before === undefined) throw new AgentError('NOT_FOUND', `${dotted} is not set`, { fix: 'see what is: agent config get' });
  const change = classOf(parseKeyPath(dotted));
  if (input.json) printJson({ path: file, key: dotted, before, after: null, applies: change.kind, slots: slotsOf(change) });
  else {
    print(`${dotted} removed (was ${JSON.stringify(before)})`);
    note(whenInForce(change));
  }
  return exitCodes.ok;
}

/** The words of the page's form. */
async function explain(input: Input): Promise<number> {
  const dotted = input.args[0];
  const { configForm, fieldsBelow } = await import('../../state/config/fields.ts');
  const found = Object.entries(dotted === undefined ? configForm().fields : fieldsBelow(parseKeyPath(dotted)));
  if (found.length === 0) {
    requireKnownKey(parseKeyPath(dotted!), dotted!);
    throw new AgentError('NOT_FOUND', `nothing is written about ${dotted}`, { fix: 'see all keys: agent config explain' });
  }
  if (input.json) printJson(Object.fromEntries(found));
  else print(found.map(fieldText).join('\n\n'));
  return exitCodes.ok;
}

function fieldText([name, field]: [string, ConfigField]): string {
  const paint = painter(out);
  const facts = [...valuesOf(field), whenInForce(classOf(parseKeyPath(name)))];
  return [paint('bold', name), ...(field.description ? [`  ${field.description}`] : []), paint('dim', `  ${facts.join('; ')}`)].join('\n');
}

/** What a key takes, and what it is when nothing is said. */
function valuesOf({ type, default: standard, options, min, max }: ConfigField): string[] {
  const bounds = [...(min === null ? [] : [`from ${min}`]), ...(max === null ? [] : [`to ${max}`])].join(' ');
  const taken = options ? options.join(', ') : [type, bounds].filter(Boolean).join(' ');
  return [taken, ...(standard === null ? [] : [`default ${JSON.stringify(standard)}`])];
}

function path(input: Input): Promise<number> {
  const file = fileOf(input);
  if (input.json) printJson({ path: file });
  else print(file);
  return Promise.resolve(exitCodes.ok);
}

async function check(input: Input): Promise<number> {
  const file = fileOf(input);
  const text = readText(file);
  const problems = configProblems(text, file);
  if (problems.length > 0) return sayWrong(file, problems, input);
  const { ineffective, config } = parseConfigText(text, file);
  const secrets = misplacedSecrets(text, file);
  if (input.json) {
    const unknown = ineffective.map((setting) => setting.key);
    printJson({ path: file, valid: true, problems: [...ineffective, ...secrets].map(withoutPath), unknown, ...configVersions(config) });
  } else {
    const newer = newerForm(config);
    if (newer) note(`agent: ${newer}`);
    if (!text) print(`${file} does not exist; defaults are used.`);
    else if (ineffective.length > 0)
      print(`${file} can be used, but ${ineffective.length === 1 ? '1 setting has' : `${ineffective.length} settings have`} no effect.`);
    else if (secrets.length > 0)
      print(`${file} can be used, but it holds ${secrets.length === 1 ? 'a secret' : `${secrets.length} secrets`} in clear.`);
    else print(`${file} is valid.`);
    noteIneffective([...ineffective, ...secrets]);
  }
  return ineffective.length + secrets.length > 0 ? exitCodes.failed : exitCodes.ok;
}

const withoutPath = ({ path: _path, ...problem }: ConfigProblem): Omit<ConfigProblem, 'path'> => problem;

/** Each with its place and what to write instead, as `agent config explain` describes the setting where it does. */
async function sayWrong(path: string, found: readonly ConfigProblem[], input: Input): Promise<number> {
  const { fields } = (await import('../../state/config/fields.ts')).configForm();
  const problems = found.map((problem) => {
    const field = fields[problem.key];
    return field ? { ...problem, fix: `${problem.key} takes: ${valuesOf(field).join(', ')}. ${field.description}` } : problem;
  });
  if (input.json) printJson({ path, valid: false, problems: problems.map(withoutPath) });
  // With --json one error, whatever the number of problems.
  for (const problem of input.json ? problems.slice(0, 1) : problems)
    printError(new AgentError('CONFIG_INVALID', placed(problem), { fix: problem.fix }), input.json);
  return exitCodes.config;
}

async function edit(input: Input): Promise<number> {
  const { editConfig } = await import('../editConfig.ts');
  return editConfig(prepared(input));
}

async function write(input: Input): Promise<number> {
  const text = await textOf(input.args[0]!, limits.state.configMaxBytes);
  const file = prepared(input);
  const { ineffective } = await replaceConfigText(file, text);
  if (input.json) printJson({ path: file, saved: true, problems: ineffective.map(withoutPath) });
  else print(`Saved ${file}`);
  if (!input.json) noteIneffective(ineffective);
  return exitCodes.ok;
}

/** The file's path, with the home made. */
function prepared(input: Input): string {
  prepareHome(openHome());
  return fileOf(input);
}
