/** Damage as it happens to files: pages written over, files cut short, files of something else; and what is left of them. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { openState } from '../../services/agent/openState.ts';
import { Store } from '../../services/agent/store.ts';
import { asideName, copyReadable, damagedSource, putInPlace } from '../../state/db/recover.ts';
import { stores } from '../../state/db/stores.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { mounts, onTmpfs } from '../harness/smallDisk.ts';

const SESSIONS = 30;
const MESSAGES = 60;
const PAGE = 4_096;

/** A store of ordinary size. */
function filled(home: TestHome): string {
  const store = new Store(home.stateDb);
  store.transaction(() => {
    for (let n = 0; n < SESSIONS; n++) {
      const { id } = store.createSession({ source: 'cli', cwd: '/', title: `session ${n}` });
      store.pinSystemPrompt(id, 'p'.repeat(9_000), '[]');
      for (let m = 1; m <= MESSAGES; m++)
        store.run(
          "INSERT INTO messages (session_id, position, role, content, timestamp) VALUES (?, ?, 'user', ?, 1)",
          id,
          m,
          `${n}.${m} ${'x'.repeat(200)}`,
        );
    }
  });
  store.close();
  return home.stateDb;
}

/** As `dd conv=notrunc` would. */
function overwrite(path: string, from: number, bytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(bytes, 0x5a), 0, bytes, from);
  closeSync(file);
}

const rowsOf = (tables: { name: string; after: number }[], name: string) => tables.find((table) => table.name === name)!.after;

t.test('what is left of a damaged store is copied, checked and counted', async (t) => {
  const all = SESSIONS * MESSAGES;
  const cases: { name: string; damage: (path: string) => void; complete: boolean; least: number }[] = [
    { name: 'nothing is damaged', damage: () => {}, complete: true, least: all },
    { name: 'the header is written over', damage: (path) => overwrite(path, 0, 100), complete: true, least: all },
    { name: 'the first page is written over', damage: (path) => overwrite(path, 0, PAGE), complete: true, least: all },
    {
      name: 'ten pages in the middle are written over',
      damage: (path) => overwrite(path, 60 * PAGE, 10 * PAGE),
      complete: false,
      least: all * 0.8,
    },
    { name: 'the second half is gone', damage: (path) => truncateSync(path, statSync(path).size / 2), complete: false, least: all * 0.25 },
  ];
  for (const { name, damage, complete, least } of cases) {
    using home = testHome();
    const path = filled(home);
    damage(path);
    const recovery = copyReadable({ from: path, to: `${path}.recovered`, schema: stores.state.schema, finish: stores.state.finish });
    t.equal(recovery.complete, complete, name);
    t.ok(rowsOf(recovery.tables, 'messages') >= least, `${name}: ${rowsOf(recovery.tables, 'messages')} messages`);
    const kept = putInPlace(recovery.path, path);
    t.ok(existsSync(kept), `${name}: the old file is kept`);
    const store = new Store(path);
    t.same(store.db.pragma('foreign_key_check'), [], name);
    const { n } = store.one<{ n: number }>('SELECT count(*) AS n FROM messages')!;
    t.equal(n, rowsOf(recovery.tables, 'messages'), `${name}: as many as it said`);
    t.equal(store.one<{ n: number }>('SELECT sum(stored) AS n FROM session_counts')!.n, n, `${name}: counts are made anew`);
    store.close();
    t.same(
      readdirSync(home.root).filter((file) => /recovered|source/.test(file)),
      [],
      `${name}: nothing is left lying`,
    );
  }
});

/** Pages of one kind of a table, in the order of their rows. */
function pagesOf(path: string, table: string, pagetype: 'leaf' | 'internal' = 'leaf'): number[] {
  const db = new Database(path, { readonly: true });
  const pages = db.prepare('SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path').pluck().all(table, pagetype);
  db.close();
  return pages as number[];
}

t.test('a bad page costs the rows on it, in a table with row numbers and in one that lives in the tree of its key', async (t) => {
  const events = 400;
  const schema = (withoutRowid: boolean) => `
    CREATE TABLE sessions (id TEXT PRIMARY KEY);
    CREATE TABLE events (session_id TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL, payload TEXT NOT NULL,
      PRIMARY KEY (session_id, seq))${withoutRowid ? ' WITHOUT ROWID' : ''};`;
  for (const withoutRowid of [false, true]) {
    using home = testHome();
    const db = new Database(home.stateDb);
    db.exec(schema(withoutRowid));
    db.transaction(() => {
      for (let n = 0; n < SESSIONS; n++) {
        db.prepare('INSERT INTO sessions VALUES (?)').run(`ses_${n}`);
        const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?)');
        for (let seq = 1; seq <= events; seq++) insert.run(`ses_${n}`, seq, `${n}.${seq} ${'x'.repeat(200)}`);
      }
    })();
    db.close();
    const whole = copyReadable({ from: home.stateDb, to: `${home.stateDb}.recovered` });
    t.match(whole, { complete: true, tables: [{}, { name: 'events', before: SESSIONS * events, after: SESSIONS * events }] });
    const pages = pagesOf(home.stateDb, 'events');
    // Two spots far from each other: what stands between them is reached too.
    const bad = [pages[Math.floor(pages.length / 4)]!, pages[Math.floor((pages.length * 3) / 4)]!];
    for (const pageno of bad) overwrite(home.stateDb, (pageno - 1) * PAGE, PAGE);
    const { complete, tables, path } = copyReadable({ from: home.stateDb, to: `${home.stateDb}.recovered` });
    t.equal(complete, false);
    // Some 17 rows fill a page.
    t.ok(rowsOf(tables, 'events') > SESSIONS * events - 2 * 25, `${withoutRowid}: ${rowsOf(tables, 'events')} of ${SESSIONS * events}`);
    const copy = new Database(path, { readonly: true });
    t.equal(copy.prepare('SELECT count(*) FROM events').pluck().get(), rowsOf(tables, 'events'), 'none is counted twice');
    t.equal(
      copy.prepare("SELECT count(*) FROM events WHERE payload NOT LIKE substr(session_id, 5) || '.' || seq || ' %'").pluck().get(),
      0,
    );
    t.equal((copy.pragma('table_list(events)') as { wr: number }[])[0]!.wr, withoutRowid ? 1 : 0, 'it stays of its kind');
    copy.close();
  }
});

