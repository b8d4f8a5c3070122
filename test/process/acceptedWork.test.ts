/** What was accepted is kept while its agent is stopped, frozen or parked, and ends permanently only by an error of its own. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { report } from '../../ipc/contracts/peer.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import type { Home } from '../../state/home.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { readUndelivered } from '../../state/undelivered.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { cliService } from '../harness/cliService.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

/** Each waits more than it works: they run side by side. */
t.jobs = 4;
const beside = () => ({ buffered: true });

const SECRET = 'a secret of the scheduler';

const routes = (port: number) =>
  `platforms:\n  webhook: { port: ${port}, routes: { h: { secret: INSECURE_NO_AUTH } } }\n  irc: { host: 127.0.0.1, port: 9, nick: agent, channels: ["#room"] }\n`;

const post = async (port: number, text: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/webhooks/h`, { method: 'POST', body: text, headers: { 'content-type': 'text/plain' } })).status;

function inbox(home: Home): { state: string; error: string | null }[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return db.prepare('SELECT state, error FROM inbox ORDER BY id').all() as { state: string; error: string | null }[];
  } finally {
    db.close();
  }
}

const turnsOf = (home: Home): { content: string; n: number }[] => {
  const db = openReadOnly(home.stateDb);
  try {
    return db
      .prepare(
        `SELECT m.content, count(*) AS n FROM turns t JOIN messages m ON m.id = t.message_id WHERE t.status = 'complete' GROUP BY m.id ORDER BY m.id`,
      )
      .all() as { content: string; n: number }[];
  } finally {
    db.close();
  }
};

async function startGateway(home: Home): Promise<TestWorker> {
  const worker = await startWorker(home, 'gateway');
  await until('the route is open', async () => {
    using link = await worker.dial();
    return (await link.call(gateway.platforms, {})).platforms.some(
      ({ platform, state }) => platform === 'webhook' && state === 'connected',
    );
  });
  return worker;
}

async function waiting(worker: TestWorker): Promise<WaitingWork[]> {
  using link = await worker.dial();
  return (await link.call(report, {})).facts.waiting as WaitingWork[];
}

async function fireCron(home: Home): Promise<Response> {
  const body = JSON.stringify({ job_id: 'any' });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex');
  const { supervisor } = JSON.parse(readFileSync(home.run.status, 'utf8')) as Status;
  return fetch(`${new URL(supervisor.dashboard!).origin}/api/cron/fire`, {
    method: 'POST',
    body,
    headers: { 'X-Agent-Timestamp': at, 'X-Agent-Signature': `sha256=${signature}` },
  });
}

t.test('messages for a stopped agent are kept, counted in every status, and answered once when it starts', beside(), async (t) => {
  const port = await freePort();
  await using service = cliService({ 'config.yaml': routes(port), '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n` });
  const { agent, home, status } = service;
  t.equal((await agent('up', '--demo', '--port', '0')).code, 0);
  t.equal((await agent('gateway', 'start')).code, 0);
  await until('the route is open', () =>
    fetch(`http://127.0.0.1:${port}/webhooks/h`).then(
      () => true,
      () => false,
    ),
  );
  t.equal((await agent('stop', 'agent')).code, 0);
  for (const n of [1, 2, 3]) t.equal(await post(port, `event ${n}`), 202);
  const seen = await until('the snapshot counts them', async () =>
    (await status()).workers.find(({ slot }) => slot === 'gateway')?.waiting?.find(({ held }) => held === 3),
  );
  t.match(seen, { slot: 'agent', code: 'START_FAILED', reason: /stopped/ });
  t.match((await agent('status')).stdout, /gateway held: 3, waiting for agent \(.*stopped/);
  t.match((await agent('gateway', 'status')).stdout, /held: 3, waiting for agent \(.*stopped/);
  t.strictSame(readUndelivered(home), []);
  t.equal((await agent('stop', 'cron')).code, 0);
  const fired = await fireCron(home);
  t.strictSame([fired.status, Number(fired.headers.get('retry-after')) > 0], [503, true], 'a scheduler is told to come again');
  t.equal((await agent('stop', 'gateway')).code, 0);
  await t.rejects(post(port, 'event'), 'a stopped gateway refuses connections');
  t.equal((await agent('start', 'gateway')).code, 0);
  t.equal((await agent('start', 'agent')).code, 0);
  await until('all are answered', () => inbox(home).every(({ state }) => state === 'answered'));
  t.strictSame(
    turnsOf(home),
    [1, 2, 3].map((n) => ({ content: `event ${n}`, n: 1 })),
  );
  await until('nothing is held', async () => (await status()).workers.every(({ waiting: held }) => held === undefined));
});

