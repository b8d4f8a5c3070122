import t from 'tap';
import { setImmediate as tick } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Model } from '../../agent/ports.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { createLogger, type LogSink } from '../../base/log.ts';
import { createRedactor } from '../../base/redact.ts';
import type { event, EventParams } from '../../ipc/contracts/rpcEvents.ts';
import type { Link } from '../../ipc/link.ts';
import { buildAgent } from '../../services/agent/agent.ts';
import { recover } from '../../services/agent/recover.ts';
import { snapshotOf, type SessionParts } from '../../services/agent/sessions.ts';
import { Store } from '../../services/agent/store.ts';
import type { WorkerContext } from '../../services/worker.ts';
import { readSecrets } from '../../state/env.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const nowhere: LogSink = { write() {}, close() {} };

/** The parts of the agent worker in this process, without socket and supervisor. */
function agentIn(home: TestHome): SessionParts & Disposable {
  const log = createLogger({ sink: nowhere, component: 'agent' });
  const context = {
    slot: 'agent',
    profile: 'default',
    home,
    paths: home,
    demo: true,
    log,
    redact: createRedactor(),
    release: { version: '0', code: 'test', root: projectRoot, codeRoot: projectRoot, built: false },
    config: () => ({ config: {}, unknown: [] }),
    secrets: () => readSecrets(home.env, {}),
    progress() {},
    reportFacts() {},
    reportProblem() {},
    peer: () => {
      throw new AgentError('PEER_UNREACHABLE', 'no peers here');
    },
    signal: new AbortController().signal,
  } as unknown as WorkerContext;
  const peer = () => ({
    call: async () => {
      throw new AgentError('PEER_UNREACHABLE', 'no peers here');
    },
  });
  const parts = buildAgent({ ...context, peer } as unknown as WorkerContext);
  return Object.assign(parts, { [Symbol.dispose]: () => parts.store.close() });
}

/** A follower that only writes down what it is sent. */
function follower({ events }: SessionParts): { link: Link; received: EventParams[] } {
  const received: EventParams[] = [];
  const link = {
    isOpen: true,
    closed: new Promise(() => {}),
    notify: (_notice: typeof event, params: EventParams) => void received.push(params),
    notifyJson: (_notice: typeof event, params: string) => void received.push(JSON.parse(params) as EventParams),
    cork() {},
    uncork() {},
  } as unknown as Link;
  events.welcome(link, {});
  return { link, received };
}

const newSession = ({ store }: SessionParts) => store.createSession({ source: 'cli', cwd: '/' });

/** A session with a prompt in the transcript and a turn on record as running. */
function runningTurn(parts: SessionParts): { sessionId: string; turnId: number } {
  const { id } = newSession(parts);
  parts.transcripts.addPrompt({ sessionId: id, text: 'hi', surface: 'cli' });
  return { sessionId: id, turnId: parts.transcripts.startTurn(parts.transcripts.queued(id)[0]!) };
}

t.test('what was made in one millisecond is listed in the order it was made: rules as they were added, conversations newest first', (t) => {
  using home = testHome();
  using parts = agentIn(home);
  const added = Array.from({ length: 12 }, (_, n) => `rm -r ${n}`);
  const made = added.map((rule) => {
    parts.rules.forSession('s', '').add('terminal', rule, 'always');
    return runningTurn(parts).sessionId;
  });
  parts.store.run('UPDATE exact_rules SET created_at = 1');
  parts.store.run('UPDATE sessions SET started_at = 1, last_active = 1');
  t.same(
    parts.rules.list().map(({ rule }) => rule),
    added,
  );
  for (const order of ['recent', 'created'] as const)
    t.same(
      parts.store.listSessions({ limit: 20, order }).sessions.map(({ id }) => id),
      made.toReversed(),
      order,
    );
  t.equal(parts.store.findSession('latest')?.id, made.at(-1));
  t.end();
});

t.test('text of one turn of the event loop is one event, in order with the others', async (t) => {
  using home = testHome();
  using parts = agentIn(home);
  const { sessionId, turnId } = runningTurn(parts);
  const { link, received } = follower(parts);
  parts.events.follow(sessionId, link);
  for (const text of ['a', 'b']) parts.events.emit(sessionId, turnId, 'message.delta', { text });
  parts.events.emit(sessionId, turnId, 'reasoning.delta', { text: 'hm' });
  parts.events.emit(sessionId, turnId, 'tool.start', { tool_id: '1' });
  parts.events.emit(sessionId, turnId, 'message.delta', { text: 'c' });
  parts.events.settle(sessionId);
  const seen = received.filter((params) => params.session_id).map(({ seq, type, payload }) => [seq, type, payload.text ?? '']);
  t.same(seen, [
    [1, 'message.delta', 'ab'],
    [2, 'reasoning.delta', 'hm'],
    [3, 'tool.start', ''],
    [4, 'message.delta', 'c'],
  ]);
  t.same(
    parts.events.since(sessionId, 2).events.map(({ seq }) => seq),
    [3, 4],
  );
});

