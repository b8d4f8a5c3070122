/** What can be done with sessions, asked of a real agent worker over its socket. */
import t from 'tap';
import Database from 'better-sqlite3';
import { limits } from '../../base/limits.ts';
import { runTurn } from '../../ipc/contracts/agent.ts';
import {
  sessionCreate,
  sessionDelete,
  sessionEmpty,
  sessionHistory,
  sessionList,
  sessionResume,
  sessionTitle,
} from '../../ipc/contracts/rpc.ts';
import {
  sessionArchive,
  sessionBranch,
  sessionClose,
  sessionCwd,
  sessionExport,
  sessionImport,
  sessionPrune,
  sessionSearch,
  sessionStats,
  sessionUndo,
} from '../../ipc/contracts/rpcSessions.ts';
import type { InputOf } from '../../ipc/method.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome();
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('a session is made with all that it can be given, and found by id, its beginning, its title and latest', async (t) => {
  using client = await connect(worker);
  const { session_id: parent } = await client.link.call(sessionCreate, { source: 'cli' });
  const { session_id, info } = await client.link.call(sessionCreate, {
    source: 'tui',
    title: 'Trip to Lisbon',
    cwd: home.root,
    reasoning_effort: 'high',
    parent_session_id: parent,
    hidden: false,
    safe_mode: true,
  });
  t.match(info, { reasoning_effort: 'high', safe_mode: true, cwd: home.root, title: 'Trip to Lisbon' });
  await client.turn(session_id, 'say: 1 word');
  for (const name of [session_id, 'Trip to Lisbon', 'latest', session_id.slice(0, -3)])
    t.match(await client.link.call(sessionResume, { session_id: name }), { session_id }, name);
  const { sessions } = await client.link.call(sessionList, {});
  t.match(sessions[0], { id: session_id, parent_session_id: parent, message_count: 2, preview: 'say: 1 word', source: 'tui' });
  await t.rejects(client.link.call(sessionResume, { session_id: 'ses_' }), { code: 'UNKNOWN_SESSION' });
  await t.rejects(client.link.call(sessionResume, { session_id: session_id.slice(0, 8) }), {
    code: 'UNKNOWN_SESSION',
    message: /several sessions/,
  });
  await t.rejects(client.link.call(sessionCreate, { parent_session_id: 'nobody' }), { code: 'UNKNOWN_SESSION' });
});

t.test('the list pages, orders, filters by source, and leaves out what is hidden, archived or was never used', async (t) => {
  using client = await connect(worker);
  const before = (await client.link.call(sessionList, { limit: 500 })).total;
  const made: string[] = [];
  for (const source of ['cli', 'desktop', 'cli'] as const) {
    const id = await client.create({ source });
    await client.turn(id, `${source} prompt`);
    made.push(id);
  }
  await client.create({ source: 'cli' });
  await client.turn(await client.create({ source: 'cli', hidden: true }), 'nobody sees this');
  const list = (params: InputOf<typeof sessionList> = {}) => client.link.call(sessionList, params);
  const ids = ({ sessions }: Awaited<ReturnType<typeof list>>) => sessions.map(({ id }) => id);
  t.equal((await list({ limit: 1 })).total, before + 3);
  t.same(ids(await list({ limit: 3 })), made.toReversed());
  t.same(ids(await list({ limit: 1, offset: 1 })), [made[1]]);
  await client.turn(made[0]!, 'again');
  t.same(ids(await list({ limit: 3 })), [made[0], made[2], made[1]], 'most recent first');
  t.same(ids(await list({ limit: 3, order: 'created' })), made.toReversed());
  t.same(ids(await list({ sources: ['desktop'] })), [made[1]]);
  t.match((await list({ limit: 1, include_hidden: true })).total, before + 4);
  t.match(await client.link.call(sessionArchive, { session_id: made[1]!, archived: true }), { archived: true });
  t.same(ids(await list({ archived: true })), [made[1]]);
  t.notOk(ids(await list({ limit: 500 })).includes(made[1]!));
});

