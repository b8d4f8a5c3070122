/** What conversations cost, read from a real state.db that is being written meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createAnalytics } from '../../services/agent/analytics.ts';
import { readAnalytics } from '../../services/agent/analyticsSql.ts';
import { Store } from '../../services/agent/store.ts';
import { recordSideCall } from '../../services/agent/usage.ts';

const DAY = 86_400_000;

function filled(): { store: Store; path: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-analytics-'));
  const path = join(dir, 'state.db');
  const store = new Store(path);
  return {
    store,
    path,
    [Symbol.dispose]: () => {
      store.close();
      rmSync(dir, { recursive: true });
    },
  };
}

interface Turn {
  session: string;
  at: number;
  model?: string;
  input?: number;
  cost?: number | null;
  calls?: number;
}

function addTurn(store: Store, { session, at, model = 'm', input = 100, cost = 0.25, calls = 1 }: Turn): void {
  store.run(
    `INSERT INTO turns (session_id, message_id, status, usage, cost_usd, provider, model, model_calls, tool_calls, started_at)
     VALUES (?, 1, 'complete', ?, ?, 'p', ?, ?, 2, ?)`,
    session,
    JSON.stringify({ input, output: 10, cacheRead: 5 }),
    cost,
    model,
    calls,
    at,
  );
}

t.test('turns and side calls are summed by day, model and source; what is older, copied or without a call is left out', async (t) => {
  using db = filled();
  const { store, path } = db;
  const irc = store.createSession({ source: 'irc', cwd: '/' }).id;
  const cli = store.createSession({ source: 'cli', cwd: '/' }).id;
  const noon = new Date();
  noon.setHours(12, 0, 0, 0);
  const now = noon.getTime();
  addTurn(store, { session: irc, at: now });
  addTurn(store, { session: irc, at: now - DAY, model: 'big', input: 1_000, cost: null, calls: 3 });
  addTurn(store, { session: cli, at: now });
  addTurn(store, { session: cli, at: now - 10 * DAY });
  addTurn(store, { session: cli, at: now, calls: 0 });
  recordSideCall(store, cli, { task: 'title', provider: 'p', model: 'm', usage: { input: 7, output: 1, costUsd: 0.5 }, modelCalls: 1 });

  const { usage, models } = readAnalytics(path, 7, now + 1_000);
  t.match(usage.totals, {
    input_tokens: 1_207,
    output_tokens: 31,
    turns: 3,
    api_calls: 6,
    unpriced_calls: 3,
    estimated_cost: 1,
    sessions: 2,
  });
  t.match(
    usage.daily.map(({ turns, sessions }) => ({ turns, sessions })),
    [
      { turns: 1, sessions: 1 },
      { turns: 2, sessions: 2 },
    ],
  );
  t.same(
    usage.by_model.map(({ model, input_tokens }) => [model, input_tokens]),
    [
      ['big', 1_000],
      ['m', 207],
    ],
  );
  t.same(
    usage.by_source.map(({ source, sessions }) => [source, sessions]),
    [
      ['irc', 1],
      ['cli', 1],
    ],
  );
  t.equal(models.models[0]!.daily.length, 1);
  t.equal(readAnalytics(path, 30, now + 1_000).usage.totals.turns, 4);
});

t.test('lesson 34: a long history is read beside the loop, once for all who ask, and a store that is gone is an error', async (t) => {
  using db = filled();
  const session = db.store.createSession({ source: 'cli', cwd: '/' }).id;
  db.store.transaction(() => {
    for (let n = 0; n < 20_000; n++) addTurn(db.store, { session, at: Date.now() - n * 1_000 });
  });
  const analytics = createAnalytics(db.path);
  // Time on the processor, which a busy machine does not make longer.
  const ownMs = async (work: () => unknown): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  const readHereMs = await ownMs(() => readAnalytics(db.path, 30));
  const askedMs = await ownMs(async () => {
    const [one, two] = await Promise.all([analytics(30), analytics(30)]);
    t.equal(one, two);
    t.equal(one.usage.totals.turns, 20_000);
  });
  t.ok(askedMs < readHereMs / 2, `${Math.round(askedMs)} ms of this thread; read by itself ${Math.round(readHereMs)} ms`);
  await t.rejects(createAnalytics(join(db.path, 'nowhere'))(7), { code: 'ANALYTICS_FAILED' });
});
