import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { deferred } from '../../base/time.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { report, stop } from '../../ipc/contracts/peer.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import type { Home } from '../../state/home.ts';
import { fakeAgent, noProvider } from '../fakes/agentTurns.ts';
import { cli } from '../harness/cli.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

/** Each waits more than it works: they run side by side. */
t.jobs = 4;
const beside = () => ({ buffered: true });

const deadIrc = 'irc: { host: 127.0.0.1, port: 9, nick: agent, channels: ["#room"] }';

const stateFile = (home: Home) => {
  const read = readGatewayState(home.gatewayState);
  return read.kind === 'present' ? read.state : undefined;
};

function rows(home: Home, sql: string): unknown[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}
const outbox = (home: Home) => rows(home, 'SELECT text FROM outbox ORDER BY id').map((row) => (row as { text: string }).text);

/** A gateway whose only way in is a route that answers into the outbox of a dead chat. */
async function withRoute(): Promise<{ home: TestHome; send(text: string): Promise<number>; start(): Promise<TestWorker> }> {
  const port = await freePort();
  const home = testHome({
    'config.yaml': `platforms:\n  ${deadIrc}\n  webhook: { port: ${port}, routes: { say: { secret: INSECURE_NO_AUTH, deliver: "irc:#room" } } }\n`,
  });
  return {
    home,
    async send(text) {
      return (
        await fetch(`http://127.0.0.1:${port}/webhooks/say`, { method: 'POST', body: text, headers: { 'content-type': 'text/plain' } })
      ).status;
    },
    async start() {
      const worker = await startWorker(home, 'gateway');
      await until('the route is open', async () => {
        using link = await worker.dial();
        return (await link.call(gateway.platforms, {})).platforms.some(
          ({ platform, state }) => platform === 'webhook' && state === 'connected',
        );
      });
      return worker;
    },
  };
}

t.test('without a platform the gateway is ready, idle, and says so', beside(), async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  t.strictSame(await link.call(gateway.platforms, {}), { platforms: [], held: 0, waiting: [], pending: [] });
  t.match((await link.call(report, {})).facts, { platforms: {}, held: 0, active_agents: 0 });
  await t.rejects(link.call(gateway.enqueueDelivery, { target: 'irc:#room', text: 'x', idempotency_key: 'k', origin: 'cli' }), {
    code: 'UNKNOWN_TARGET',
    fix: /no platform that can send is configured/,
  });
});

t.test('on its own it keeps gateway_state.json: running, degraded, stopped, and never what the operator wants', beside(), async (t) => {
  using home = testHome({ 'config.yaml': `platforms:\n  ${deadIrc}\n`, 'gateway_state.json': '{"desired_state":"stopped","note":"kept"}' });
  await using worker = await startWorker(home, 'gateway');
  await until('it is degraded: its platform cannot be reached', () => stateFile(home)?.gateway_state === 'degraded');
  t.match(stateFile(home), {
    kind: 'agent-gateway',
    pid: worker.child.pid,
    agent_home: home.root,
    desired_state: 'stopped',
    note: 'kept',
    active_agents: 0,
    platforms: { irc: { state: 'retrying', error_message: /ECONNREFUSED/ } },
  });
  t.same(await worker.kill('SIGTERM'), { code: 0, signal: null });
  t.match(stateFile(home), {
    gateway_state: 'stopped',
    desired_state: 'stopped',
    exit_reason: 'stopped as asked',
    platforms: { irc: { state: 'disconnected' } },
  });
  t.notOk(existsSync(join(home.root, 'gateway.lock')), 'the lock is released');
});

t.test(
  'gateway_state.json names what is under way, says when gateway.db cannot be written, and nothing of either once it has ended',
  beside(),
  async (t) => {
    const { home, send, start } = await withRoute();
    using _ = home;
    home.write('gateway_state.json', '{"restart_requested":true,"active_work":["of a process that is gone"]}');
    const answer = deferred<string>();
    await using agent = await fakeAgent(home, () => answer.promise);
    await using worker = await start();
    t.equal(await send('hello'), 202);
    await until('the turn is named', () => stateFile(home)?.active_work?.length === 1);
    t.match(stateFile(home), { active_agents: 1, active_work: [/webhook/], restart_requested: false, session_store: { state: 'ok' } });
    {
      const other = new Database(home.gatewayDb);
      other.exec('BEGIN IMMEDIATE');
      t.equal(await send('not stored'), 503);
      await until('the store fails', () => stateFile(home)?.session_store?.state === 'failing');
      t.match(stateFile(home)?.session_store, { error: /locked/, since: /^20/ });
      t.match((await cli(['doctor', '--json'], { home })).stdout, /it cannot write gateway\.db: database is locked/);
      other.close();
    }
    t.equal(await send('stored'), 202);
    await until('it is well again', () => stateFile(home)?.session_store?.state === 'ok');
    answer.resolve('good day');
    await until('all is answered', () => agent.turns.length === 2 && stateFile(home)?.active_work?.length === 0);
    await worker.kill('SIGTERM');
    t.match(stateFile(home), { gateway_state: 'stopped', active_agents: 0, active_work: null, session_store: null });
  },
);