t.test('undo takes back exchanges and gives the prompt back; rows stay; a working session is left alone', async (t) => {
  using client = await connect(worker);
  const id = await client.create();
  for (const text of ['first', 'second', 'third']) await client.turn(id, text);
  t.same(await client.link.call(sessionUndo, { session_id: id, count: 2 }), { removed: 4, text: 'second' });
  t.match(await client.next('session.changed', ({ session_id }) => session_id === id), { payload: { reason: 'undone' } });
  const { messages } = await client.link.call(sessionHistory, { session_id: id });
  t.same(
    messages.map(({ role }) => role),
    ['user', 'assistant'],
  );
  t.match((await client.link.call(sessionList, { limit: 1 })).sessions[0], { id, message_count: 2 });
  const db = new Database(home.stateDb, { readonly: true });
  t.match(db.prepare('SELECT count(*) AS n, sum(active) AS active FROM messages WHERE session_id = ?').get(id), { n: 6, active: 2 });
  t.match(db.prepare('SELECT rewind_count FROM sessions WHERE id = ?').get(id), { rewind_count: 1 });
  db.close();
  t.same(await client.link.call(sessionUndo, { session_id: id, count: 9 }), { removed: 2, text: 'first' });
  t.same(await client.link.call(sessionUndo, { session_id: id }), { removed: 0, text: null });
  await client.submit(id, 'slow: 30');
  await client.next('message.delta', ({ session_id }) => session_id === id, client.events.length);
  await t.rejects(client.link.call(sessionUndo, { session_id: id }), { code: 'BUSY' });
  await t.rejects(client.link.call(sessionCwd, { session_id: id, cwd: '/' }), { code: 'BUSY' });
  await t.rejects(client.link.call(sessionDelete, { session_id: id }), { code: 'BUSY' });
});

t.test('a branch has the same beginning of every prompt, the rows up to the point and nothing of the turn that runs', async (t) => {
  using client = await connect(worker);
  const id = await client.create({ source: 'cli', title: 'Garden' });
  for (const text of ['one', 'run: false; exit 3', 'fail: 500', 'four']) await client.turn(id, text);
  const whole = await client.link.call(sessionBranch, { session_id: id });
  t.match(whole, { title: 'Garden #2', parent_session_id: id, message_count: 10 });
  const shown = async (session_id: string) =>
    (await client.link.call(sessionHistory, { session_id })).messages.map(({ id: _id, ...message }) => message);
  t.same(await shown(whole.session_id), await shown(id), 'errors, durations and failed tools included');
  const db = new Database(home.stateDb, { readonly: true });
  const pinned = (session: string) => db.prepare('SELECT system_prompt, tool_names FROM sessions WHERE id = ?').get(session);
  t.same(pinned(whole.session_id), pinned(id));
  db.close();
  t.match(await client.link.call(sessionBranch, { session_id: id, count: 2, title: 'Earlier' }), { title: 'Earlier', message_count: 6 });
  await client.submit(id, 'slow: 30');
  await client.next('message.delta', ({ session_id }) => session_id === id, client.events.length);
  t.match(await client.link.call(sessionBranch, { session_id: id }), { title: 'Garden #3', message_count: 10 });
  await client.turn(whole.session_id, 'say: 2 words');
  t.match(
    await client.link.call(sessionResume, { session_id: 'Garden' }),
    { session_id: whole.session_id },
    'a title leads to its latest branch',
  );
});

t.test('an export comes back the same: skipped where it is, a new id where another one has its id, errors by their place', async (t) => {
  using client = await connect(worker);
  const id = await client.create({ source: 'cli', title: 'To be taken along' });
  for (const text of ['think: hard', 'read: /no/such/file', 'fail: 500']) await client.turn(id, text);
  const document = await client.link.call(sessionExport, { session_id: id });
  t.match(document, { format: 'agent.session.v1', session: { id, title: 'To be taken along' } });
  t.match(
    document.messages.filter(({ role }) => role === 'tool').map(({ is_error }) => is_error),
    [true],
  );
  t.match(document.messages.at(-1), { error: { code: String }, duration_ms: Number });
  const take = (...sessions: unknown[]) => client.link.call(sessionImport, { sessions });
  t.same(await take(document), { imported_ids: [], skipped_ids: [id], errors: [] });
  await client.link.call(sessionUndo, { session_id: id });
  const { imported_ids } = await take(document);
  t.equal(imported_ids.length, 1);
  t.not(imported_ids[0], id);
  await client.link.call(sessionDelete, { session_id: id });
  t.same(await take(document), { imported_ids: [id], skipped_ids: [], errors: [] });
  t.same(
    await client.link.call(sessionExport, { session_id: id }).then(({ messages }) => messages.map(({ id: _id, ...rest }) => rest)),
    document.messages.map(({ id: _id, ...rest }) => rest),
  );
  t.match((await client.turn(id, 'say: 1 word')).complete, { status: 'complete' }, 'and it goes on');
  const outcome = await take({ format: 'other' }, { ...document, session: { ...document.session, id: '../../etc' } }, 7);
  t.match(outcome, { imported_ids: [], errors: [{ index: 0, message: /format/ }, { index: 1, message: /session\.id/ }, { index: 2 }] });
});

