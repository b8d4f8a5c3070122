/** `agent sessions …`: conversations, from the agent worker; the reading ones also from the file while it is down. */
import { existsSync } from 'node:fs';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { withAsides } from '../../chat/asides.ts';
import { sessionDelete, sessionGet, sessionHistory, sessionList, sessionTitle } from '../../ipc/contracts/rpc.ts';
import type { Aside, Message, SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import { sessionArchive, sessionPrune, sessionSearch, sessionStats } from '../../ipc/contracts/rpcSessions.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome } from '../../state/home.ts';
import { hasFlag, jsonOption, listOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { chosen, fileTable, filesOffline, filesOnline, writeFile, type FileSource } from '../sessions/attachments.ts';
import { openOffline, type OfflineRow, type OfflineSessions } from '../sessions/offline.ts';
import { recoverStore } from '../recoverStore.ts';
import { documents, importFile, offlineDocuments, writeDocuments } from '../sessions/transfer.ts';
import { askAgent } from '../slots.ts';
import { transcriptCommands } from '../sessions/transcript.ts';
import { bytesForPeople, note, out, print, printJson, table } from '../terminal.ts';

const session: Argument = { name: 'session', summary: 'id, its unique beginning, exact title, or latest', complete: 'session' };
const hiddenOption = { flags: '--hidden', summary: 'those of cron, delegation and background work too' };

export const command: Command = {
  name: 'sessions',
  summary: 'List, find and take care of conversations',
  examples: [
    { line: 'agent sessions list', does: 'newest first' },
    { line: 'agent sessions show latest', does: 'the last conversation' },
    { line: 'agent sessions search deploy', does: 'where a word was said' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List conversations, newest first',
      options: [
        { flags: '-n, --limit <count>', summary: 'how many (default 20)' },
        { flags: '--source <source...>', summary: 'only those from there: cli, tui, desktop, irc, …' },
        { flags: '--archived', summary: 'the archived ones' },
        hiddenOption,
        { flags: '--ids', summary: 'only ids, one a line' },
        jsonOption,
      ],
      examples: [
        { line: 'agent sessions list -n 5', does: 'the last five' },
        { line: 'agent sessions list --source irc --archived', does: 'put away ones from IRC' },
      ],
      run: list,
    },
    {
      name: 'show',
      summary: 'Print a conversation',
      arguments: [session],
      options: [jsonOption],
      examples: [{ line: 'agent sessions show latest --json', does: 'all messages as JSON' }],
      run: show,
    },
    {
      name: 'search',
      summary: 'Find words in all conversations',
      details: 'Every word must occur; parts of words and scripts without spaces are found too, "quoted phrases" as they stand.',
      arguments: [{ name: 'query', summary: 'words to find', variadic: true }],
      options: [
        { flags: '-n, --limit <count>', summary: 'how many (default 20)' },
        { flags: '--session <session>', summary: 'only there', complete: 'session' },
        jsonOption,
      ],
      examples: [{ line: 'agent sessions search deploy staging', does: 'messages with both words' }],
      run: search,
    },
    {
      name: 'export',
      summary: 'Write conversations as JSON Lines, or as Markdown to read',
      arguments: [{ ...session, optional: true, variadic: true }],
      options: [
        { flags: '--format <form>', summary: 'jsonl (default), which import takes back, or markdown', choices: ['jsonl', 'markdown'] },
        { flags: '-o, --output <file>', summary: 'a file instead of stdout', complete: 'file' },
        hiddenOption,
        jsonOption,
      ],
      examples: [
        { line: 'agent sessions export latest -o trip.jsonl', does: 'one conversation' },
        { line: 'agent sessions export > all.jsonl', does: 'all of them, one a line' },
        { line: 'agent sessions export latest --format markdown', does: 'the last one as text' },
      ],
      run: exportThem,
    },
    {
      name: 'attachments',
      summary: 'List the files sent in a conversation, or take one out',
      arguments: [session],
      options: [
        { flags: '--get <name>', summary: 'the file of that name or id' },
        { flags: '-o, --output <file>', summary: 'where to, instead of stdout; never over another file', complete: 'file' },
        jsonOption,
      ],
      examples: [
        { line: 'agent sessions attachments latest', does: 'name, type, size and id of each' },
        { line: 'agent sessions attachments latest --get cat.png -o cat.png', does: 'the picture as it was sent' },
      ],
      run: attachments,
    },
    {
      name: 'import',
      summary: 'Read conversations that were exported',
      details:
        'One that is there already is skipped; a different one under the same id gets a new id. A title that is too long is cut. Exit code: 0 all are there, 1 some were refused.',
      arguments: [{ name: 'file', summary: 'a file of agent sessions export', complete: 'file' }],
      options: [jsonOption],
      examples: [{ line: 'agent sessions import all.jsonl', does: 'from another machine' }],
      run: importThem,
    },
    {
      name: 'rename',
      summary: 'Give a conversation a title',
      arguments: [session, { name: 'title', summary: 'the new title' }],
      options: [jsonOption],
      examples: [{ line: 'agent sessions rename latest "Trip to Lisbon"', does: 'found by that title from then on' }],
      run: rename,
    },
    ...transcriptCommands(session),
    {
      name: 'archive',
      summary: 'Put a conversation out of the list',
      arguments: [session],
      options: [{ flags: '--undo', summary: 'bring it back' }, jsonOption],
      examples: [{ line: 'agent sessions archive "Trip to Lisbon"', does: 'kept, and still found by search' }],
      run: archive,
    },
    {
      name: 'prune',
      summary: 'Remove conversations nobody used for long',
      details: 'Those that work, wait or belong to a chat stay; archived ones too unless asked for. Without --yes it only counts.',
      options: [
        { flags: '--older-than <days>', summary: 'days without use (default 90)' },
        { flags: '--source <source>', summary: 'only those from there' },
        { flags: '--include-archived', summary: 'archived ones too' },
        { flags: '--yes', summary: 'really remove them' },
        jsonOption,
      ],
      examples: [
        { line: 'agent sessions prune --older-than 180', does: 'how many would go' },
        { line: 'agent sessions prune --older-than 180 --yes', does: 'they are gone' },
      ],
      run: pruneThem,
    },
    {
      name: 'delete',
      summary: 'Delete a conversation for good',
      arguments: [session],
      options: [{ flags: '--yes', summary: 'really delete it' }, jsonOption],
      examples: [{ line: 'agent sessions delete ses_0kq3 --yes', does: 'with everything said in it' }],
      run: remove,
    },
    {
      name: 'stats',
      summary: 'Count conversations and messages',
      options: [jsonOption],
      examples: [{ line: 'agent sessions stats', does: 'how many, from where, how large' }],
      run: stats,
    },
    {
      name: 'recover',
      summary: 'Copy what can be read of a damaged state.db into a new one',
      details: 'The same as `agent recover state`.',
      options: [
        { flags: '--force', summary: 'also when nothing is damaged' },
        { flags: '--dry-run', summary: 'only count what can be recovered' },
        { flags: '--from <file>', summary: 'a damaged file that was set aside', complete: 'file' },
        jsonOption,
      ],
      examples: [
        { line: 'agent sessions recover --dry-run', does: 'rows of each table, before and after' },
        { line: 'agent sessions recover --from ~/.agent/state.db.damaged-20261121-120000', does: 'from a file that a start set aside' },
      ],
      run: (input) => recoverStore('state', input),
    },
  ],
};

/** The worker when it is up, otherwise the file. */
async function read<T>(
  input: Input,
  online: (link: Link) => Promise<T>,
  offline: (sessions: OfflineSessions) => T | Promise<T>,
): Promise<T> {
  const path = openHome().profile(input.profile).stateDb;
  try {
    return await askAgent(input, online);
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'NO_SUPERVISOR' || !existsSync(path)) throw thrown;
  }
  using sessions = openOffline(path);
  note('agent: the service is down; read from the file');
  return await offline(sessions);
}

async function list(input: Input): Promise<number> {
  const limit = limitOf(input, 500);
  const sources = listOption(input, 'source');
  const options = { hidden: hasFlag(input, 'hidden'), archived: hasFlag(input, 'archived') };
  const found = await read<{ sessions: (SessionRow | OfflineRow)[]; total: number }>(
    input,
    (link) =>
      link.call(sessionList, {
        limit,
        archived: options.archived,
        include_hidden: options.hidden,
        ...(sources.length ? { sources } : {}),
      }),
    (sessions) => sessions.list({ limit, ...options, sources: sources.length ? sources : undefined }),
  );
  if (hasFlag(input, 'ids')) print(found.sessions.map(({ id }) => id).join('\n'));
  else if (input.json) printJson(found);
  else if (found.sessions.length === 0)
    note(options.archived || sources.length > 0 ? 'agent: no conversation fits' : 'agent: no conversations yet — agent chat starts one');
  else print(sessionTable(found.sessions));
  return 0;
}

function sessionTable(sessions: readonly (SessionRow | OfflineRow)[]): string {
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

async function show(input: Input): Promise<number> {
  const found = await read(
    input,
    (link) => wholeHistory(link, input.args[0]!),
    (sessions) => {
      const session_id = sessions.find(input.args[0]!);
      return { session_id, messages: sessions.messages(session_id), asides: sessions.asides(session_id) };
    },
  );
  if (input.json) printJson(found);
  else {
    const said = withAsides(found.messages, found.asides, true);
    print(said.map((one) => ('message' in one ? paragraph(one.message) : asideParagraph(one.aside))).join('\n\n'));
  }
  return 0;
}

/** Page by page: a long conversation is more than one answer holds. */
async function wholeHistory(link: Link, name: string): Promise<{ session_id: string; messages: Message[]; asides: Aside[] }> {
  const { id: session_id } = await link.call(sessionGet, { session_id: name });
  const found = { session_id, messages: [] as Message[], asides: [] as Aside[] };
  for (;;) {
    const before = found.messages[0] === undefined ? {} : { before_id: found.messages[0].id };
    const { messages, asides } = await link.call(sessionHistory, { session_id, limit: limits.turn.historyRowsMax, ...before });
    if (messages.length === 0 && found.messages.length > 0) return found;
    found.messages.unshift(...messages);
    found.asides.unshift(...asides);
    if (messages.length === 0) return found;
  }
}

function asideParagraph({ kind, question, text, error, status, timestamp, session_id }: Aside): string {
  const paint = painter(out);
  const head = kind === 'btw' ? 'aside' : `background ${session_id}`;
  const answer = error === null ? text || `(${status})` : paint('red', error);
  return `${paint('bold', head)} ${paint('dim', new Date(timestamp).toLocaleString('sv-SE'))}\n${paint('cyan', question)}\n${answer}`;
}

function paragraph({ role, content, tool_calls, tool_name, finish_reason, timestamp, error }: Message): string {
  const paint = painter(out);
  const who = role === 'tool' ? `tool ${tool_name ?? ''}` : role;
  const ended = finish_reason && finish_reason !== 'stop' && finish_reason !== 'tool_calls' ? ` (${finish_reason})` : '';
  const calls = (tool_calls ?? []).map(({ name, args }) => paint('cyan', `→ ${name} ${JSON.stringify(args)}`));
  return [
    `${paint('bold', who)}${ended} ${paint('dim', new Date(timestamp).toLocaleString('sv-SE'))}`,
    ...(content ? [content] : []),
    ...calls,
    ...(error ? [paint('red', `${error.code}: ${error.message}`)] : []),
  ].join('\n');
}

async function search(input: Input): Promise<number> {
  const query = input.args.join(' ');
  const limit = limitOf(input, 200);
  const within = textOption(input, 'session');
  const found = await withProgress('searching', () =>
    read(
      input,
      (link) => link.call(sessionSearch, { query, limit, ...(within === undefined ? {} : { session_id: within }) }, { timeoutMs: 30_000 }),
      (sessions) => ({ hits: sessions.search(query, limit), ready: true, indexed: 0, total: 0 }),
    ),
  );
  if (input.json) printJson(found);
  else if (found.hits.length === 0) note(`agent: nothing found for "${query}"`);
  else print(found.hits.map(hitLines).join('\n\n'));
  if (!found.ready && !input.json) note(`agent: the index is being built: ${found.indexed} of ${found.total} messages are in it`);
  return found.hits.length > 0 ? 0 : 1;
}

function hitLines({ session_id, title, role, snippet, timestamp }: Awaited<ReturnType<OfflineSessions['search']>>[number]): string {
  const paint = painter(out);
  return `${paint('bold', title ?? session_id)} ${paint('dim', `${session_id} · ${role} · ${new Date(timestamp).toLocaleString('sv-SE')}`)}\n  ${snippet}`;
}

async function exportThem(input: Input): Promise<number> {
  const wanted = { names: input.args, hidden: hasFlag(input, 'hidden') };
  const file = textOption(input, 'output');
  const form = textOption(input, 'format') === 'markdown' ? 'markdown' : 'jsonl';
  const path = openHome().profile(input.profile).stateDb;
  const count = await read(
    input,
    (link) =>
      writeDocuments(
        documents(link, wanted, () => openOffline(path)),
        { file, form },
      ),
    (sessions) => writeDocuments(offlineDocuments(sessions, wanted), { file, form }),
  );
  if (file !== undefined) {
    if (input.json) printJson({ exported: count, file });
    else print(`${count} ${count === 1 ? 'session' : 'sessions'} written to ${file}`);
  }
  return 0;
}

async function attachments(input: Input): Promise<number> {
  const wanted = textOption(input, 'get');
  const output = textOption(input, 'output');
  if (wanted === undefined && output !== undefined)
    throw new AgentError('USAGE', '-o goes with --get', { fix: 'agent sessions attachments latest --get cat.png -o cat.png' });
  const { dir } = openHome().profile(input.profile);
  const look = async (source: FileSource): Promise<number> => {
    if (wanted !== undefined) {
      const { path, bytes } = await writeFile(source, chosen(source.files, wanted), output);
      if (path !== null && input.json) printJson({ file: path, bytes });
      else if (path !== null) print(`${bytes} bytes written to ${path}`);
    } else if (input.json) printJson({ files: source.files });
    else if (source.files.length === 0) note('agent: no files were sent in this conversation');
    else print(fileTable(source.files));
    return 0;
  };
  return read(
    input,
    async (link) => look(await filesOnline(link, input.args[0]!)),
    (sessions) => look(filesOffline(sessions, input.args[0]!, dir)),
  );
}

/** Of conversations that were taken: a word about each of hundreds hides what was refused. */
const WARNINGS_SHOWN = 5;

async function importThem(input: Input): Promise<number> {
  const outcome = await askAgent(input, (link) => importFile(link, input.args[0]!));
  if (input.json) printJson(outcome);
  else print(`${outcome.imported_ids.length} imported, ${outcome.skipped_ids.length} there already, ${outcome.errors.length} refused`);
  if (!input.json) {
    const { errors, warnings } = outcome;
    for (const { line, message } of [...errors, ...warnings.slice(0, WARNINGS_SHOWN)]) note(`agent: line ${line}: ${message}`);
    if (warnings.length > WARNINGS_SHOWN) note(`agent: … and ${warnings.length - WARNINGS_SHOWN} more were changed; --json names them`);
  }
  return outcome.errors.length > 0 ? 1 : 0;
}

async function rename(input: Input): Promise<number> {
  const [session_id, title] = input.args as [string, string];
  const done = await askAgent(input, (link) => link.call(sessionTitle, { session_id, title }));
  if (input.json) printJson(done);
  else print(`${done.session_id} is now "${done.title}"`);
  return 0;
}

async function archive(input: Input): Promise<number> {
  const archived = !hasFlag(input, 'undo');
  const done = await askAgent(input, (link) => link.call(sessionArchive, { session_id: input.args[0]!, archived }));
  if (input.json) printJson(done);
  else print(`${done.session_id} is ${archived ? 'archived' : 'back in the list'}`);
  return 0;
}

async function pruneThem(input: Input): Promise<number> {
  const text = textOption(input, 'olderThan') ?? '90';
  const days = Number(text);
  if (!Number.isFinite(days) || days < 0)
    throw new AgentError('USAGE', `--older-than takes a number of days, not "${text}"`, { fix: 'agent sessions prune --older-than 180' });
  const source = textOption(input, 'source');
  const really = hasFlag(input, 'yes');
  const done = await withProgress('removing', () =>
    askAgent(input, (link) =>
      link.call(sessionPrune, {
        older_than_days: days,
        dry_run: !really,
        include_archived: hasFlag(input, 'includeArchived'),
        ...(source === undefined ? {} : { source }),
      }),
    ),
  );
  if (input.json) printJson({ ...done, dry_run: !really });
  else if (really) print(`${done.removed} removed, ${done.skipped_open} in use and kept, ${bytesForPeople(done.freed_bytes)} given back`);
  else print(`${done.removed} would be removed, ${done.skipped_open} are in use; --yes removes them`);
  return 0;
}

async function remove(input: Input): Promise<number> {
  const session_id = input.args[0]!;
  if (!hasFlag(input, 'yes'))
    throw new AgentError('USAGE', `"${session_id}" would be deleted for good`, { fix: 'add --yes, or use agent sessions archive' });
  const done = await askAgent(input, (link) => link.call(sessionDelete, { session_id }));
  if (input.json) printJson(done);
  else print(`${session_id} is deleted`);
  return 0;
}

async function stats(input: Input): Promise<number> {
  const found = await read<Omit<Awaited<ReturnType<typeof askStats>>, 'indexed'> & { indexed?: number }>(input, askStats, (sessions) =>
    sessions.stats(),
  );
  if (input.json) printJson(found);
  else {
    const sources = Object.entries(found.by_source).map(([name, count]) => `${name} ${count}`);
    print(
      `${found.total} conversation${found.total === 1 ? '' : 's'} (${found.archived} archived, ${found.hidden} hidden), ${found.messages} message${found.messages === 1 ? '' : 's'}, ${bytesForPeople(found.bytes)}`,
    );
    if (sources.length) print(`from ${sources.join(', ')}`);
    if (found.indexed !== undefined) print(`${found.indexed} messages in the search index`);
  }
  return 0;
}

const askStats = (link: Link) => link.call(sessionStats, {});

function limitOf(input: Input, max: number): number {
  const text = textOption(input, 'limit');
  const limit = text === undefined ? 20 : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > max)
    throw new AgentError('USAGE', `-n takes a whole number from 1 to ${max}, not "${text}"`, { fix: 'agent sessions list -n 50' });
  return limit;
}

const oneLine = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text).replaceAll('\n', ' ');