t.test('a file line is refused to a sender that can leave it out, and replaced in the result of a job', beside(), async (t) => {
  using home = testHome({ 'config.yaml': `platforms:\n  ${deadIrc}\n` });
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  const send = (origin: string) =>
    link.call(gateway.enqueueDelivery, { target: 'irc:#room', text: `done\nMEDIA:${home.root}/a.png`, idempotency_key: origin, origin });
  for (const origin of ['cli', 'agent']) await t.rejects(send(origin), { code: 'USAGE' }, origin);
  for (const origin of ['cron', 'background']) t.match(await send(origin), { duplicate: false }, origin);
  t.equal(outbox(home).length, 2);
  for (const text of outbox(home)) {
    t.match(text, /^done\n/);
    t.notMatch(text, home.root);
  }
});

t.test('a second gateway on the same home is refused and names the first', beside(), async (t) => {
  using home = testHome();
  await using first = await startWorker(home, 'gateway');
  await using second = await startWorker(home, 'gateway', { ready: false });
  await until('it has ended', () => second.child.exitCode !== null);
  t.equal(second.child.exitCode, 1);
  t.match(second.output(), new RegExp(`LOCK_HELD: gateway \\(process ${first.child.pid}`));
  t.equal(first.child.exitCode, null);
});

t.test('lesson 35: killed between receipt and answer, the next gateway brings the answer, once', beside(), async (t) => {
  const { home, send, start } = await withRoute();
  using _ = home;
  const answer = deferred<string>();
  await using agent = await fakeAgent(home, () => answer.promise);
  const first = await start();
  t.equal(await send('hello'), 202);
  await until('the turn runs', () => agent.turns.length === 1);
  await first[Symbol.asyncDispose]();
  await using second = await start();
  await until('the turn is joined', () => agent.calls() === 2);
  answer.resolve('good day');
  await until('the answer is in the outbox', () => outbox(home).length > 0);
  t.strictSame({ turns: agent.turns.length, outbox: outbox(home) }, { turns: 1, outbox: ['good day'] });
  t.match(rows(home, 'SELECT state FROM inbox'), [{ state: 'answered' }]);
  t.equal(second.child.exitCode, null);
});

t.test('a stop in the middle of a turn leaves the message to the next gateway', beside(), async (t) => {
  const { home, send, start } = await withRoute();
  using _ = home;
  const answer = deferred<string>();
  await using agent = await fakeAgent(home, () => answer.promise);
  const first = await start();
  await send('hello');
  await until('the turn runs', () => agent.turns.length === 1);
  {
    using link = await first.dial();
    await link.call(stop, { deadline_ms: 100 });
  }
  await until('it has left', () => first.child.exitCode === 0);
  await using second = await start();
  answer.resolve('good day');
  await until('the answer is in the outbox', () => outbox(home).length > 0);
  t.strictSame({ turns: agent.turns.length, outbox: outbox(home) }, { turns: 1, outbox: ['good day'] });
  t.equal(second.child.exitCode, null);
});

