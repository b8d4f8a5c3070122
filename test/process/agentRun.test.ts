import t from 'tap';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resetConversation, runTurn, stopConversation, turnProgress } from '../../ipc/contracts/agent.ts';
import { drain } from '../../ipc/contracts/peer.ts';
import { sessionHistory, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import type { InputOf } from '../../ipc/method.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const chat = (text: string, idempotency_key: string, more: Partial<InputOf<typeof runTurn>> = {}): InputOf<typeof runTurn> => ({
  session_key: 'agent:main:irc:group:#room',
  text,
  idempotency_key,
  surface: 'gateway',
  platform: 'irc',
  user: 'ada',
  ...more,
});

t.test('turns of one chat share a session; each key is one run', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  const [gateway, other] = [await worker.dial(), await worker.dial()];
  t.teardown(() => [gateway, other].forEach((link) => link.destroy()));

  const both = await Promise.all([
    gateway.call(runTurn, chat('slow: 0.3', 'a')),
    other.call(runTurn, chat('slow: 0.3', 'a')),
    gateway.call(runTurn, chat('say: 2 words', 'b')),
  ]);
  t.same(both[0], both[1], 'two callers join one turn');
  t.match(both[0], { status: 'complete', text: 'Starting slowly. . Done.', error: null, tools_ran: false });
  t.match(both[2], { status: 'complete', text: 'alpha bravo', session_id: both[0].session_id });
  t.same(await other.call(runTurn, chat('slow: 0.3', 'a')), both[0], 'the recorded outcome');
  const { messages } = await gateway.call(sessionHistory, { session_id: both[0].session_id });
  t.equal(messages.filter(({ role }) => role === 'user').length, 2);
  t.match((await gateway.call(sessionList, {})).sessions, [{ source: 'irc', message_count: 4 }]);

  const fresh = await gateway.call(runTurn, chat('say: 1 word', 'c', { session_key: null, surface: 'scheduled_task' }));
  t.not(fresh.session_id, both[0].session_id, 'no key: a session of its own');
  t.match(await gateway.call(runTurn, chat('fail: PROVIDER_FAILED', 'd')), { status: 'error', error: { code: 'PROVIDER_FAILED' } });
});

t.test('a chat can be stopped, and reset to a fresh session', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  const link = await worker.dial();
  t.teardown(() => link.destroy());
  const session_key = 'agent:main:irc:group:#room';
  t.same(await link.call(stopConversation, { session_key }), { interrupted: false });
  t.same(await link.call(resetConversation, { session_key }), { reset: false });
  const running = link.call(runTurn, chat('slow: 60', 'a'));
  await until('it runs', async () => (await link.call(stopConversation, { session_key })).interrupted);
  const stopped = await running;
  t.match(stopped, { status: 'interrupted', error: null });
  t.same(await link.call(resetConversation, { session_key }), { reset: true });
  const next = await link.call(runTurn, chat('say: 1 word', 'b'));
  t.not(next.session_id, stopped.session_id);
  t.same(await link.call(runTurn, chat('slow: 60', 'a')), stopped, 'what the user stopped is not run again');
});

t.test('a caller that cancels ends its turn, in progress or in line; one that is gone does not', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  const link = await worker.dial();
  t.teardown(() => link.destroy());
  const cancel = new AbortController();
  const running = link.call(runTurn, chat('slow: 60', 'a'), { signal: cancel.signal });
  await until('it runs', async () => (await link.call(sessionList, {})).sessions[0]?.status === 'working');
  const cancelWaiting = new AbortController();
  const waiting = link.call(runTurn, chat('slow: 61', 'b'), { signal: cancelWaiting.signal });
  const gone = await worker.dial();
  void gone.call(runTurn, chat('say: 2 words', 'c')).catch(() => {});
  const [session] = (await link.call(sessionList, {})).sessions;
  await until('both wait', async () => (await link.call(sessionResume, { session_id: session!.id })).queued.length === 2);
  gone.destroy();
  cancelWaiting.abort();
  await t.rejects(waiting);
  cancel.abort();
  await t.rejects(running);
  t.match(await link.call(runTurn, chat('say: 2 words', 'c')), { status: 'complete', text: 'alpha bravo' });
  t.match(await link.call(runTurn, chat('slow: 61', 'b')), { status: 'interrupted', text: '', error: null });
  const { messages } = await link.call(sessionHistory, { session_id: session!.id });
  t.same(
    messages.map(({ content, finish_reason }) => finish_reason ?? content),
    ['slow: 60', 'interrupted', 'say: 2 words', 'stop'],
  );
});