t.test(
  'an import takes a conversation whose title is too long, with a word about the cut, and one without a prompt; both are listed',
  async (t) => {
    using client = await connect(worker);
    const document = (id: string, title: string, messages: unknown[]) => ({
      format: 'agent.session.v1',
      session: { id, source: 'cli', title, started_at: '2026-01-02T03:04:05.000Z' },
      messages,
    });
    const id = await client.create({ source: 'cli' });
    await client.turn(id, 'say: 1 word');
    const { messages } = await client.link.call(sessionExport, { session_id: id });
    const outcome = await client.link.call(sessionImport, {
      sessions: [document('ses_longtitle', '𝕏'.repeat(300), messages), document('ses_notaword', 'Empty', [])],
    });
    t.same(outcome, {
      imported_ids: ['ses_longtitle', 'ses_notaword'],
      skipped_ids: [],
      errors: [],
      warnings: [{ index: 0, message: 'its title of 600 characters was cut to 200' }],
    });
    const { sessions } = await client.link.call(sessionList, { limit: 100, order: 'created' });
    t.same(
      sessions.filter(({ id: one }) => outcome.imported_ids.includes(one)).map(({ title }) => title),
      ['Empty', `${'𝕏'.repeat(99)}…`],
    );
  },
);

t.test('a path of an imported attachment that is not ours is left out', async (t) => {
  using client = await connect(worker);
  const id = await client.create();
  await client.turn(id, 'with a file');
  const document = await client.link.call(sessionExport, { session_id: id });
  const file = { kind: 'image' as const, name: 'x.png', media_type: 'image/png', size: 1, path: '/etc/passwd' };
  const [first, ...rest] = document.messages;
  await client.link.call(sessionDelete, { session_id: id });
  await client.link.call(sessionImport, { sessions: [{ ...document, messages: [{ ...first, attachments: [file] }, ...rest] }] });
  t.match((await client.link.call(sessionHistory, { session_id: id })).messages[0], { attachments: null });
});

t.test('search finds what was said a moment ago: words, parts, other scripts; not what was taken back, deleted or hidden', async (t) => {
  using client = await connect(worker);
  const id = await client.create({ source: 'cli', title: 'Zeppelins' });
  await client.turn(id, 'The quicksilver zeppelin crosses Übersee and 数据库配置');
  const find = async (query: string, session_id?: string) =>
    (await client.link.call(sessionSearch, { query, ...(session_id ? { session_id } : {}) })).hits;
  // On a busy machine a question may be answered before what is new is indexed (limits.search.freshMs).
  await until('it is indexed', async () => (await find('zeppelin')).length > 0);
  for (const query of ['zeppelin', 'quicksilver ZEPPELIN', 'eppel', 'ubersee', '配置', '数据库', '"crosses übersee"'])
    t.match((await find(query))[0], { session_id: id, title: 'Zeppelins', snippet: /zeppelin/ }, query);
  t.same(await find('zeppelin submarine'), []);
  await client.link.call(sessionUndo, { session_id: id });
  t.same(await find('quicksilver'), []);
  const hidden = await client.create({ source: 'cli', hidden: true });
  await client.turn(hidden, 'a secret hovercraft');
  t.ok(await until('it is indexed', async () => (await find('hovercraft', hidden)).length > 0), 'asked for by name it is found');
  t.same(await find('hovercraft'), []);
});

