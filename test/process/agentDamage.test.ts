/** A damaged state.db or search.db under a real agent worker: it starts, it says so, and conversations go on. */
import { closeSync, openSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import t from 'tap';
import { report } from '../../ipc/contracts/peer.ts';
import { sessionHistory, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { sessionSearch } from '../../ipc/contracts/rpcSessions.ts';
import { connect } from '../harness/agentClient.ts';
import { cli } from '../harness/cli.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

const PAGE = 4_096;

function overwrite(path: string, from: number, bytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(bytes, 0x5a), 0, bytes, from);
  closeSync(file);
}

/** A home with some conversations, its worker gone. */
async function usedHome(prompts = 3): Promise<TestHome & { session: string }> {
  const home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create({ source: 'cli', title: 'Before the damage' });
  for (let n = 0; n < prompts; n++) await client.turn(session, `prompt number ${n} about the lighthouse`);
  await worker.kill('SIGTERM');
  return Object.assign(home, { session });
}

const storeFiles = (home: TestHome) => readdirSync(home.root).filter((name) => /^state\.db\.[^-]+-\d{8}-\d{6}$/.test(name));

t.test('a header that was written over is recovered at start, with every message, and said', async (t) => {
  using home = await usedHome();
  overwrite(home.stateDb, 0, PAGE);
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const { messages } = await client.link.call(sessionHistory, { session_id: home.session });
  t.equal(messages.length, 6);
  const { facts } = await client.link.call(report, {});
  t.match(facts, { store: 'recovered', store_kept: /state\.db\.damaged-\d{8}-\d{6}/, store_lost: null });
  t.match((await client.turn(home.session, 'say: 1 word')).complete, { status: 'complete' });
  t.equal(storeFiles(home).length, 1);
});

t.test('a file that is no store, and one that was cut to nothing: begun anew, the old file kept', async (t) => {
  using home = await usedHome();
  writeFileSync(home.stateDb, 'this is no database, '.repeat(500));
  {
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    t.match((await client.turn(await client.create(), 'say: 1 word')).complete, { status: 'complete' });
    t.match(await client.link.call(report, {}), { facts: { store: 'begun anew', store_lost: /not a database/ } });
    t.equal((await client.link.call(sessionList, {})).total, 1);
  }
  t.equal(storeFiles(home).length, 1);
  t.match(statSync(`${home.root}/${storeFiles(home)[0]}`).size, 10_500);
  truncateSync(home.stateDb, 0);
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  t.match((await client.turn(await client.create(), 'say: 1 word')).complete, { status: 'complete' });
});

t.test('a bad page that is met while it runs: that turn fails by name, others go on, and the next start recovers', async (t) => {
  using home = await usedHome(2);
  const db = new Database(home.stateDb);
  const insert = db.prepare(
    "INSERT INTO messages (session_id, position, role, content, finish_reason, timestamp) VALUES (?, ?, 'user', ?, 'stop', 1)",
  );
  db.exec("INSERT INTO sessions (id, source, last_active) VALUES ('ses_bad', 'cli', 1)");
  db.transaction(() => {
    for (let n = 1; n <= 6_000; n++) insert.run('ses_bad', n, `row ${n} ${'y'.repeat(1_500)}`);
  })();
  const { pageno } = db
    .prepare("SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno DESC LIMIT 1 OFFSET 20")
    .get() as {
    pageno: number;
  };
  db.close();
  t.ok(statSync(home.stateDb).size > 8 * 2 ** 20, 'too large to be checked page by page at every start');
  overwrite(home.stateDb, (pageno - 1) * PAGE, PAGE);
  {
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    await t.rejects(client.link.call(sessionResume, { session_id: 'ses_bad' }), { code: 'STORE_CORRUPT', fix: /agent recover state/ });
    t.match((await client.turn(home.session, 'say: 1 word')).complete, { status: 'complete' }, 'another conversation goes on');
    t.match(await client.link.call(report, {}), { facts: { store: 'damaged' } });
  }
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  t.match(await client.link.call(report, {}), {
    facts: { store: 'recovered', store_lost: /messages: \d+ of \d+ rows|messages: an unknown number/ },
  });
  t.equal((await client.link.call(sessionHistory, { session_id: home.session, limit: 100 })).messages.length, 6);
  t.equal((await client.link.call(sessionResume, { session_id: 'ses_bad' })).messages.length, 400);
});

t.test('a bad page that is met only while a start puts things in order keeps it from nothing either', async (t) => {
  using home = await usedHome(2);
  const db = new Database(home.stateDb);
  db.exec("INSERT INTO sessions (id, source, last_active) VALUES ('ses_big', 'cli', 1)");
  db.prepare("INSERT INTO messages (session_id, position, role, content) VALUES ('ses_big', 1, 'user', ?)").run('y'.repeat(9 * 2 ** 20));
  const { pageno } = db.prepare("SELECT pageno FROM dbstat WHERE name = 'turns_running'").get() as { pageno: number };
  db.close();
  overwrite(home.stateDb, (pageno - 1) * PAGE, PAGE);
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  t.match(await client.link.call(report, {}), { facts: { store: 'recovered' } });
  t.equal((await client.link.call(sessionHistory, { session_id: home.session })).messages.length, 4);
});

t.test('a search.db that is damaged, missing or of another version is built anew while conversations go on', async (t) => {
  using home = await usedHome();
  const find = async (client: Awaited<ReturnType<typeof connect>>) => {
    const { hits, ready } = await client.link.call(sessionSearch, { query: 'lighthouse' });
    return ready && hits.length;
  };
  const damages: [string, () => void][] = [
    ['missing', () => {}],
    ['no database', () => writeFileSync(home.searchDb, 'no database, '.repeat(1_000))],
    ['pages written over', () => overwrite(home.searchDb, PAGE, statSync(home.searchDb).size - PAGE)],
    ['another version', () => new Database(home.searchDb).exec('PRAGMA user_version = 99').close()],
  ];
  for (const [name, damage] of damages) {
    damage();
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    t.equal(await until('it is indexed', () => find(client)), 6, name);
    t.match((await client.turn(await client.create(), 'say: 1 word')).complete, { status: 'complete' }, name);
    await worker.kill('SIGTERM');
  }
});

t.test(
  'agent sessions recover leaves what is whole; it counts, swaps and keeps what is not; a store in use is refused with the command that stops it',
  async (t) => {
    using home = await usedHome();
    {
      await using _worker = await startWorker(home, 'agent', { demo: true });
      t.match(await cli(['sessions', 'recover'], { home }), { code: 1, stderr: /in use: .*agent stop agent/ });
    }
    const before = readFileSync(home.stateDb);
    t.match(await cli(['sessions', 'recover'], { home }), { code: 0, stdout: /is not damaged; nothing was changed/, stderr: '' });
    t.match(JSON.parse((await cli(['sessions', 'recover', '--json'], { home })).stdout), { healthy: true, kept: null, tables: [] });
    t.same(storeFiles(home), []);
    t.same(readFileSync(home.stateDb), before);
    t.match(await cli(['sessions', 'recover', '--force'], { home }), { code: 0, stderr: /kept as .*[\s\S]*nothing was damaged/ });
    rmSync(`${home.root}/${storeFiles(home)[0]}`);
    overwrite(home.stateDb, 0, PAGE);
    const dry = JSON.parse((await cli(['sessions', 'recover', '--dry-run', '--json'], { home })).stdout) as Record<string, unknown>;
    t.match(dry, { dry_run: true, complete: true, kept: null, tables: [] });
    t.same(storeFiles(home), []);
    const done = await cli(['sessions', 'recover'], { home });
    t.match(done, { code: 0, stdout: /messages +6 +6[\s\S]*Every row was recovered/, stderr: /kept as .*state\.db\.damaged-/ });
    t.equal(storeFiles(home).length, 1);
    t.match(await cli(['sessions', 'show', 'latest'], { home }), { code: 0, stdout: /lighthouse/, stderr: /read from the file/ });
    t.match(await cli(['sessions', 'recover', '--from', `${home.root}/nothing`], { home }), { code: 1, stderr: /there is no/ });
  },
);
