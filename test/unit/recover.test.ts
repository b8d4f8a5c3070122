/** Damage as it happens to files: pages written over, files cut short, files of something else; and what is left of them. */
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
import Database from 'better-sqlite3';
import t from 'tap';
import { Store } from '../../services/agent/store.ts';
import { asideName, copyReadable, damagedSource, finishState, putInPlace } from '../../state/db/recover.ts';
import { testHome, type TestHome } from '../harness/home.ts';

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
    const recovery = copyReadable({ from: path, to: `${path}.recovered`, finish: finishState });
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
  const aside = asideName(path, 'corrupt');
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