t.test('rows whose parent is lost get a bare one, also in the tree of their key', async (t) => {
  using home = testHome();
  const store = new Store(home.stateDb);
  const { id } = store.createSession({ source: 'cli', cwd: '/', title: 'lost' });
  store.run("INSERT INTO session_events (session_id, seq, type, payload, at) VALUES (?, 1, 'notice', '{}', 1)", id);
  store.db.pragma('foreign_keys = OFF');
  store.run('DELETE FROM sessions WHERE id = ?', id);
  store.close();
  const { path } = copyReadable({ from: home.stateDb, to: `${home.stateDb}.recovered` });
  const copy = new Database(path, { readonly: true });
  t.same(copy.pragma('foreign_key_check'), []);
  t.match(copy.prepare('SELECT id, title FROM sessions').all(), [{ id, title: null }]);
  t.equal(copy.prepare('SELECT count(*) FROM session_events').pluck().get(), 1);
  copy.close();
});

t.test('a file that is no store at all: STORE_CORRUPT, and nothing is changed', async (t) => {
  for (const content of ['', 'this is no database, '.repeat(1_000)]) {
    using home = testHome();
    writeFileSync(home.stateDb, content);
    t.throws(() => copyReadable({ from: home.stateDb, to: `${home.stateDb}.recovered` }), { code: 'STORE_CORRUPT' });
    t.same(
      readdirSync(home.root).filter((file) => file.startsWith('state.db')),
      ['state.db'],
    );
    t.equal(statSync(home.stateDb).size, content.length);
  }
});

t.test('writes that stand only in the log beside a damaged file are recovered too', async (t) => {
  using home = testHome();
  const path = filled(home);
  const store = new Store(path);
  store.db.pragma('wal_autocheckpoint = 0');
  const { id } = store.createSession({ source: 'cli', cwd: '/', title: 'only in the log' });
  using copy = testHome();
  for (const suffix of ['', '-wal']) writeFileSync(copy.stateDb + suffix, (await import('node:fs')).readFileSync(path + suffix));
  store.close();
  overwrite(copy.stateDb, 60 * PAGE, 10 * PAGE);
  const { path: made } = copyReadable({ from: copy.stateDb, to: `${copy.stateDb}.recovered` });
  const db = new Database(made, { readonly: true });
  t.match(db.prepare('SELECT title FROM sessions WHERE id = ?').get(id), { title: 'only in the log' });
  db.close();
});

t.test('a swap that was cut short is found again with its log of writes', async (t) => {
  using home = testHome();
  const path = filled(home);
  t.equal(damagedSource(path), path);
  const aside = asideName(path, 'damaged');
  writeFileSync(`${path}-wal`, 'a log');
  linkSync(path, aside);
  renameSync(`${path}-wal`, `${aside}-wal`);
  t.equal(damagedSource(path), aside);
});

t.test('a recovery that takes too long stops and leaves nothing behind', async (t) => {
  using home = testHome();
  const path = filled(home);
  t.throws(() => copyReadable({ from: path, to: `${path}.recovered`, maxMs: 0 }), { code: 'TIMEOUT' });
  t.same(
    readdirSync(home.root).filter((file) => file.startsWith('state.db')),
    ['state.db'],
  );
});

const context = (stateDb: string) => ({
  home: {},
  profile: 'default',
  paths: { stateDb, dir: dirname(stateDb) },
  log: createLogger({ sink: { write() {}, close() {} }, component: 'agent' }),
  reportFacts() {},
  reportProblem() {},
});
const open = (path: string) => openState(context(path) as unknown as Parameters<typeof openState>[0]);

t.test('a damaged store on a full disk is left as it is, and recovered when there is room', mounts, async (t) => {
  using home = testHome();
  const path = filled(home);
  using small = onTmpfs(home, 40_000);
  execFileSync('cp', [path, small.path]);
  overwrite(small.path, 0, PAGE);
  small.fill();
  t.throws(() => copyReadable({ from: small.path, to: `${small.path}.recovered` }), { code: 'DISK_FULL', fix: /free some disk space/ });
  t.throws(() => open(small.path), { code: 'DISK_FULL' });
  t.equal(statSync(small.path).size, statSync(path).size, 'the damaged file stands where it stood');
  small.empty();
  const { store, facts } = open(small.path);
  t.match(facts(), { store: 'recovered', store_lost: null });
  t.equal(store.one<{ n: number }>('SELECT count(*) AS n FROM messages')!.n, SESSIONS * MESSAGES);
  store.close();
});

t.test('a store that cannot be written says so and is not taken for a damaged one', mounts, async (t) => {
  using home = testHome();
  const path = filled(home);
  using small = onTmpfs(home, 40_000);
  execFileSync('cp', [path, small.path]);
  small.readOnly();
  t.throws(() => open(small.path), { code: 'HOME_UNUSABLE', fix: /permissions/ });
  t.equal(statSync(small.path).size, statSync(path).size);
});
