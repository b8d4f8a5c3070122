/** Every page of a store is damaged once, by itself: no more is lost than that page held. */
import { closeSync, copyFileSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { stateSchema } from '../../state/db/schemas/state.ts';
import { Store } from '../../services/agent/store.ts';
import { openStore, type Schema } from '../../state/db/open.ts';
import { copyReadable } from '../../state/db/recover.ts';
import { testHome } from '../harness/home.ts';

t.setTimeout(240_000);

const PAGE = 4_096;

interface PageFacts {
  pageno: number;
  name: string;
  pagetype: 'leaf' | 'internal' | 'overflow';
  ncell: number;
}

function pagesOf(path: string): {
  count: number;
  facts: Map<number, PageFacts>;
  tables: Map<string, { rows: number; withoutRowid: boolean }>;
} {
  const db = new Database(path, { readonly: true });
  const facts = db.prepare('SELECT pageno, name, pagetype, ncell FROM dbstat').all() as PageFacts[];
  const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").pluck().all() as string[];
  const tables = names.map((name) => {
    const [{ wr }] = db.pragma(`table_list("${name}")`) as [{ wr: number }];
    return [name, { rows: db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get() as number, withoutRowid: wr === 1 }] as const;
  });
  const count = db.pragma('page_count', { simple: true }) as number;
  db.close();
  return { count, facts: new Map(facts.map((page) => [page.pageno, page])), tables: new Map(tables) };
}

/** Rows that may be lost with this page: those on it, the one whose value goes over it, and none with an inner page or an index. */
function rowsOn({ facts, tables }: ReturnType<typeof pagesOf>, pageno: number): { table: string; rows: number } {
  const page = facts.get(pageno);
  const table = page && tables.get(page.name);
  if (!page || !table) return { table: '', rows: 0 };
  if (page.pagetype === 'overflow') return { table: page.name, rows: 1 };
  return { table: page.name, rows: page.pagetype === 'leaf' || table.withoutRowid ? page.ncell : 0 };
}

function damageEachPage(t: Test, path: string, schema: Schema): void {
  const facts = pagesOf(path);
  for (let pageno = 1; pageno <= facts.count; pageno++) {
    const damaged = `${path}.damaged`;
    copyFileSync(path, damaged);
    const file = openSync(damaged, 'r+');
    writeSync(file, Buffer.alloc(PAGE, pageno % 2 === 0 ? 0x5a : 0), 0, PAGE, (pageno - 1) * PAGE);
    closeSync(file);
    const { tables } = copyReadable({ from: damaged, to: `${path}.recovered`, schema });
    const on = rowsOn(facts, pageno);
    const kind = JSON.stringify(facts.facts.get(pageno) ?? 'no tree');
    for (const [table, { rows }] of facts.tables) {
      const after = tables.find((found) => found.name === table)?.after ?? 0;
      const may = table === on.table ? on.rows : 0;
      if (after < rows - may || after > rows) t.fail(`page ${pageno} ${kind}: ${table} has ${after} of ${rows} rows`);
    }
  }
  t.pass(`${facts.count} pages`);
}

t.test('state.db: tables with row numbers and without, long values, lists of pages, a table of tables over several pages', async (t) => {
  using home = testHome();
  const store = new Store(home.stateDb);
  store.transaction(() => {
    for (let n = 0; n < 6; n++) {
      const { id } = store.createSession({ source: 'cli', cwd: '/', title: `session ${n}` });
      store.pinSystemPrompt(id, `${n} ${'p'.repeat(9_000)}`, '[]');
      for (let m = 1; m <= 40; m++) {
        const content = `${n}.${m} ${'x'.repeat(m % 20 === 0 ? 6_000 : 150)}`;
        store.run("INSERT INTO messages (session_id, position, role, content, timestamp) VALUES (?, ?, 'user', ?, 1)", id, m, content);
        store.run("INSERT INTO session_events (session_id, seq, type, payload, at) VALUES (?, ?, 'notice', ?, 1)", id, m, content);
      }
      store.bindConversation(`irc:${n}`, id);
    }
    // Pages on the free list still hold what was on them: it must not come back.
    for (let m = 100; m < 130; m++) store.run('DELETE FROM messages WHERE id = ?', m);
  });
  store.close();
  const { facts, count } = pagesOf(home.stateDb);
  t.ok([...facts.values()].some(({ name, pagetype }) => name === 'messages' && pagetype === 'internal'));
  t.ok([...facts.values()].filter(({ name }) => name === 'sqlite_schema').length > 2);
  t.ok(count > facts.size, 'some pages are free or hold notes');
  damageEachPage(t, home.stateDb, stateSchema);
});

t.test('a store without notes of its pages', async (t) => {
  using home = testHome();
  const schema: Schema = {
    version: 3,
    tables: {
      jobs: { columns: { id: 'TEXT PRIMARY KEY', name: 'TEXT NOT NULL', at: 'INTEGER' } },
      inbox: {
        columns: {
          id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
          chat: 'TEXT NOT NULL',
          text: 'TEXT NOT NULL',
          state: "TEXT NOT NULL DEFAULT 'new'",
        },
        indices: { inbox_open: "inbox (state, id) WHERE state = 'new'" },
      },
      runs: {
        columns: { id: 'TEXT PRIMARY KEY', job: 'TEXT NOT NULL', at: 'INTEGER', error: 'TEXT' },
        indices: { runs_of: 'runs (job, at)' },
      },
    },
  };
  const db = openStore(home.gatewayDb, schema);
  db.transaction(() => {
    for (let n = 0; n < 800; n++) {
      db.prepare('INSERT INTO inbox (chat, text) VALUES (?, ?)').run(`#${n % 7}`, `text ${n} ${'y'.repeat(n % 100 === 0 ? 5_000 : 60)}`);
      db.prepare('INSERT INTO runs VALUES (?, ?, ?, ?)').run(`run_${n}`, `job_${n % 5}`, n, n % 3 === 0 ? 'failed' : null);
      if (n < 50) db.prepare('INSERT INTO jobs VALUES (?, ?, ?)').run(`job_${n}`, `job ${n}`, n);
    }
    db.exec('DELETE FROM inbox WHERE id BETWEEN 300 AND 400');
  })();
  db.close();
  damageEachPage(t, home.gatewayDb, schema);
});

t.test('a damaged frame of the log costs the page in it, not those after it', async (t) => {
  using home = testHome();
  const schema: Schema = { version: 1, tables: { notes: { columns: { id: 'INTEGER PRIMARY KEY', text: 'TEXT NOT NULL' } } } };
  const db = openStore(home.stateDb, schema);
  db.pragma('wal_autocheckpoint = 0');
  for (let n = 0; n < 200; n++) db.prepare('INSERT INTO notes (text) VALUES (?)').run(`${n} ${'z'.repeat(200)}`);
  using copy = testHome();
  for (const suffix of ['', '-wal']) writeFileSync(copy.stateDb + suffix, readFileSync(home.stateDb + suffix));
  db.close();
  const log = readFileSync(`${copy.stateDb}-wal`);
  const frame = 24 + PAGE;
  const middle = Math.floor((log.length - 32) / frame / 2);
  log.fill(0x5a, 32 + middle * frame + 24, 32 + (middle + 1) * frame);
  writeFileSync(`${copy.stateDb}-wal`, log);
  const { tables } = copyReadable({ from: copy.stateDb, to: `${copy.stateDb}.recovered`, schema });
  t.match(tables, [{ name: 'notes', after: 200 }], 'the page was written again after that frame');
});

t.test('the table of tables is lost and nothing says how it was: rows are found by what they look like', async (t) => {
  using home = testHome();
  const db = new Database(home.stateDb);
  db.pragma('auto_vacuum = INCREMENTAL');
  db.exec('CREATE TABLE spare (x); CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL); DROP TABLE spare;');
  db.transaction(() => {
    for (let n = 0; n < 500; n++) db.prepare('INSERT INTO notes (text) VALUES (?)').run(`${n} ${'z'.repeat(200)}`);
  })();
  db.close();
  const schema: Schema = {
    version: 1,
    tables: { more: { columns: { a: 'TEXT PRIMARY KEY' } }, notes: { columns: { id: 'INTEGER PRIMARY KEY', text: 'TEXT NOT NULL' } } },
  };
  const file = openSync(home.stateDb, 'r+');
  writeSync(file, Buffer.alloc(PAGE, 0x5a), 0, PAGE, 0);
  closeSync(file);
  const { tables } = copyReadable({ from: home.stateDb, to: `${home.stateDb}.recovered`, schema });
  t.match(
    tables.find(({ name }) => name === 'notes'),
    { after: 500 },
  );
});
