import t from 'tap';
import { eventsSince, promptSubmit, sessionHistory, sessionResume } from '../../ipc/contracts/rpc.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

/** Ends the worker without a word and starts the next one on the same home. */
async function crash(home: ReturnType<typeof testHome>, worker: TestWorker): Promise<TestWorker> {
  await worker.kill('SIGKILL');
  return startWorker(home, 'agent', { demo: true });
}

t.test('after SIGKILL in mid-answer the prompt is there, the partial text is kept and marked, and numbers go on', async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  using before = await connect(first);
  const sessionId = await before.create();
  await before.submit(sessionId, 'slow: 60');
  await before.next('message.delta', ({ payload }) => String(payload.text).includes('.'));
  await until('some of it is seen', () => before.events.filter(({ type }) => type === 'message.delta').length >= 2);
  await using second = await crash(home, first);
  using after = await connect(second);
  const seen = before.events
    .filter(({ type }) => type === 'message.delta')
    .map(({ payload }) => payload.text)
    .join('');
  const lastSeen = before.events.findLast(({ seq }) => seq !== null)!.seq!;

  const { messages } = await after.link.call(sessionHistory, { session_id: sessionId });
  t.match(messages, [
    { role: 'user', content: 'slow: 60' },
    { role: 'assistant', finish_reason: 'interrupted' },
  ]);
  t.ok(messages[1]!.content.startsWith(seen), 'all text that anybody saw is kept');
  const replay = await after.link.call(eventsSince, { session_id: sessionId, last_seen: lastSeen });
  t.match(replay, { truncated: false, epoch: before.events[0]!.payload.epoch });
  t.same(
    replay.events.map(({ seq }) => seq),
    replay.events.map((_, index) => lastSeen + 1 + index),
    'numbers go on without a gap',
  );
  t.match(replay.events.at(-1), {
    type: 'message.complete',
    payload: { status: 'interrupted', text: messages[1]!.content, error: { code: 'TURN_CUT', fix: /again/ } },
  });
  t.match(await after.link.call(sessionResume, { session_id: sessionId }), { status: 'idle', inflight: null });
  t.match((await after.turn(sessionId, 'say: 1 word')).complete, { status: 'complete', text: 'alpha' });
});

t.test('after SIGKILL in a tool its process group is killed, its call is answered, and nothing is run again', async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  using before = await connect(first);
  const sessionId = await before.create();
  await before.submit(sessionId, 'run: echo ran >> ~/count; sleep 305 & echo "group $$"; sleep 306');
  const { payload } = await before.next('tool.progress', (params) => /group \d+/.test(String(params.payload.preview)));
  const pgid = Number(/\d+/.exec(String(payload.preview))![0]);
  await using second = await crash(home, first);
  await until('the group of the tool is gone', () => !groupAlive(pgid));
  using after = await connect(second);
  const { messages } = await after.link.call(sessionHistory, { session_id: sessionId });
  t.match(messages, [
    { role: 'user' },
    { role: 'assistant', finish_reason: 'tool_calls' },
    { role: 'tool', content: /^Cut off.*unknown/ },
    { role: 'assistant', finish_reason: 'interrupted' },
  ]);
  t.match((await after.turn(sessionId, 'read: ~/count')).complete.text, /^read_file returned:\n1 {2}ran$/, 'it ran once');
});

t.test('prompts that waited behind the cut turn run after the restart, once, in order', async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  using before = await connect(first);
  const session_id = await before.create();
  await before.submit(session_id, 'slow: 60');
  for (const n of [1, 2, 3])
    t.match(await before.link.call(promptSubmit, { session_id, text: `say: ${n} words`, idempotency_key: `k${n}` }), { status: 'queued' });
  await using second = await crash(home, first);
  using after = await connect(second);
  await after.submit(session_id, 'say: 3 words', { idempotency_key: 'k3' });
  const done = await until('all have run', async () => {
    const { messages } = await after.link.call(sessionHistory, { session_id });
    return messages.length === 8 && messages;
  });
  t.same(
    done.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['slow: 60', 'say: 1 words', 'say: 2 words', 'say: 3 words'],
  );
  t.same(
    done
      .filter(({ role }) => role === 'assistant')
      .map(({ content }) => content)
      .slice(1),
    ['alpha', 'alpha bravo', 'alpha bravo charlie'],
  );
});

t.test('a prompt whose acceptance was heard is never lost, whenever the worker is killed', async (t) => {
  using home = testHome();
  let worker = await startWorker(home, 'agent', { demo: true });
  let client = await connect(worker);
  const session_id = await client.create();
  const accepted: string[] = [];
  for (let round = 0; round < 3; round++) {
    const texts = Array.from({ length: 12 }, (_, n) => `prompt ${round}.${n}`);
    const killed = Promise.withResolvers<unknown>();
    const heard = (text: string) => {
      accepted.push(text);
      // Killed while the other submissions are on their way, a little later each round.
      if (accepted.filter((one) => one.startsWith(`prompt ${round}.`)).length === 1 + 3 * round) killed.resolve(worker.kill('SIGKILL'));
    };
    await Promise.all(
      texts.map((text) =>
        client.submit(session_id, text, { idempotency_key: text }).then(
          () => heard(text),
          () => {},
        ),
      ),
    );
    await killed.promise;
    client[Symbol.dispose]();
    worker = await startWorker(home, 'agent', { demo: true });
    client = await connect(worker);
    // What was not acknowledged is sent again, as a client would.
    for (const text of texts.filter((one) => !accepted.includes(one)).slice(0, 5)) {
      await client.submit(session_id, text, { idempotency_key: text });
      accepted.push(text);
    }
  }
  const users = await until(
    'the queue is empty',
    async () => {
      const { queued, inflight, messages } = await client.link.call(sessionResume, { session_id });
      return queued.length === 0 && inflight === null && messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    },
    40_000,
  );
  t.equal(new Set(users).size, users.length, 'none is doubled');
  t.same(
    accepted.filter((text) => !users.includes(text)),
    [],
    'none is lost',
  );
  client[Symbol.dispose]();
  await worker[Symbol.asyncDispose]();
});
