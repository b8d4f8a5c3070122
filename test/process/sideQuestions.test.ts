/** Side questions end with their worker, said and not silently; the model that answers them sees no tools. */
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { conversationCommand } from '../../ipc/contracts/agent.ts';
import { drain } from '../../ipc/contracts/peer.ts';
import { eventsSince, sessionHistory, sessionResume } from '../../ipc/contracts/rpc.ts';
import { promptBackground, promptBtw } from '../../ipc/contracts/rpcSessions.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { asidesAmong, beginAside, endAside } from '../../services/agent/asides.ts';
import { Store } from '../../services/agent/store.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.test('a drain ends a side question with an error event, and takes no new ones', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session_id = await client.create();
  await client.link.call(promptBtw, { session_id, text: 'slow: 60' });
  const draining = client.link.call(drain, { deadline_ms: 20_000 });
  t.match((await client.next('btw.complete')).payload, { question: 'slow: 60', text: '', error: /DRAINING/ });
  await t.rejects(client.link.call(promptBtw, { session_id, text: 'say: 1 word' }), { code: /DRAINING|PEER_GONE/ });
  await draining.catch(() => {});
});

t.test('the request of a side question holds the conversation as talk and no tools', async (t) => {
  await using provider = await startOpenAi(
    { toolCalls: [{ name: 'read_file', args: '{"path":"/etc/hostname"}' }] },
    { text: 'It is a name.' },
    { text: 'The side answer.' },
  );
  using home = testHome({
    'config.yaml': `model: { default: m, provider: fake }\nproviders:\n  fake: { kind: openai-compatible, base_url: "${provider.url}" }\n`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const session_id = await client.create();
  await client.turn(session_id, 'what is the host called');
  await client.link.call(promptBtw, { session_id, text: 'who asked that?' });
  t.match((await client.next('btw.complete')).payload, { text: 'The side answer.', error: null });
  const { body } = provider.requests.at(-1)!;
  t.same(body.tools ?? [], []);
  t.ok(body.messages.every(({ role, tool_calls }) => role !== 'tool' && !tool_calls));
  t.match(body.messages.at(-1), { role: 'user', content: 'who asked that?' });
  t.match(JSON.stringify(body.messages), /called read_file/);
});

t.test(
  'a side question is on record before it is accepted, and its answer where it came: also after a SIGKILL of the worker',
  async (t) => {
    using home = testHome();
    const first = await startWorker(home, 'agent', { demo: true });
    let session_id = '';
    let lastSeen = 0;
    let firstMessage = 0;
    {
      using client = await connect(first);
      session_id = await client.create();
      await client.link.call(promptBtw, { session_id, text: 'say: 3 words' });
      await client.next('btw.complete');
      firstMessage = (await client.turn(session_id, 'say: 1 word')).complete.message_id!;
      await client.link.call(promptBtw, { session_id, text: 'say: 2 words' });
      const { payload } = await client.next('btw.complete', ({ payload: { question } }) => question === 'say: 2 words');
      t.match(payload, { text: 'alpha bravo', aside_id: Number });
      await client.turn(session_id, 'say: 1 word');
      await client.link.call(promptBtw, { session_id, text: 'slow: 60' });
      await client.link.call(promptBackground, { session_id, text: 'slow: 60' });
      const { asides } = await client.link.call(sessionResume, { session_id });
      t.match(asides.slice(2), [
        { kind: 'btw', question: 'slow: 60', status: 'running', text: '' },
        { kind: 'background', question: 'slow: 60', status: 'running', session_id: /^ses_/ },
      ]);
      lastSeen = client.events.findLast(({ seq, session_id: of }) => seq !== null && of === session_id)!.seq!;
    }
    await first.kill('SIGKILL');
    await using second = await startWorker(home, 'agent', { demo: true });
    using client = await connect(second);
    const { asides, messages } = await until('the background work is told', async () => {
      const snapshot = await client.link.call(sessionResume, { session_id });
      return snapshot.asides.every(({ status }) => status !== 'running') && snapshot;
    });
    const last = messages.at(-1)!.id;
    t.match(asides, [
      { kind: 'btw', question: 'say: 3 words', text: 'alpha bravo charlie', status: 'complete', error: null, after_id: null },
      { kind: 'btw', question: 'say: 2 words', text: 'alpha bravo', status: 'complete', after_id: firstMessage },
      { kind: 'btw', question: 'slow: 60', text: '', status: 'error', error: /^TURN_CUT: .* ask again$/, after_id: last },
      { kind: 'background', question: 'slow: 60', status: 'interrupted', after_id: last },
    ]);
    const { events } = await client.link.call(eventsSince, { session_id, last_seen: lastSeen });
    t.match(
      events.filter(({ type }) => type.endsWith('.complete')).map(({ type, payload }) => [type, payload.aside_id]),
      [
        ['btw.complete', asides[2]!.id],
        ['background.complete', asides[3]!.id],
      ],
      'who was there meanwhile is told the same',
    );
    const page = await client.link.call(sessionHistory, { session_id, before_id: messages[2]!.id });
    t.same(
      page.asides.map(({ question }) => question),
      ['say: 3 words', 'say: 2 words'],
      'each page has its own',
    );
    const { asides: latest } = await client.link.call(sessionHistory, { session_id, limit: 1 });
    t.same(
      latest.map(({ question }) => question),
      ['slow: 60', 'slow: 60'],
    );
  },
);

t.test('answers beside a conversation are bounded, and go with their session', async (t) => {
  using home = testHome();
  const store = new Store(home.stateDb);
  t.teardown(() => store.close());
  const session = store.createSession({ source: 'cli', cwd: '/' });
  const count = () => store.one<{ n: number }>('SELECT count(*) AS n FROM asides')!.n;
  for (let n = 0; n < limits.side.keptMax + 20; n++) {
    const aside = { sessionId: session.id, taskId: `btw_${n}`, kind: 'btw' as const, question: 'q' };
    beginAside(store, aside);
    endAside(store, aside, { text: 'x'.repeat(limits.side.answerMaxChars + 10), error: null, status: 'complete' });
  }
  t.equal(count(), limits.side.keptMax);
  const shown = asidesAmong(store, session.id, []);
  t.equal(shown.length, limits.side.shownMax);
  t.match(shown.at(-1), { task_id: `btw_${limits.side.keptMax + 19}`, text: /^x+$/ });
  t.equal(shown[0]!.text.length, limits.side.answerMaxChars);
  store.deleteSession(session.id);
  t.equal(count(), 0);
});

t.test('the result of /bg in a chat is kept over a missing gateway and the end of the worker, and delivered once', async (t) => {
  using home = testHome({
    'config.yaml': 'platforms:\n  irc: { host: 127.0.0.1, port: 1, channels: ["#room"], allowed_users: ["*"] }\n',
  });
  const rows = <T>(path: string, sql: string): T[] => {
    const db = openReadOnly(path);
    try {
      return db.prepare(sql).all() as T[];
    } finally {
      db.close();
    }
  };
  const kept = () => rows(home.stateDb, "SELECT 1 FROM state_meta WHERE key LIKE 'background-result:%'").length;
  {
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    const asked = { session_key: 'agent:main:irc:group:#room', line: '/bg say: 3 words', platform: 'irc', user: 'ann', is_owner: true };
    await client.link.call(conversationCommand, asked);
    await until('the work is done', () => kept() === 1);
    await worker.kill();
  }
  await using _worker = await startWorker(home, 'agent', { demo: true });
  t.equal(kept(), 1);
  await using _gateway = await startWorker(home, 'gateway');
  await until('the gateway has accepted it', () => kept() === 0);
  t.match(rows(home.gatewayDb, 'SELECT chat, origin, text FROM outbox'), [{ chat: '#room', origin: 'background', text: /\w+ \w+ \w+/ }]);
});
