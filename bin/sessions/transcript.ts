/** `agent sessions branch`, `undo`, `compress` and `interrupt`: what the menu of a chat in the page does to a conversation. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { visibleText } from '../../base/visibleText.ts';
import { sessionInterrupt } from '../../ipc/contracts/rpc.ts';
import { sessionBranch, sessionCompress, sessionUndo } from '../../ipc/contracts/rpcSessions.ts';
import { jsonOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { askAgent } from '../slots.ts';
import { print, printJson } from '../terminal.ts';

/** `session`: the argument that names one. */
export function transcriptCommands(session: Argument): Command[] {
  return [
    {
      name: 'branch',
      summary: 'Go on in a copy of a conversation',
      details: 'The old one is unchanged.',
      arguments: [session, { name: 'title', summary: 'of the copy', optional: true }],
      options: [{ flags: '--back <exchanges>', summary: 'leave out so many of the last prompts and answers' }, jsonOption],
      examples: [{ line: 'agent sessions branch latest --back 1', does: 'as it was before the last prompt' }],
      run: branch,
    },
    {
      name: 'undo',
      summary: 'Take back the last prompt and its answer',
      arguments: [session],
      options: [{ flags: '-n, --count <exchanges>', summary: 'so many of them (default 1)' }, jsonOption],
      examples: [{ line: 'agent sessions undo latest', does: 'and print the prompt that was taken back' }],
      run: undo,
    },
    {
      name: 'compress',
      summary: 'Replace what came before by a summary',
      arguments: [session],
      options: [
        { flags: '--keep <exchanges>', summary: 'the last ones that stay as they are (default by size)' },
        { flags: '--focus <words>', summary: 'what the summary must not lose' },
        jsonOption,
      ],
      examples: [{ line: 'agent sessions compress latest --keep 2', does: 'it stays readable in full' }],
      run: compress,
    },
    {
      name: 'interrupt',
      summary: 'Stop the answer that is being given',
      arguments: [session],
      options: [jsonOption],
      examples: [{ line: 'agent sessions interrupt latest', does: 'what has been said so far stays' }],
      run: interrupt,
    },
  ];
}

async function branch(input: Input): Promise<number> {
  const [session_id, title] = input.args as [string, string?];
  const count = wholeNumber(input, 'back', 0, 10_000);
  const done = await askAgent(input, (link) =>
    link.call(sessionBranch, { session_id, ...(title === undefined ? {} : { title }), ...(count === undefined ? {} : { count }) }),
  );
  if (input.json) printJson(done);
  else print(`${done.session_id} goes on from there, with ${done.message_count} messages`);
  return exitCodes.ok;
}

/** Exit code 1 when there was nothing to take back. */
async function undo(input: Input): Promise<number> {
  const count = wholeNumber(input, 'count', 1, 100);
  const done = await askAgent(input, (link) =>
    link.call(sessionUndo, { session_id: input.args[0]!, ...(count === undefined ? {} : { count }) }),
  );
  if (input.json) printJson(done);
  else print(done.removed === 0 ? 'There is nothing to take back.' : `Taken back: ${visibleText(done.text ?? '')}`);
  return done.removed === 0 ? exitCodes.failed : exitCodes.ok;
}

/** Exit code 1 when it was left as it was. */
async function compress(input: Input): Promise<number> {
  const keep = wholeNumber(input, 'keep', 0, 100);
  const focus = textOption(input, 'focus');
  const params = { session_id: input.args[0]!, ...(keep === undefined ? {} : { keep }), ...(focus === undefined ? {} : { focus }) };
  const done = await withProgress('compressing', () => askAgent(input, (link) => link.call(sessionCompress, params)));
  if (input.json) printJson(done);
  else print(done.note);
  return done.status === 'compressed' ? exitCodes.ok : exitCodes.failed;
}

/** Exit code 1 when nothing ran. */
async function interrupt(input: Input): Promise<number> {
  const done = await askAgent(input, (link) => link.call(sessionInterrupt, { session_id: input.args[0]! }));
  if (input.json) printJson(done);
  else print(done.status === 'interrupted' ? 'interrupted' : 'nothing is being answered there');
  return done.status === 'interrupted' ? exitCodes.ok : exitCodes.failed;
}

/** Errors: USAGE. */
function wholeNumber(input: Input, name: string, min: number, max: number): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new AgentError('USAGE', `--${name} takes a whole number from ${min} to ${max}, not "${text}"`, {
    fix: `for example: --${name} ${Math.max(min, 1)}`,
  });
}
