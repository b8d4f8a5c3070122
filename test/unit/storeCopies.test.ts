import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { copyOpenStore } from '../../state/db/copies.ts';
import { openStore } from '../../state/db/open.ts';
import { testHome } from '../harness/home.ts';

t.test('an open store whose file was deleted is copied in steps, with the rows that are stored meanwhile', async (t) => {
  using home = testHome();
  const path = join(home.root, 'open.db');
  const db = openStore(path, { version: 1, tables: { rows: { columns: { id: 'INTEGER PRIMARY KEY', text: 'TEXT' } } } });
  const insert = db.prepare('INSERT INTO rows (text) VALUES (?)');
  db.transaction(() => {
    for (let n = 0; n < 4_000; n++) insert.run('x'.repeat(4_000));
  })();
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix);
  const copy = join(home.root, 'copy.db');
  let isDone = false;
  const done = copyOpenStore(db, copy).finally(() => (isDone = true));
  let added = 0;
  while (!isDone && added < 5) {
    await new Promise((resolve) => setImmediate(resolve));
    insert.run('while it is copied');
    added++;
  }
  await done;
  db.close();
  t.equal(added, 5, 'the loop turns while it copies');
  t.equal(statSync(copy).mode & 0o777, 0o600);
  const reopened = new Database(copy);
  t.equal(reopened.prepare('SELECT count(*) FROM rows').pluck().get(), 4_005);
  t.equal(reopened.pragma('integrity_check', { simple: true }), 'ok');
  reopened.close();
});