t.test('pieces of a finished turn are pruned when the next one ends, and replay says that they are gone', async (t) => {
  using home = testHome();
  using parts = agentIn(home);
  const { sessionId, turnId } = runningTurn(parts);
  const { events } = parts;
  events.emit(sessionId, turnId, 'message.delta', { text: 'one' });
  events.emit(sessionId, turnId, 'message.complete', { text: 'one' });
  events.turnEnded(sessionId, turnId);
  t.match(events.since(sessionId, 0), { truncated: false, events: [{ seq: 1 }, { seq: 2 }] }, 'the last turn can be replayed whole');
  events.emit(sessionId, turnId + 1, 'message.delta', { text: 'two' });
  events.emit(sessionId, turnId + 1, 'message.complete', { text: 'two' });
  events.turnEnded(sessionId, turnId + 1);
  t.same(events.since(sessionId, 0), { events: [], latest_seq: 4, truncated: true });
  t.match(events.since(sessionId, 1), { truncated: false, events: [{ seq: 2, type: 'message.complete' }, { seq: 3 }, { seq: 4 }] });
  t.match(events.since(sessionId, 99), { truncated: true }, 'a number from the future belongs to another store');
});

/** Streams the pieces, each in a turn of the loop of its own, and then never ends. */
const endless = (pieces: string[]): Model => ({
  provider: 'fake',
  id: 'fake',
  scripted: true,
  contextWindow: null,
  vision: false,
  effortFor: () => undefined,
  async *stream({ signal }) {
    for (const text of pieces) {
      yield { type: 'text', text };
      await tick();
    }
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  },
});

t.test('the number of kept events is bounded, and a crash after the pruning still knows the whole text', async (t) => {
  using home = testHome();
  const pieces = Array.from({ length: limits.turn.eventsMax + 3 * limits.turn.eventsSlack + 7 }, (_, n) => `${n} `);
  let sessionId = '';
  {
    using parts = agentIn(home);
    sessionId = newSession(parts).id;
    parts.desk.open = async () => endless(pieces);
    parts.turns.submit({ sessionId, text: 'count', surface: 'cli' });
    await until('all of it streamed', () => parts.turns.inflight(sessionId)?.text === pieces.join(''));
    parts.events.settle(sessionId);
    const { n } = parts.store.one<{ n: number }>('SELECT count(*) AS n FROM session_events')!;
    t.ok(n <= limits.turn.eventsMax + limits.turn.eventsSlack, `${n} events kept`);
    // The worker ends here without a word: its store is closed under it.
  }
  using parts = agentIn(home);
  t.equal(recover({ ...parts, log: parts.context.log }), 1);
  t.match(snapshotOf(parts, parts.store.session(sessionId)!).messages.at(-1), { finish_reason: 'interrupted', content: pieces.join('') });
});

t.test('events of sessions that rest for a week are forgotten, a session at a time; their numbers go on', async (t) => {
  using home = testHome();
  using parts = agentIn(home);
  const { store, events } = parts;
  const old = Date.now() - limits.turn.eventsKeepMs - 1;
  // They are gone through in the order of their ids, which says little about two of one millisecond.
  const sessions = Array.from({ length: 5 }, () => runningTurn(parts)).toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
  for (const { sessionId, turnId } of sessions) {
    events.emit(sessionId, turnId, 'message.complete', { text: 'x' });
    events.settle(sessionId);
  }
  const [, , , fresh, comesBack] = sessions.map(({ sessionId }) => sessionId);
  store.run('UPDATE sessions SET last_active = ? WHERE id <> ?', old, fresh);
  const written = () => store.one<{ n: number }>('SELECT total_changes() AS n')!.n;
  const left = () => store.all<{ id: string }>('SELECT session_id AS id FROM session_events ORDER BY session_id').map(({ id }) => id);
  const quiet = newSession(parts).id;
  store.run('UPDATE sessions SET last_active = ? WHERE id = ?', old, quiet);
  const before = written();
  const done = events.forgetIdle(Date.now() - limits.turn.eventsKeepMs);
  t.equal(left().length, 4, 'one went, then the loop had its turn');
  store.run('UPDATE sessions SET last_active = ? WHERE id = ?', Date.now(), comesBack);
  await done;
  t.same(left(), [fresh, comesBack]);
  t.equal(written() - before, 3 * 2 + 1, 'a session without events is not written');

  const { sessionId, turnId } = sessions[0]!;
  events.rest(sessionId);
  t.same(events.since(sessionId, 0), { events: [], latest_seq: 1, truncated: true });
  events.emit(sessionId, turnId, 'notice', {});
  t.match(events.since(sessionId, 1), { latest_seq: 2, truncated: false, events: [{ seq: 2 }] });
});

