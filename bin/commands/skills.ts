/** `agent skills …`: written methods below skills/, as the agent worker reads them. */
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { skillSave, skillsList, skillToggle, skillView } from '../../ipc/contracts/rpcTools.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { withAgent } from '../withAgent.ts';
import { hasFlag, jsonOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { textOf } from '../textInput.ts';
import { cutToWidth, note, out, print, printJson, table } from '../terminal.ts';

const skill: Argument = { name: 'name', summary: 'name of the skill' };
type Listed = ResultOf<typeof skillsList>;

export const command: Command = {
  name: 'skills',
  summary: 'List, read, switch and check skills',
  details:
    'A skill is a folder with SKILL.md below skills/<category>/<name>/ of the home, or below a folder of skills.paths in config.yaml.',
  examples: [
    { line: 'agent skills list', does: 'what is offered, and why something is not' },
    { line: 'agent skills check', does: 'file and line of whatever is wrong; exit code 1 then' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List skills',
      options: [{ flags: '--platform <name>', summary: 'as a chat on this platform is offered them' }, jsonOption],
      examples: [{ line: 'agent skills list --platform irc', does: 'as a chat on IRC sees them' }],
      run: list,
    },
    {
      name: 'view',
      summary: 'Print a skill or one of its files',
      arguments: [skill, { name: 'file', summary: 'below its folder; default SKILL.md', optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent skills view deploy references/hosts.md', does: 'one of its files' }],
      run: view,
    },
    {
      name: 'save',
      summary: 'Write the text of a skill, or make one',
      details: 'SKILL.md unless another file of it is named. It is checked before it is written.',
      arguments: [skill, { name: 'file', summary: 'below its folder; default SKILL.md', optional: true }],
      options: [
        { flags: '--from <path>', summary: 'the file with the text; default - (stdin)', complete: 'file' },
        { flags: '--create', summary: 'make the skill' },
        { flags: '--category <name>', summary: 'folder of a new skill' },
        { flags: '--over <version>', summary: 'only over the text of that version, as view --json names it' },
        jsonOption,
      ],
      examples: [{ line: 'agent skills save deploy --create --from deploy.md', does: 'a new skill' }],
      run: save,
    },
    {
      name: 'enable',
      summary: 'Offer a skill again',
      arguments: [skill],
      options: [jsonOption],
      examples: [{ line: 'agent skills enable deploy', does: 'takes it off skills.disabled' }],
      run: (input) => toggle(input, true),
    },
    {
      name: 'disable',
      summary: 'Offer a skill no longer',
      arguments: [skill],
      options: [jsonOption],
      examples: [{ line: 'agent skills disable deploy', does: 'writes it to skills.disabled in config.yaml' }],
      run: (input) => toggle(input, false),
    },
    {
      name: 'check',
      summary: 'Check every SKILL.md',
      options: [jsonOption],
      examples: [{ line: 'agent skills check', does: 'names file and line of what is wrong' }],
      run: check,
    },
  ],
};

async function list(input: Input): Promise<number> {
  const platform = textOption(input, 'platform');
  const found = await withAgent(input, (link) => link.call(skillsList, platform ? { platform } : {}));
  if (input.json) printJson(found);
  else if (found.skills.length === 0) note('agent: no skills yet — a folder with SKILL.md below skills/ of the home is one');
  else print(skillTable(found.skills));
  if (!input.json && found.problems.length > 0) note(`agent: ${count(found.problems.length, 'problem')} — agent skills check names them`);
  return exitCodes.ok;
}

function skillTable(skills: Listed['skills']): string {
  const paint = painter(out);
  const rows = skills.map(({ name, category, description, hidden_because }) => [
    name,
    category,
    hidden_because === null ? paint('green', 'offered') : paint('yellow', hidden_because.split(':')[0]!),
    cutToWidth(hidden_because === null ? description : hidden_because.replace(/^[^:]*: /, ''), 80),
  ]);
  return table([['NAME', 'CATEGORY', 'STATE', ''].map((title) => paint('dim', title)), ...rows]);
}

async function view(input: Input): Promise<number> {
  const [name, file] = input.args as [string, string | undefined];
  const found = await withAgent(input, (link) => link.call(skillView, { name, ...(file ? { file } : {}) }));
  if (input.json) printJson(found);
  else print(found.content.trimEnd());
  if (!input.json && file === undefined && found.files.length > 0) note(`agent: it also has ${found.files.join(', ')}`);
  return exitCodes.ok;
}

async function save(input: Input): Promise<number> {
  const [name, file] = input.args as [string, string | undefined];
  const content = await textOf(textOption(input, 'from') ?? '-', limits.skills.fileMaxBytes);
  const category = textOption(input, 'category');
  const version = textOption(input, 'over');
  const saved = await withAgent(input, (link) =>
    link.call(skillSave, { name, file, category, content, create: hasFlag(input, 'create'), version }),
  );
  if (input.json) printJson(saved);
  else print(`Wrote ${saved.path}`);
  return exitCodes.ok;
}

async function toggle(input: Input, enabled: boolean): Promise<number> {
  const done = await withAgent(input, (link) => link.call(skillToggle, { name: input.args[0]!, enabled }));
  if (input.json) printJson(done);
  else print(`Skill ${done.name} is ${enabled ? 'offered again' : 'no longer offered'}, from the next conversation on.`);
  return exitCodes.ok;
}

async function check(input: Input): Promise<number> {
  const { skills, problems } = await withAgent(input, (link) => link.call(skillsList, {}));
  const ok = problems.length === 0;
  if (input.json) printJson({ ok, skills: skills.length, problems });
  else if (ok) print(`${count(skills.length, 'skill')}, nothing wrong.`);
  else for (const { path, message } of problems) print(message.startsWith('line ') ? `${path}:${message.slice(5)}` : `${path}: ${message}`);
  return ok ? exitCodes.ok : exitCodes.failed;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
