/** What is acknowledged is on the disk before the answer goes out, and a store that refuses a write for a while costs nothing. */
import Database from 'better-sqlite3';
import t from 'tap';
import { createJob, runJob } from '../../ipc/contracts/cron.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { report, type WaitingWork } from '../../ipc/contracts/peer.ts';
import { promptSubmit } from '../../ipc/contracts/rpc.ts';
import type { Home } from '../../state/home.ts';
import { connect } from '../harness/agentClient.ts';
import { freePort, testHome } from '../harness/home.ts';
import { traceable, traceSyncs } from '../harness/syncTrace.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const lockOf = (path: string): Disposable => {
  const db = new Database(path);
  db.exec('BEGIN IMMEDIATE');
  return { [Symbol.dispose]: () => void db.close() };
};

const demoHome = () => testHome({ 'config.yaml': 'model: { provider: rehearsal }\n' });

t.test('prompt.submit: flushed before it is acknowledged', traceable, async (t) => {
  using home = demoHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create();
  await using trace = await traceSyncs(worker.child.pid!);
  await client.submit(session, 'hello');
  t.ok(await trace.flushedBefore('streaming'));
});

t.test('a webhook and a message of `agent send`: flushed before they are acknowledged', traceable, async (t) => {
  const port = await freePort();
  using home = testHome({
    'config.yaml': `platforms:\n  webhook: { port: ${port}, routes: { h: { secret: INSECURE_NO_AUTH } } }\n  irc: { host: 127.0.0.1, port: 9, nick: agent, channels: ["#room"] }\n`,
  });
  await using worker = await startWorker(home, 'gateway');
  const post = () => fetch(`http://127.0.0.1:${port}/webhooks/h`, { method: 'POST', body: '{}' });
  await until('the route is open', async () => (await post()).status === 202);
  using link = await worker.dial();
  await using trace = await traceSyncs(worker.child.pid!);
  await post();
  t.ok(await trace.flushedBefore('202 Accepted'));
  trace.reset();
  await link.call(gateway.enqueueDelivery, { target: 'irc:#room', text: 'x', idempotency_key: 'k', origin: 'cli' });
  t.ok(await trace.flushedBefore('delivery_id'));
});

t.test('a job that is made, and a run of it: flushed before they are acknowledged', traceable, async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  await using trace = await traceSyncs(worker.child.pid!);
  const { job } = await link.call(createJob, { schedule: '0 0 1 1 *', prompt: 'hello', name: 'yearly' });
  t.ok(await trace.flushedBefore('next_run_at'));
  trace.reset();
  await link.call(runJob, { job_id: job.id });
  t.ok(await trace.flushedBefore('execution_id'));
});

t.test('a turn whose end cannot be stored is shown, and ends when there is room; its session is not left running', async (t) => {
  using home = demoHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create();
  await client.submit(session, 'tool: terminal {"command":"sleep 1"}');
  await client.next('tool.start');
  const lock = lockOf(home.stateDb);
  const held = await until('it is shown', async () => {
    const waiting = (await client.link.call(report, {})).facts.waiting as WaitingWork[];
    return waiting[0];
  });
  t.match(held, { slot: 'state.db', held: 1, code: 'STORE_BUSY', reason: new RegExp(`locked by process ${process.pid} `) });
  lock[Symbol.dispose]();
  await client.next('message.complete', ({ session_id, seq }) => session_id === session && seq !== null);
  t.equal(running(home), 0);
  t.same((await client.link.call(report, {})).facts.waiting, []);
  const { complete } = await client.turn(session, 'hello');
  t.equal(complete.status, 'complete');
});

t.test('a prompt that meets a locked store waits for it, and prompts of one session keep their order', async (t) => {
  using home = demoHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = await client.create();
  const lock = lockOf(home.stateDb);
  const texts = ['one', 'two', 'three'];
  const accepted = texts.map((text) => client.submit(session, text));
  // Longer than the driver itself waits.
  await until('the worker has met the lock', async () => (await client.link.call(report, {}, { timeoutMs: 30_000 })).uptime_ms > 0);
  lock[Symbol.dispose]();
  const ids = await Promise.all(accepted);
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  );
});

t.test('one idempotency key holds one text, and a prompt of blanks is refused', async (t) => {
  using home = demoHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session_id = await client.create();
  const first = await client.submit(session_id, 'hello', { idempotency_key: 'k' });
  t.equal(await client.submit(session_id, 'hello', { idempotency_key: 'k' }), first);
  await t.rejects(client.submit(session_id, 'other', { idempotency_key: 'k' }), { code: 'KEY_REUSED', field: 'idempotency_key' });
  await t.rejects(client.link.call(promptSubmit, { session_id, text: ' \n\t' }), { code: 'BAD_REQUEST', field: 'text' });
});

function running(home: Home): number {
  const db = new Database(home.stateDb, { readonly: true });
  try {
    return db.prepare("SELECT count(*) FROM turns WHERE status = 'running'").pluck().get() as number;
  } finally {
    db.close();
  }
}