t.test('session_search gives the model earlier conversations, never the one it is in, and the messages around a hit', async (t) => {
  using client = await connect(worker);
  const earlier = await client.create({ source: 'cli', title: 'Earlier talk' });
  await client.turn(earlier, 'the marmalade recipe needs oranges');
  const id = await client.create();
  await until('it is indexed', async () => (await client.link.call(sessionSearch, { query: 'marmalade' })).hits.length > 0);
  const said = async (args: unknown) => (await client.turn(id, `tool: session_search ${JSON.stringify(args)}`)).complete.text;
  const found = await said({ query: 'marmalade' });
  t.match(found, /Earlier talk · user: the marmalade recipe/);
  t.notMatch(found, /session_search \{/, 'its own prompt is not a hit');
  const messageId = Number(/message (\d+) · [^\n]* user:/.exec(found)![1]);
  t.match(await said({ around_message: messageId, radius: 2 }), /user: the marmalade recipe[\s\S]*assistant: You said/);
  t.match(await said({ around_message: 999_999_999 }), /NOT_FOUND/);
});

t.test('runs of scheduled jobs are hidden sessions; housekeeping and prune remove what nobody used for long', async (t) => {
  using client = await connect(worker);
  const { session_id: run } = await client.link.call(runTurn, {
    session_key: null,
    text: 'say: 1 word',
    idempotency_key: 'cron-1',
    surface: 'scheduled_task',
  });
  const { sessions } = await client.link.call(sessionList, { include_hidden: true, limit: 1 });
  t.match(sessions[0], { id: run, hidden: true });
  const { session_id: chat } = await client.link.call(runTurn, {
    session_key: 'agent:main:irc:group:#room',
    text: 'say: 1 word',
    idempotency_key: 'chat-1',
    surface: 'gateway',
    platform: 'irc',
  });
  const stats = await client.link.call(sessionStats, {});
  t.match(stats, { journal_mode: 'wal', by_source: { irc: 1, scheduled_task: 1 } });
  const counted = await client.link.call(sessionPrune, { older_than_days: 0, dry_run: true });
  t.match(counted, { freed_bytes: 0 });
  t.ok(counted.skipped_open >= 1, 'the chat, and whatever still works');
  const done = await client.link.call(sessionPrune, { older_than_days: 0 });
  t.equal(done.removed, counted.removed);
  t.ok(done.freed_bytes > 0, `${done.freed_bytes} bytes were given back`);
  t.match(await client.link.call(sessionResume, { session_id: chat }), { session_id: chat }, 'a chat keeps its conversation');
  await t.rejects(client.link.call(sessionResume, { session_id: run }), { code: 'UNKNOWN_SESSION' });
});

t.test('a surface that closed a session hears no more of it; its directory can be changed while it rests', async (t) => {
  using client = await connect(worker);
  using other = await connect(worker);
  const id = await client.create();
  t.same(await client.link.call(sessionCwd, { session_id: id, cwd: home.root }), { cwd: home.root });
  await t.rejects(client.link.call(sessionCwd, { session_id: id, cwd: '/no/such' }), { code: 'BAD_REQUEST', field: 'cwd' });
  t.match((await client.turn(id, 'run: pwd')).complete.text, new RegExp(home.root));
  t.same(await client.link.call(sessionClose, { session_id: id }), { closed: true });
  const from = client.events.length;
  await other.link.call(sessionResume, { session_id: id });
  await other.turn(id, 'say: 1 word');
  await other.link.call(sessionTitle, { session_id: id, title: 'Heard elsewhere' });
  t.same(
    client.events.slice(from).filter(({ session_id }) => session_id === id),
    [],
  );
});

t.test('the snapshot of a very long session has only the newest rows that fit', async (t) => {
  using client = await connect(worker);
  const db = new Database(home.stateDb);
  const id = await client.create();
  const insert = db.prepare(
    "INSERT INTO messages (session_id, position, role, content, finish_reason, timestamp) VALUES (?, ?, ?, ?, 'stop', 1)",
  );
  db.transaction(() => {
    for (let n = 1; n <= 10_000; n++) insert.run(id, n, n % 2 ? 'user' : 'assistant', `row ${n}`);
  })();
  db.close();
  const { messages } = await client.link.call(sessionResume, { session_id: id });
  t.equal(messages.length, limits.sessions.snapshotRowsMax);
  t.equal(messages.at(-1)!.content, 'row 10000');
  t.match((await client.link.call(sessionHistory, { session_id: id, before_id: messages[0]!.id, limit: 1 })).messages, [
    { content: `row ${10_000 - limits.sessions.snapshotRowsMax}` },
  ]);
});

t.test('sessions left without a prompt go together: lists hear of it, and one that somebody looks at stays', async (t) => {
  using client = await connect(worker);
  using looking = await connect(worker);
  const left = [await client.create(), await client.create()];
  for (const session_id of left) await client.link.call(sessionClose, { session_id });
  const open = await looking.create();
  const db = new Database(home.stateDb);
  db.prepare('UPDATE sessions SET last_active = 1 WHERE used = 0').run();
  db.close();
  const { count } = await client.link.call(sessionEmpty, {});
  t.ok(count >= 2);
  const from = looking.events.length;
  t.same(await client.link.call(sessionEmpty, { remove: true }), { count });
  await looking.next('sessions.changed', undefined, from);
  for (const session_id of left) await t.rejects(client.link.call(sessionResume, { session_id }), { code: 'UNKNOWN_SESSION' });
  t.match((await looking.turn(open, 'say: 1 word')).complete, { status: 'complete' });
  t.same(await client.link.call(sessionEmpty, { remove: true }), { count: 0 });
});