t.test(
  'lesson 35: what comes while the gateway drains is stored before it is acknowledged, and answered afterwards',
  beside(),
  async (t) => {
    const { home, send, start } = await withRoute();
    using _ = home;
    const answer = deferred<string>();
    await using agent = await fakeAgent(home, ({ text }) => (text === 'slow' ? answer.promise : `${text} heard`));
    const first = await start();
    t.equal(await send('slow'), 202);
    await until('the turn runs', () => agent.turns.length === 1);
    {
      using link = await first.dial();
      await link.call(stop, { deadline_ms: 60_000 });
    }
    await until('it drains', () => stateFile(home)?.gateway_state === 'draining');
    t.equal(await send('late'), 202);
    t.match(rows(home, 'SELECT text, state FROM inbox ORDER BY id'), [
      { text: 'slow', state: 'submitted' },
      { text: 'late', state: 'received' },
    ]);
    t.equal(agent.turns.length, 1, 'no turn begins in a worker that leaves');
    await first[Symbol.asyncDispose]();
    await using second = await start();
    answer.resolve('slow heard');
    await until('both answers are in the outbox', () => outbox(home).length > 1);
    t.strictSame(outbox(home).toSorted(), ['late heard', 'slow heard']);
    t.strictSame(agent.turns.map(({ text }) => text).toSorted(), ['late', 'slow']);
    t.equal(second.child.exitCode, null);
  },
);

t.test('a message that comes while no agent worker runs is answered when one does', beside(), async (t) => {
  const { home, send, start } = await withRoute();
  using _ = home;
  await using worker = await start();
  t.equal(await send('anybody?'), 202);
  await until('it has been taken up', () => rows(home, "SELECT 1 FROM inbox WHERE state = 'submitted'").length === 1);
  await using agent = await fakeAgent(home, ({ text }) => `yes, ${text}`);
  await until('the answer is in the outbox', () => outbox(home).length > 0);
  t.strictSame(outbox(home), ['yes, anybody?']);
  t.equal(agent.turns.length, 1);
  t.equal(worker.child.exitCode, null);
});

t.test('a turn that fails is answered with one sentence, never with silence or a stack', beside(), async (t) => {
  const { home, send, start } = await withRoute();
  using _ = home;
  await using agent = await fakeAgent(home, ({ text }) => {
    if (text === 'provider') throw noProvider();
    if (text === 'defect') throw new TypeError('x.y is not a function');
    if (text === 'cut') return { status: 'interrupted', text: 'so far' };
    if (text === 'error')
      return { status: 'error', text: 'half', error: { code: 'PROVIDER_FAILED', message: 'the provider said 500', fix: 'try later' } };
    return '';
  });
  await using worker = await start();
  const want: Record<string, string> = {
    provider: 'Sorry, that did not work: no model provider is configured (set one with `agent config set model.provider …`)',
    defect: 'Sorry, something went wrong inside the service; its log has the details.',
    cut: '(stopped)',
    error: 'half\nSorry, that did not work: the provider said 500 (try later)',
    nothing: '(the agent has nothing to say)',
  };
  for (const text of Object.keys(want)) await send(text);
  await until('all are answered', () => outbox(home).length === Object.keys(want).length);
  t.strictSame(outbox(home).toSorted(), Object.values(want).toSorted());
  t.equal(agent.turns.length, 5);
  t.equal(worker.child.exitCode, null);
});

t.test('lesson 36: a delivery is stored once per key, reported, and survives a kill', beside(), async (t) => {
  using home = testHome({ 'config.yaml': `platforms:\n  ${deadIrc}\n` });
  const first = await startWorker(home, 'gateway');
  const enqueue = async (worker: TestWorker) => {
    using link = await worker.dial();
    return await link.call(gateway.enqueueDelivery, { target: 'irc', text: 'hi', idempotency_key: 'k', origin: 'cli' });
  };
  const stored = await enqueue(first);
  t.match(stored, { status: 'pending', duplicate: false });
  t.strictSame(await enqueue(first), { ...stored, duplicate: true });
  await first[Symbol.asyncDispose]();
  await using second = await startWorker(home, 'gateway');
  t.strictSame(await enqueue(second), { ...stored, duplicate: true });
  using link = await second.dial();
  t.match(await link.call(gateway.deliveryStatus, { delivery_id: stored.delivery_id, wait_ms: 50 }), { status: 'pending', tries: 0 });
  await t.rejects(link.call(gateway.deliveryStatus, { delivery_id: 99 }), { code: 'NOT_FOUND' });
  t.strictSame(await link.call(gateway.listTargets, {}).then(({ targets }) => targets.map(({ target }) => target)), ['irc', 'irc:#room']);
  for (const target of ['irc:a b', 'webhook:build', 'local', '', 'irc:#r,#s']) {
    await t.rejects(
      link.call(gateway.enqueueDelivery, { target, text: 'x', idempotency_key: target, origin: 'cli' }),
      { code: 'UNKNOWN_TARGET', fix: 'write irc:<chat>' },
      target,
    );
  }
});
