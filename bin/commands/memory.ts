/** `agent memory show|pending|approve|reject`: what the agent keeps, and writes that wait for review. */
import { AgentError } from '../../base/errors.ts';
import { painter } from '../../base/paint.ts';
import { memoryReset, memoryReview, memoryShow, type StagedWrite } from '../../ipc/contracts/rpcTools.ts';
import type { Link } from '../../ipc/link.ts';
import { hasFlag, jsonOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { withAgent } from '../withAgent.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson } from '../terminal.ts';

const idsArgument: Argument = { name: 'ids', summary: 'ids of `agent memory pending`', optional: true, variadic: true };
const allOption: Option = { flags: '--all', summary: 'all that wait' };

export const command: Command = {
  name: 'memory',
  summary: 'Show the memory and review what is to be written',
  details: 'With `memory.write_approval: true` in config.yaml, writes of memory and skills wait here until they are approved.',
  examples: [
    { line: 'agent memory show', does: 'what the agent keeps' },
    { line: 'agent memory pending', does: 'what waits, with what it would change' },
    { line: 'agent memory approve --all', does: 'write all of it' },
  ],
  commands: [
    {
      name: 'show',
      summary: 'Print MEMORY.md and USER.md',
      options: [jsonOption],
      examples: [{ line: 'agent memory show --json', does: 'as JSON' }],
      run: (input) => withAgent(input, (link) => show(link, input)),
    },
    {
      name: 'pending',
      summary: 'Show what waits for review, as diffs',
      options: [jsonOption],
      examples: [{ line: 'agent memory pending', does: 'ids and diffs' }],
      run: (input) => withAgent(input, (link) => pending(link, input)),
    },
    {
      name: 'approve',
      summary: 'Write what waits',
      arguments: [idsArgument],
      options: [allOption, jsonOption],
      examples: [{ line: 'agent memory approve stg_1a2b3c4d', does: 'one of them' }],
      run: (input) => withAgent(input, (link) => review(link, input, 'approve')),
    },
    {
      name: 'reject',
      summary: 'Drop what waits',
      arguments: [idsArgument],
      options: [allOption, jsonOption],
      examples: [{ line: 'agent memory reject --all', does: 'none of it is written' }],
      run: (input) => withAgent(input, (link) => review(link, input, 'reject')),
    },
    {
      name: 'reset',
      summary: 'Empty the memory, or a part of it',
      details: 'What it held is kept beside it as <file>.before-reset, until the next reset.',
      arguments: [{ name: 'target', summary: 'memory, user, or all' }],
      options: [jsonOption],
      examples: [{ line: 'agent memory reset user', does: 'USER.md alone' }],
      run: (input) => withAgent(input, (link) => reset(link, input)),
    },
  ],
};

async function reset(link: Link, input: Input): Promise<number> {
  const target = input.args[0] as 'memory' | 'user' | 'all';
  if (!['memory', 'user', 'all'].includes(target)) throw unknownName('part of the memory', target, ['memory', 'user', 'all']);
  const { kept } = await link.call(memoryReset, { target });
  if (input.json) printJson({ kept });
  else print(kept.length === 0 ? 'It was empty.' : `Emptied. What it held is in ${kept.join(', ')}`);
  return 0;
}

async function show(link: Link, input: Input): Promise<number> {
  const shown = await link.call(memoryShow, {});
  if (input.json) {
    printJson(shown);
    return 0;
  }
  const paint = painter(out);
  for (const { path, text, chars, cap } of shown.stores) {
    print(`${paint('bold', path)} ${paint('dim', `${chars} of ${cap} characters`)}`);
    print(text.trim() || paint('dim', '(empty)'));
    print('');
  }
  if (shown.staged.length > 0) note(`agent: ${shown.staged.length} write(s) wait for review — agent memory pending`);
  return 0;
}

async function pending(link: Link, input: Input): Promise<number> {
  const { staged, write_approval } = await link.call(memoryShow, {});
  if (input.json) printJson({ staged, write_approval });
  else if (staged.length > 0) print(staged.map(describe).join('\n\n'));
  else note(`agent: nothing waits for review${write_approval ? '' : ' (memory.write_approval is off)'}`);
  return 0;
}

function describe({ id, kind, target, action, diff, created_at }: StagedWrite): string {
  const paint = painter(out);
  const head = `${paint('bold', id)} ${kind} ${target}: ${action} ${paint('dim', new Date(created_at).toLocaleString('sv-SE'))}`;
  const lines = diff
    .trimEnd()
    .split('\n')
    .map((line) => (line.startsWith('+') ? paint('green', line) : line.startsWith('-') ? paint('red', line) : line));
  return [head, ...lines].join('\n');
}

/** Exit code 1 when any of them could not be done. */
async function review(link: Link, input: Input, decision: 'approve' | 'reject'): Promise<number> {
  const all = hasFlag(input, 'all');
  if (!all && input.args.length === 0)
    throw new AgentError('USAGE', 'name the ids, or --all', { fix: `agent memory pending lists them; agent memory ${decision} --all` });
  const reviewed = await link.call(memoryReview, { decision, ...(all ? { all } : { ids: input.args }) });
  const { done, failed, staged } = reviewed;
  if (input.json) printJson(reviewed);
  else {
    print(`${decision === 'approve' ? 'written' : 'dropped'}: ${done.length}; still waiting: ${staged.length}`);
    for (const { id, message } of failed) note(`agent: ${id}: ${message}`);
  }
  return failed.length > 0 ? 1 : 0;
}
