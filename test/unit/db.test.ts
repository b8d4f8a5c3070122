import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { openReadOnly, openStore, type Schema } from '../../state/db/open.ts';
import { testHome } from '../harness/home.ts';
import { mounts, onTmpfs } from '../harness/smallDisk.ts';

const schema = (columns: Record<string, string>, more: Partial<Schema['tables'][string]> = {}, version = 1): Schema => ({
  version,
  tables: { notes: { columns: { id: 'INTEGER PRIMARY KEY', ...columns }, ...more } },
});

t.test('a new store: WAL, private files, constraints and indices', async (t) => {
  using home = testHome();
  const db = openStore(
    home.stateDb,
    schema(
      { a: "TEXT NOT NULL DEFAULT ''", b: 'TEXT' },
      { constraints: ['UNIQUE (a, b)'], indices: { by_b: 'notes (b)', 'unique:one_a': 'notes (a)' } },
      3,
    ),
  );
  db.exec("INSERT INTO notes (a, b) VALUES ('x', 'y')");
  t.same(
    [db.pragma('journal_mode', { simple: true }), db.pragma('user_version', { simple: true }), db.pragma('foreign_keys', { simple: true })],
    ['wal', 3, 1],
  );
  t.throws(() => db.exec("INSERT INTO notes (a, b) VALUES ('x', 'z')"), { code: 'SQLITE_CONSTRAINT_UNIQUE' });
  const files = readdirSync(home.root).filter((name) => name.startsWith('state.db'));
  t.same(
    files.map((name) => [name, (statSync(`${home.root}/${name}`).mode & 0o777).toString(8)]),
    [
      ['state.db', '600'],
      ['state.db-shm', '600'],
      ['state.db-wal', '600'],
    ],
  );
  db.close();
});

t.test('a store that cannot be created for want of room is a full disk, however little is left', mounts, async (t) => {
  using home = testHome();
  using disk = onTmpfs(home, 1_000);
  for (const freeKib of [0, 4, 8, 16, 32, 40]) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${disk.path}${suffix}`, { force: true });
    disk.fill(freeKib);
    t.throws(() => openStore(disk.path, schema({ a: 'TEXT' })), { code: 'DISK_FULL' }, `${freeKib} KiB`);
  }
});

t.test('an index that only makes reading faster waits until there is room for it: the store opens without', mounts, async (t) => {
  using home = testHome();
  using disk = onTmpfs(home, 8_000);
  const old = openStore(disk.path, schema({ a: 'TEXT' }));
  old.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO notes (a) SELECT hex(randomblob(400)) || i FROM n`);
  old.close();
  disk.fill(300);
  const newer = schema({ a: 'TEXT' }, { fastIndices: { by_a: 'notes (a)' } });
  const indices = () => {
    const db = openStore(disk.path, newer);
    const found = db.prepare("SELECT name FROM sqlite_master WHERE type = 'index'").pluck().all();
    db.exec("INSERT INTO notes (a) VALUES ('written')");
    db.close();
    return found;
  };
  t.same(indices(), [], 'too full: nothing but the speed is missing');
  t.ok(statfsSync(dirname(disk.path)).bavail * 4_096 > 200 * 1_024, 'and what was begun has given its room back');
  disk.empty();
  t.same(indices(), ['by_a'], 'there is room again');
});

t.test('reconciliation adds columns, tables and indices, and drops nothing', async (t) => {
  using home = testHome();
  const old = openStore(home.stateDb, schema({ a: 'TEXT', gone: 'TEXT' }));
  old.exec("INSERT INTO notes (a, gone) VALUES ('kept', 'kept too')");
  old.close();
  const newer = schema({ a: 'TEXT', tool_names: "TEXT NOT NULL DEFAULT '[]'" }, { indices: { by_a: 'notes (a)' } }, 28);
  newer.tables.more = { columns: { id: 'INTEGER PRIMARY KEY' } };
  const db = openStore(home.stateDb, newer);
  t.same(db.prepare('SELECT * FROM notes').all(), [{ id: 1, a: 'kept', gone: 'kept too', tool_names: '[]' }]);
  t.same(db.prepare("SELECT name FROM sqlite_master WHERE name IN ('more', 'by_a') ORDER BY name").all(), [
    { name: 'by_a' },
    { name: 'more' },
  ]);
  db.close();
  const again = openStore(home.stateDb, schema({ a: 'TEXT' }, {}, 5));
  t.equal(again.pragma('user_version', { simple: true }), 28, 'an older release leaves the number of a newer one alone');
  again.close();
});

