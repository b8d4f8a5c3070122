/** The index beside a real store: what it follows, what it survives, and that nobody waits for it. */
import { rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { limits } from '../../base/limits.ts';
import { Search } from '../../services/agent/search.ts';
import { SearchDb } from '../../services/agent/searchDb.ts';
import { Store } from '../../services/agent/store.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { testHome, type TestHome } from '../harness/home.ts';

const log = createLogger({ sink: { write() {}, close() {} }, component: 'agent' });

function scene(): { home: TestHome; store: Store } & Disposable {
  const home = testHome();
  const store = new Store(home.stateDb);
  return {
    home,
    store,
    [Symbol.dispose]() {
      store.close();
      home[Symbol.dispose]();
    },
  };
}

function say(store: Store, session: string, content: string, { role = 'user', reason = null as string | null } = {}): number {
  return store.run(
    'INSERT INTO messages (session_id, position, role, content, finish_reason, timestamp) VALUES (?, (SELECT coalesce(max(position), 0) + 1 FROM messages), ?, ?, ?, 1)',
    session,
    role,
    content,
    reason,
  ).id;
}

const newSession = (store: Store, more = {}) => store.createSession({ source: 'cli', cwd: '/', ...more }).id;

function build(db: SearchDb): void {
  while (!db.step());
}

const find = (db: SearchDb, query: string, more = {}) => db.search({ query, limit: 10, ...more }).map(({ message_id }) => message_id);

t.test('answers that were still streaming when the mark passed them are indexed once they are closed', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const session = newSession(store);
  const db = new SearchDb(home.stateDb, home.searchDb);
  const open = say(store, session, 'half of the pelican', { role: 'assistant' });
  const later = say(store, session, 'another pelican');
  build(db);
  t.same(find(db, 'pelican'), [later]);
  store.run("UPDATE messages SET content = 'a whole pelican', finish_reason = 'stop' WHERE id = ?", open);
  build(db);
  t.same(find(db, 'pelican'), [later, open]);
  t.ok(db.isCurrent());
  db.close();
});

t.test('an index that was stopped anywhere goes on where it was, and finds each message once', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const session = newSession(store);
  const total = limits.search.batchMax * 3 + 7;
  store.transaction(() => {
    for (let n = 0; n < total; n++) say(store, session, `walrus ${n}`);
  });
  for (let stops = 0; stops < 4; stops++) {
    const db = new SearchDb(home.stateDb, home.searchDb);
    db.step();
    db.close();
  }
  const db = new SearchDb(home.stateDb, home.searchDb);
  build(db);
  let merges = 0;
  while (!db.tidy() && merges < 1_000) merges++;
  t.ok(merges < 1_000, 'merging comes to an end');
  t.same(db.counts(true), { indexed: total, total });
  t.equal(find(db, 'walrus 1234', { limit: 50 }).length, 1);
  db.close();
});

t.test('rows whose numbers were used again after a power cut are indexed as they are now', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const session = newSession(store);
  const first = say(store, session, 'lost heron');
  const one = new SearchDb(home.stateDb, home.searchDb);
  build(one);
  one.close();
  store.run('DELETE FROM messages WHERE id = ?', first);
  store.run("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'messages'");
  t.equal(say(store, session, 'new stork'), first);
  const two = new SearchDb(home.stateDb, home.searchDb);
  build(two);
  t.same([find(two, 'stork'), find(two, 'heron')], [[first], []]);
  two.close();
});

t.test('entries of deleted sessions are never answered, and a sweep removes them', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const [gone, kept] = [newSession(store), newSession(store)];
  say(store, gone, 'an old badger');
  const id = say(store, kept, 'a new badger');
  const db = new SearchDb(home.stateDb, home.searchDb);
  build(db);
  store.deleteSession(gone);
  t.same(find(db, 'badger'), [id]);
  t.equal(db.counts(true).indexed, 2);
  t.equal(db.sweep(), 1);
  t.equal(db.counts(true).indexed, 1);
  db.close();
});

t.test('an index of another state.db is built anew', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  say(store, newSession(store), 'first store');
  const db = new SearchDb(home.stateDb, home.searchDb);
  build(db);
  db.close();
  store.run("UPDATE state_meta SET value = 'another' WHERE key = 'epoch'");
  const next = new SearchDb(home.stateDb, home.searchDb);
  t.equal(next.counts(true).indexed, 0);
  build(next);
  t.equal(find(next, 'first').length, 1);
  next.close();
});

