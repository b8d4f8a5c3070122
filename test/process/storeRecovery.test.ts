/** Damaged, deleted and copied stores under real workers and through the `agent` command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import * as cron from '../../ipc/contracts/cron.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { report } from '../../ipc/contracts/peer.ts';
import { copiesOf, copyStore } from '../../state/db/copies.ts';
import { connect } from '../harness/agentClient.ts';
import { cliService } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { fixture, node, startTestBroker } from '../harness/mcp.ts';
import { homeOnTmpfs, mounts } from '../harness/smallDisk.ts';
import { until } from '../harness/until.ts';
import { projectRoot, startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

function overwriteHeader(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, 0);
  closeSync(file);
}

const count = (path: string, sql: string): unknown => {
  const db = new Database(path, { readonly: true });
  const found = db.prepare(sql).pluck().get();
  db.close();
  return found;
};

t.test('a damaged cron.db is recovered when cron starts, and status says so; the command does it as well', async (t) => {
  await using service = cliService();
  const jobs = async () => (JSON.parse((await service.agent('cron', 'list', '--json')).stdout) as { jobs: object[] }).jobs;
  t.match(await service.agent('up', '--demo', '--port', '0'), { code: 0 });
  t.match(await service.agent('cron', 'create', 'every 1d', 'look', '--name', 'kept'), { code: 0 });
  t.match(await service.agent('stop', 'cron'), { code: 0 });
  overwriteHeader(service.home.cronDb);
  t.match(await service.agent('start', 'cron'), { code: 0 });
  t.match(await jobs(), [{ name: 'kept' }]);
  t.ok(readdirSync(join(service.home.root, 'cron')).some((name) => /^cron\.db\.damaged-\d{8}-\d{6}$/.test(name)));
  t.match((await service.status()).problems, [{ what: /cron\.db was damaged and has been recovered; every row was recovered/ }]);

  t.match(await service.agent('stop', 'cron'), { code: 0 });
  overwriteHeader(service.home.cronDb);
  const recovery = await service.agent('recover', 'cron', '--json');
  t.match(JSON.parse(recovery.stdout), { store: 'cron', complete: true, healthy: false, path: service.home.cronDb });
  t.match(await service.agent('start', 'cron'), { code: 0 });
  t.match(await jobs(), [{ name: 'kept' }]);
  t.match(await service.agent('recover', 'cron', '--force', '--json'), { code: 0 }, 'one that runs is stopped and started again');
  t.equal((await service.status()).workers.find(({ slot }) => slot === 'cron')!.state, 'ready');
  t.match(await service.agent('recover', 'nothing'), { code: 2 });
});

t.test(
  'a gateway.db that cannot be recovered is the daily copy at the next start: what was open then is listed, never sent again',
  async (t) => {
    using home = testHome({
      'config.yaml': 'platforms:\n  irc: { enabled: true, host: 127.0.0.1, port: 1, tls: false, channels: ["#room"] }\n',
    });
    {
      await using worker = await startWorker(home, 'gateway');
      using link = await worker.dial();
      await link.call(gateway.enqueueDelivery, { target: 'irc:#room', text: 'open', idempotency_key: 'k', origin: 'test' });
      await worker.kill('SIGTERM');
    }
    await copyStore({ dir: home.root, name: 'gateway', path: home.gatewayDb, atMs: Date.now() });
    writeFileSync(home.gatewayDb, 'no database at all, '.repeat(500));
    await using worker = await startWorker(home, 'gateway');
    using link = await worker.dial();
    t.match(await link.call(gateway.deliveryStatus, { delivery_id: 1, wait_ms: 0 }), { status: 'failed', error: /daily copy/ });
    t.match(await link.call(report, {}), { facts: { problems: [{ what: /is the daily copy .*gateway-.* now/ }] } });
    t.equal(readdirSync(home.root).filter((name) => /^gateway\.db\.damaged-\d{8}-\d{6}$/.test(name)).length, 1);
  },
);

t.test('a damaged store that another process has open is not touched', async (t) => {
  using home = testHome();
  {
    await using worker = await startWorker(home, 'cron');
    await worker.kill('SIGTERM');
  }
  const reads = `const db = new (require('better-sqlite3'))(process.argv[1]);
    console.log(db.prepare('SELECT count(*) FROM jobs').get());
    process.stdin.resume();`;
  const other = spawn(process.execPath, ['-e', reads, home.cronDb], { stdio: ['pipe', 'pipe', 'inherit'], cwd: projectRoot });
  await once(other.stdout, 'data');
  overwriteHeader(home.cronDb);
  await using worker = await startWorker(home, 'cron', { ready: false });
  await until('it gives up', () => worker.child.exitCode !== null);
  t.match([worker.child.exitCode, worker.output()], [78, /STORE_CORRUPT.*agent recover cron/]);
  other.stdin.end();
  t.same(
    readdirSync(join(home.root, 'cron')).filter((name) => name.includes('damaged')),
    [],
  );
});

t.test('a store that is deleted or replaced under its worker is written back with every row; the worker restarts on it', async (t) => {
  for (const change of ['deleted', 'replaced'] as const) {
    using home = testHome();
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    const session = await client.create({ source: 'cli', title: 'Before' });
    await client.turn(session, 'say: 1 word');
    if (change === 'deleted') for (const suffix of ['', '-wal', '-shm']) rmSync(home.stateDb + suffix);
    else {
      writeFileSync(`${home.stateDb}.other`, 'another file');
      renameSync(`${home.stateDb}.other`, home.stateDb);
    }
    await client.turn(session, 'say: 1 word').catch(() => {});
    await until('the worker ends', () => worker.child.exitCode !== null);
    t.match([worker.child.exitCode, worker.output()], [1, /STORE_REPLACED/], change);
    t.equal(count(home.stateDb, "SELECT count(*) FROM messages WHERE role = 'user'"), 2, 'also what came after');
    t.equal(statSync(home.stateDb).mode & 0o777, 0o600);
    const beside = readdirSync(home.root).filter((name) => /^state\.db\.replaced-\d{8}-\d{6}$/.test(name));
    t.equal(beside.length, change === 'replaced' ? 1 : 0);
    await using next = await startWorker(home, 'agent', { demo: true });
    using again = await connect(next);
    t.match((await again.turn(session, 'say: 1 word')).complete, { status: 'complete' });
  }
});

t.test('a deleted store that cannot be written back keeps its worker until it can', mounts, async (t) => {
  using home = testHome();
  using disk = homeOnTmpfs(home, 8_192);
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create({ source: 'cli', title: 'Before' });
  await client.turn(session, 'say: 1 word');
  for (const suffix of ['', '-wal', '-shm']) rmSync(home.stateDb + suffix);
  disk.fill();
  const problems = async () => (await client.link.call(report, {})).facts.problems as { what: string }[] | undefined;
  await until('the loss is reported', async () => (await problems())?.some(({ what }) => what.includes(home.stateDb)));
  t.equal(worker.child.exitCode, null, 'it has the only copy');
  t.notOk(existsSync(home.stateDb));
  disk.empty();
  await until('the worker ends', () => worker.child.exitCode !== null);
  t.match([worker.child.exitCode, worker.output()], [1, /STORE_REPLACED/]);
  t.equal(count(home.stateDb, "SELECT count(*) FROM messages WHERE role = 'user'"), 1);
  t.same(
    readdirSync(home.root).filter((name) => name.endsWith('.tmp')),
    [],
  );
});

t.test('a store that was deleted is written back when its worker is stopped before it has noticed', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create({ source: 'cli', title: 'Before' });
  await client.turn(session, 'say: 1 word');
  for (const suffix of ['', '-wal', '-shm']) rmSync(home.stateDb + suffix);
  await worker.kill('SIGTERM');
  t.equal(count(home.stateDb, "SELECT count(*) FROM messages WHERE role = 'user'"), 1);
});

t.test('a damaged mcp.db costs the audit, not the tools', async (t) => {
  const home = testHome();
  writeFileSync(home.mcpDb, 'no database at all, '.repeat(500));
  await using broker = await startTestBroker({ echo: node(fixture('tellsEnv')) }, { home });
  await until('its tools are listed', async () => (await broker.tools()).length > 0);
  t.ok(existsSync(home.mcpDb));
});

t.test('a store is copied while its worker runs: private, whole, and listed for recovery', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  await link.call(cron.createJob, { schedule: 'every 1d', prompt: 'look' });
  const [copy] = await until('the copy is there', () => copiesOf(home.root, 'cron').length > 0 && copiesOf(home.root, 'cron'), 90_000);
  t.equal(statSync(copy!).mode & 0o777, 0o600);
  t.equal(count(copy!, 'SELECT count(*) FROM jobs'), 1);
  t.equal(count(copy!, 'PRAGMA integrity_check'), 'ok');
  t.same(readdirSync(join(home.root, 'backups', 'stores')).length, 1, 'nothing else is left');
});