t.test('on a chat platform the host is out of reach until the owner lists it', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  const link = await worker.dial();
  t.teardown(() => link.destroy());
  t.match(await link.call(runTurn, chat('run: id', 'a')), { status: 'complete', text: /TOOL_REFUSED.*platform_toolsets\.irc/s });
  t.match(await link.call(runTurn, chat('run: id', 'b', { surface: 'scheduled_task', session_key: null, platform: undefined })), {
    text: /TOOL_REFUSED.*platform_toolsets\.cron/s,
  });
  t.match(await link.call(runTurn, chat('every 10s: run: id', 'c', { surface: 'scheduled_task', session_key: null })), {
    text: /scheduled job cannot schedule/,
  });
  home.write('config.yaml', 'platform_toolsets: { irc: [terminal] }\n');
  t.match(await link.call(runTurn, chat('run: echo listed', 'd')), { text: /^terminal returned:\nlisted$/ });
});

t.test('a run that a crash cut before any tool is run again by the same key; one that had run a tool is not', async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  const link = await first.dial();
  const plain = link.call(runTurn, chat('slow: 5', 'plain')).catch((thrown: { code: string }) => thrown.code);
  const tooled = link
    .call(runTurn, chat('run: echo ran >> ~/count; sleep 307', 'tooled', { session_key: null, surface: 'cli', platform: undefined }))
    .catch((thrown: { code: string }) => thrown.code);
  const finished = await link.call(runTurn, chat('say: 3 words', 'finished', { session_key: null }));
  await until('both work', () => readFileSync(join(home.root, 'count'), 'utf8') === 'ran\n');
  await first.kill('SIGKILL');
  t.same(await Promise.all([plain, tooled]), ['PEER_GONE', 'PEER_GONE']);

  await using second = await startWorker(home, 'agent', { demo: true });
  const again = await second.dial();
  t.teardown(() => again.destroy());
  t.same(await again.call(runTurn, chat('say: 3 words', 'finished', { session_key: null })), finished, 'a recorded outcome survives');
  const cut = await again.call(
    runTurn,
    chat('run: echo ran >> ~/count; sleep 307', 'tooled', { session_key: null, surface: 'cli', platform: undefined }),
  );
  t.match(cut, { status: 'interrupted', tools_ran: true, error: { code: 'TURN_CUT' } });
  t.equal(readFileSync(join(home.root, 'count'), 'utf8'), 'ran\n', 'the tool ran once');
  const rerun = await again.call(runTurn, chat('slow: 5', 'plain'));
  t.match(rerun, { status: 'complete', text: /^Starting slowly\..* Done\.$/ });
  const { messages } = await again.call(sessionHistory, { session_id: rerun.session_id });
  t.same(
    messages.map(({ role, finish_reason }) => [role, finish_reason]),
    [
      ['user', null],
      ['assistant', 'stop'],
    ],
    'the cut attempt is not shown',
  );
});

t.test('a run that a planned restart interrupts before any tool answers DRAINING, and goes on with the next worker', async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  const link = await first.dial();
  const running = link.call(runTurn, chat('slow: 3', 'a')).catch((thrown: { code: string }) => thrown.code);
  const waiting = link.call(runTurn, chat('say: 1 word', 'b')).catch((thrown: { code: string }) => thrown.code);
  await until('the first runs', async () => (await link.call(sessionList, {})).sessions[0]?.status === 'working');
  await link.call(drain, { deadline_ms: 100 });
  t.same(await Promise.all([running, waiting]), ['DRAINING', 'DRAINING']);
  await t.rejects(link.call(runTurn, chat('new', 'c')), { code: 'DRAINING' });
  await first.kill('SIGTERM');
  await using second = await startWorker(home, 'agent', { demo: true });
  const again = await second.dial();
  t.teardown(() => again.destroy());
  const [a, b] = await Promise.all([again.call(runTurn, chat('slow: 3', 'a')), again.call(runTurn, chat('say: 1 word', 'b'))]);
  t.match([a.status, b.status, b.text], ['complete', 'complete', 'alpha']);
});

t.test('without a usable provider a run is refused before anything is stored', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent');
  const link = await worker.dial();
  t.teardown(() => link.destroy());
  await t.rejects(link.call(runTurn, chat('hi', 'a')), { code: 'NO_PROVIDER', message: /no_provider_configured/, fix: /OPENAI_API_KEY/ });
  t.same(await link.call(sessionList, {}), { sessions: [], total: 0 });
});

t.test('whoever waits for a turn can see that it moves, also while a tool only prints', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  const link = await worker.dial();
  t.teardown(() => link.destroy());
  const steps = async () => (await link.call(turnProgress, { idempotency_key: 'p' })).steps;
  t.equal(await steps(), null, 'nothing runs');
  const running = link.call(runTurn, chat('run: while [ ! -e ~/go ]; do echo .; sleep 0.02; done; sleep 0.1', 'p', { surface: 'cli' }));
  const seen = await until('it moves', async () => await steps());
  await until('it goes on', async () => ((await steps()) ?? 0) > seen + 3);
  home.write('go', '');
  t.match(await running, { status: 'complete' });
  t.equal(await steps(), null);
});