t.test('lesson 34: a large history is searched and indexed beside the loop, never on it', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const session = newSession(store);
  store.transaction(() => {
    for (let n = 0; n < 20_000; n++) say(store, session, `${'flamingo common words of every message '.repeat(4)}${n}`);
  });
  const search = new Search({ store, path: home.searchDb, log, busy: () => false });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const early = await search.query({ query: 'flamingo', limit: 5 });
  t.ok(early.hits.length > 0 && !early.ready, 'what is there already is answered while the rest is being indexed');
  t.ok(early.indexed < early.total);
  let answer;
  do answer = await search.query({ query: 'flamingo 19999', limit: 5 });
  while (!answer.ready);
  clearInterval(timer);
  t.equal(answer.hits.length, 1);
  t.ok(ticks > 20, `the loop went round ${ticks} times meanwhile`);
  await search.close();
});

t.test('a thread that fails again and again is left alone for a while, and says how to go on', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const search = new Search({ store, path: `${home.root}/no/such/../../\0`, log, busy: () => false });
  for (let n = 0; n < limits.search.failuresMax; n++) await t.rejects(search.query({ query: 'x', limit: 1 }), { code: 'SEARCH_FAILED' });
  await t.rejects(search.query({ query: 'x', limit: 1 }), {
    code: 'SEARCH_FAILED',
    message: /several times/,
    retryAfterMs: limits.search.failuresWindowMs,
  });
  await search.close();
});

t.test('daemon 20: readers are never held up by the writer, nor the writer by them', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  const session = newSession(store);
  const reader = openReadOnly(home.stateDb);
  const count = reader.prepare('SELECT count(*) AS n FROM messages');
  reader.exec('BEGIN');
  const before = (count.get() as { n: number }).n;
  store.transaction(() => {
    for (let n = 0; n < 3_000; n++) {
      say(store, session, 'x'.repeat(500));
      if (n % 500 === 0) {
        const other = openReadOnly(home.stateDb);
        t.equal(
          (other.prepare('SELECT count(*) AS n FROM messages').get() as { n: number }).n,
          before,
          'opened in the middle of a transaction',
        );
        other.close();
      }
    }
  });
  t.equal((count.get() as { n: number }).n, before, 'it goes on seeing what it began with');
  reader.exec('COMMIT');
  t.equal((count.get() as { n: number }).n, 3_000);
  reader.close();
  t.ok(statSync(`${home.stateDb}-wal`).size > 0);
});

t.test('daemon 22: a search.db that is gone or no database costs the search, not the store', async (t) => {
  using parts = scene();
  const { home, store } = parts;
  say(store, newSession(store), 'an ibis');
  const db = new SearchDb(home.stateDb, home.searchDb);
  build(db);
  db.close();
  rmSync(home.searchDb);
  const again = new SearchDb(home.stateDb, home.searchDb);
  build(again);
  t.equal(find(again, 'ibis').length, 1);
  again.close();
  new Database(home.searchDb).exec('DROP TABLE parts').close();
  const mended = new SearchDb(home.stateDb, home.searchDb);
  t.equal(mended.counts(true).indexed, 0, 'half an index is none');
  build(mended);
  t.equal(find(mended, 'ibi').length, 1);
  mended.close();
});

t.test('a list of sessions counts nothing: its plan reads the index, kept counts and one first row each', async (t) => {
  using parts = scene();
  const { store } = parts;
  const plans: string[] = [];
  const real = store.db.prepare.bind(store.db);
  store.db.prepare = ((sql: string) => {
    if (sql.includes('FROM sessions'))
      plans.push(
        ...(real(`EXPLAIN QUERY PLAN ${sql}`).all({ limit: 1, offset: 0, sources: null }) as { detail: string }[]).map(
          ({ detail }) => detail,
        ),
      );
    return real(sql);
  }) as never;
  store.listSessions({ limit: 50 });
  const text = plans.join('\n');
  t.match(text, /USING (?:COVERING )?INDEX sessions_listed \(hidden=\? AND archived=\?\)/);
  t.match(text, /SEARCH c USING .*INDEX.*session_counts.*\(session_id=\?\)/);
  t.match(text, /SEARCH m USING INDEX messages_in_order \(session_id=\?/);
  t.notMatch(text, /SCAN (?:messages|m|c)\b/);
});
