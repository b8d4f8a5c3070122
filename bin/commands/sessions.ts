/** `agent sessions list|show`: conversations, from the agent worker. */
import { AgentError } from '../../base/errors.ts';
import { painter } from '../../base/paint.ts';
import { sessionHistory, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { type Message, type SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome } from '../../state/home.ts';
import { jsonOption, textOption, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { slotOf } from '../slots.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

export const command: Command = {
  name: 'sessions',
  summary: 'List and show conversations',
  examples: [
    { line: 'agent sessions list', does: 'newest first' },
    { line: 'agent sessions show latest', does: 'the last conversation' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List conversations, newest first',
      options: [{ flags: '-n, --limit <count>', summary: 'how many (default 20)' }, jsonOption],
      examples: [{ line: 'agent sessions list -n 5', does: 'the last five' }],
      run: (input) => ask(input, (link) => list(link, input)),
    },
    {
      name: 'show',
      summary: 'Print a conversation',
      arguments: [{ name: 'session', summary: 'id, exact title, or latest' }],
      options: [jsonOption],
      examples: [{ line: 'agent sessions show latest --json', does: 'all messages as JSON' }],
      run: (input) => ask(input, (link) => show(link, input)),
    },
  ],
};

const ask = <T>(input: Input, use: (link: Link) => Promise<T>): Promise<T> => withWorker(openHome(), slotOf('agent', input.profile), use);

async function list(link: Link, input: Input): Promise<number> {
  const found = await link.call(sessionList, { limit: limitOf(input) });
  if (input.json) printJson(found);
  else if (found.sessions.length === 0) note('agent: no conversations yet — agent chat starts one');
  else print(sessionTable(found.sessions));
  return 0;
}

function sessionTable(sessions: readonly SessionRow[]): string {
  const paint = painter(out);
  const rows = sessions.map(({ id, title, preview, source, message_count, last_active }) => [
    id,
    new Date(last_active).toLocaleString('sv-SE'),
    source,
    String(message_count),
    title ?? oneLine(preview),
  ]);
  return table([['SESSION', 'LAST ACTIVE', 'FROM', 'MESSAGES', 'TITLE'].map((head) => paint('dim', head)), ...rows]);
}

async function show(link: Link, input: Input): Promise<number> {
  const { session_id } = await link.call(sessionResume, { session_id: input.args[0]! });
  const { messages } = await link.call(sessionHistory, { session_id, limit: 10_000 });
  if (input.json) printJson({ session_id, messages });
  else print(messages.map(paragraph).join('\n\n'));
  return 0;
}

function paragraph({ role, content, tool_calls, tool_name, finish_reason, timestamp }: Message): string {
  const paint = painter(out);
  const who = role === 'tool' ? `tool ${tool_name ?? ''}` : role;
  const ended = finish_reason && finish_reason !== 'stop' && finish_reason !== 'tool_calls' ? ` (${finish_reason})` : '';
  const calls = (tool_calls ?? []).map(({ name, args }) => paint('cyan', `→ ${name} ${JSON.stringify(args)}`));
  return [
    `${paint('bold', who)}${ended} ${paint('dim', new Date(timestamp).toLocaleString('sv-SE'))}`,
    ...(content ? [content] : []),
    ...calls,
  ].join('\n');
}

function limitOf(input: Input): number {
  const text = textOption(input, 'limit');
  const limit = text === undefined ? 20 : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 500)
    throw new AgentError('USAGE', `-n takes a whole number from 1 to 500, not "${text}"`, { fix: 'agent sessions list -n 50' });
  return limit;
}

const oneLine = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text).replaceAll('\n', ' ');