for (const code of ['SLOT_PARKED', 'TIMEOUT', 'DISK_FULL', 'STORE_BUSY', 'BUSY'] as const) {
  t.test(`an agent that answers ${code} gets the message again until it takes it`, beside(), async (t) => {
    const port = await freePort();
    using home = testHome({ 'config.yaml': routes(port) });
    let refusals = 3;
    await using agent = await fakeAgent(home, () => {
      if (refusals-- > 0) throw new AgentError(code, 'not now');
      return 'done';
    });
    await using _worker = await startGateway(home);
    t.equal(await post(port, 'event'), 202);
    await until('it is answered', () => inbox(home)[0]?.state === 'answered');
    t.equal(agent.turns.at(-1)?.text, 'event');
  });
}

t.test(
  'a message that the agent refuses for itself fails, is listed, and runs again under a new key when it is retried',
  beside(),
  async (t) => {
    const port = await freePort();
    using home = testHome({ 'config.yaml': routes(port) });
    let broken = true;
    await using agent = await fakeAgent(home, () =>
      broken ? { status: 'error', error: { code: 'CONTEXT_OVERFLOW', message: 'too long', fix: null } } : 'done',
    );
    await using worker = await startGateway(home);
    t.equal(await post(port, 'event'), 202);
    await until('it is closed', () => inbox(home)[0]?.state === 'failed');
    t.match(readUndelivered(home), [
      { id: 'm1', direction: 'in', state: 'failed', target: 'webhook:h', text: 'event', error: 'CONTEXT_OVERFLOW' },
    ]);
    broken = false;
    using link = await worker.dial();
    t.strictSame((await link.call(gateway.retryDeliveries, { ids: ['m1', 'm9'] })).done, ['m1']);
    await until('it is answered', () => inbox(home)[0]?.state === 'answered');
    t.equal(new Set(agent.turns.map(({ idempotency_key }) => idempotency_key)).size, 2);
    t.strictSame(readUndelivered(home), []);
  },
);

t.test('a lane that waits for one agent keeps no place from the messages of another', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({
    'config.yaml': `platforms:\n  webhook: { port: ${port}, routes: { h: { secret: INSECURE_NO_AUTH }, w: { secret: INSECURE_NO_AUTH, profile: work } } }\n`,
    'profiles/work/SOUL.md': 'work',
  });
  await using work = await fakeAgent(home, () => 'done', { slot: 'agent@work' });
  await using worker = await startGateway(home);
  for (let n = 0; n < 12; n++) t.equal(await post(port, `event ${n}`), 202);
  await until('twelve wait', async () => (await waiting(worker))[0]?.held === 12);
  const answered = await fetch(`http://127.0.0.1:${port}/webhooks/w`, { method: 'POST', body: '{}' });
  t.equal(answered.status, 202);
  await until('the other one has its turn', () => work.turns.length === 1);
  await using agent = await fakeAgent(home, () => 'done');
  await until('all have theirs', () => agent.turns.length === 12);
});

t.test('a gateway whose store is locked keeps running, and takes up what waits when it is free', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({ 'config.yaml': routes(port) });
  await using worker = await startGateway(home);
  t.equal(await post(port, 'event'), 202);
  await until('it waits', async () => (await waiting(worker))[0]?.held === 1);
  const other = new Database(home.gatewayDb);
  other.exec('BEGIN IMMEDIATE');
  await using agent = await fakeAgent(home, () => 'done');
  await until('the turn was asked for', () => agent.turns.length === 1);
  await until('the store is reported', async () => {
    using link = await worker.dial();
    return ((await link.call(report, {})).facts.session_store as { state: string }).state === 'failing';
  });
  other.close();
  await until('it is answered', () => inbox(home)[0]?.state === 'answered');
  t.equal(agent.turns.length, 1);
  t.equal(worker.child.exitCode, null);
});

t.test(
  'an event that a sender repeats because a frozen gateway did not answer runs once; equal events that were answered run each',
  beside(),
  async (t) => {
    const port = await freePort();
    using home = testHome({ 'config.yaml': routes(port) });
    await using worker = await startGateway(home);
    process.kill(worker.child.pid!, 'SIGSTOP');
    const tries = [1, 2, 3].map(() =>
      fetch(`http://127.0.0.1:${port}/webhooks/h`, { method: 'POST', body: '{"event":1}', signal: AbortSignal.timeout(1_000) }),
    );
    t.same(
      (await Promise.allSettled(tries)).map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    process.kill(worker.child.pid!, 'SIGCONT');
    await until('they were read', () => inbox(home).length > 0);
    t.equal((await fetch(`http://127.0.0.1:${port}/webhooks/h`, { method: 'POST', body: '{"event":1}' })).status, 200, 'a duplicate');
    t.equal(inbox(home).length, 1);
    for (const expected of [2, 3]) {
      t.equal((await fetch(`http://127.0.0.1:${port}/webhooks/h`, { method: 'POST', body: '{"event":2}' })).status, 202);
      t.equal(inbox(home).length, expected);
    }
  },
);