t.test('two processes open and reconcile a new store at once', async (t) => {
  using home = testHome();
  const script = `
    import { openStore } from '${import.meta.dirname}/../../state/db/open.ts';
    const db = openStore(process.argv[1], { version: 1, tables: { n: { columns: { id: 'INTEGER PRIMARY KEY' }, indices: { i: 'n (id)' } } } });
    for (let i = 0; i < 50; i++) db.exec('INSERT INTO n DEFAULT VALUES');`;
  const children = [1, 2, 3].map(() => spawn(process.execPath, ['--input-type=module', '-e', script, home.stateDb], { stdio: 'inherit' }));
  t.same(await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code as number))), [0, 0, 0]);
  const db = openReadOnly(home.stateDb);
  t.same(db.prepare('SELECT count(*) AS n FROM n').get(), { n: 150 });
  t.throws(() => db.exec('DELETE FROM n'), { code: 'SQLITE_READONLY' });
  db.close();
});

t.test('a damaged store: STORE_CORRUPT names the file and the recovery, and leaves it as it is', async (t) => {
  using home = testHome();
  writeFileSync(home.stateDb, 'this was a database once, long ago, and it is longer than a header of a hundred bytes would be, by far');
  t.throws(() => openStore(home.stateDb, schema({})), {
    code: 'STORE_CORRUPT',
    message: new RegExp(home.stateDb),
    fix: /built again/,
  });
  t.match(readFileSync(home.stateDb, 'utf8'), /^this was a database once/);
  const db = openStore(home.gatewayDb, schema({ a: 'TEXT' }));
  const insert = db.prepare('INSERT INTO notes (a) VALUES (?)');
  for (let n = 0; n < 500; n++) insert.run('x'.repeat(200));
  db.close();
  const bytes = readFileSync(home.gatewayDb);
  bytes.fill(0x5a, 8_192, 40_000);
  writeFileSync(home.gatewayDb, bytes);
  t.throws(() => openStore(home.gatewayDb, schema({ a: 'TEXT' })), { code: 'STORE_CORRUPT' }, 'pages torn out of its middle');
});

t.test('a store that stays locked: STORE_BUSY within its limit, to be tried again', async (t) => {
  using home = testHome();
  openStore(home.stateDb, schema({ a: 'TEXT' })).close();
  const holder = new Database(home.stateDb);
  holder.exec('BEGIN IMMEDIATE');
  t.throws(() => openStore(home.stateDb, schema({ a: 'TEXT', b: 'TEXT' })), { code: 'STORE_BUSY', retry: true, retryAfterMs: 1_000 });
  holder.exec('COMMIT');
  holder.close();
  openStore(home.stateDb, schema({ a: 'TEXT', b: 'TEXT' })).close();
});

t.test('no store yet, no directory, no right: each says so', async (t) => {
  using home = testHome();
  t.throws(() => openReadOnly(home.stateDb), { code: 'NOT_FOUND', message: `there is no ${home.stateDb} yet` });
  t.throws(() => openReadOnly(`${home.root}/no/such/x.db`), { code: 'NOT_FOUND' });
  home.write('file', '');
  t.throws(() => openStore(`${home.root}/file/x.db`, schema({})), { code: 'HOME_UNUSABLE', fix: /permissions/ });
  mkdirSync(`${home.root}/dir.db`);
  t.throws(() => openStore(`${home.root}/dir.db`, schema({})), { code: 'HOME_UNUSABLE' });
});

t.test('a named pipe or a folder in place of a database is refused at once', (t) => {
  using home = testHome();
  const schema = { version: 1, tables: { a: { columns: { id: 'INTEGER PRIMARY KEY' } } } };
  const pipe = join(home.root, 'pipe.db');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, home.root]) t.throws(() => openStore(path, schema), { code: 'HOME_UNUSABLE' });
  t.end();
});