t.test('a full disk refuses a prompt with DISK_FULL, stores nothing of it, and goes on when there is room', async (t) => {
  using home = testHome();
  using parts = agentIn(home);
  const { id } = newSession(parts);
  const pages = parts.store.db.pragma('page_count', { simple: true }) as number;
  parts.store.db.pragma(`max_page_count = ${pages}`);
  const big = 'x'.repeat(200_000);
  t.throws(() => parts.turns.submit({ sessionId: id, text: big, surface: 'cli', idempotencyKey: 'k' }), {
    code: 'DISK_FULL',
    fix: /disk space/,
  });
  t.same([parts.transcripts.queued(id), parts.events.since(id, 0).latest_seq, parts.turns.isRunning(id)], [[], 0, false]);
  parts.store.db.pragma('max_page_count = 1000000');
  const { messageId, status } = parts.turns.submit({ sessionId: id, text: 'say: 2 words', surface: 'cli', idempotencyKey: 'k' });
  t.equal(status, 'streaming');
  await parts.turns.ended(messageId);
  t.match(parts.transcripts.lastTurnOf(messageId), { status: 'complete', text: 'alpha bravo' });
});

t.test(
  'a turn on a disk that fills up ends with an error as soon as there is room, followers see both, nothing stored is lost',
  async (t) => {
    using home = testHome();
    using parts = agentIn(home);
    const { id } = newSession(parts);
    const { link, received } = follower(parts);
    parts.events.follow(id, link);
    const { messageId } = parts.turns.submit({ sessionId: id, text: 'say: 20000 words', surface: 'cli' });
    await until('it streams', () => parts.turns.inflight(id)?.text);
    const pages = parts.store.db.pragma('page_count', { simple: true }) as number;
    parts.store.db.pragma(`max_page_count = ${pages + 2}`);
    await until('followers see that the end waits', () => received.some(({ type }) => type === 'notice'));
    t.match(parts.turns.held(), [{ slot: 'state.db', held: 1, code: 'DISK_FULL' }]);
    t.equal(parts.turns.isRunning(id), true);
    parts.store.db.pragma('max_page_count = 1000000');
    await parts.turns.ended(messageId);
    const last = await until('its end is sent', () => received.findLast(({ type }) => type === 'message.complete'));
    t.match(last.payload, { error: { code: 'DISK_FULL' } });
    t.same(parts.turns.held(), []);
    const next = parts.turns.submit({ sessionId: id, text: 'say: 1 word', surface: 'cli' });
    await parts.turns.ended(next.messageId);
    t.same(parts.transcripts.runningTurns(), [], 'the turn whose end could not be stored is settled');
    const history = snapshotOf(parts, parts.store.session(id)!).messages;
    t.same(
      history.map(({ role, finish_reason }) => [role, finish_reason]),
      [
        ['user', null],
        ['assistant', 'interrupted'],
        ['user', null],
        ['assistant', 'stop'],
      ],
    );
    t.match(history[1]!.content, /^alpha bravo/, 'what had been stored of the cut answer is kept');
  },
);

t.test('a store of an older version gains its missing columns and keeps its rows', async (t) => {
  using home = testHome();
  const old = new Database(home.stateDb);
  old.exec("CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT); INSERT INTO sessions VALUES ('s1', 'kept'); PRAGMA user_version = 27");
  old.close();
  const store = new Store(home.stateDb);
  t.match(store.session('s1'), { title: 'kept', tool_names: null, cwd: '' });
  t.equal(store.db.pragma('user_version', { simple: true }), 28);
  const plan = store.all<{ detail: string }>(
    "EXPLAIN QUERY PLAN SELECT json_extract(usage, '$.input'), cost_usd, model, provider, tool_calls, session_id FROM turns WHERE started_at >= 1 AND model_calls > 0",
  );
  t.match(plan, [{ detail: /USING COVERING INDEX turns_by_time/ }], 'sums over time read no texts');
  const { epoch } = store;
  store.close();
  const again = new Store(home.stateDb);
  t.equal(again.epoch, epoch, 'the epoch is that of the store');
  again.close();
});
