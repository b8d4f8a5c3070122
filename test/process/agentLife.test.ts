import t from 'tap';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { drain } from '../../ipc/contracts/peer.ts';
import { configGet, setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import { sessionDelete, sessionHistory, sessionInterrupt, sessionList, sessionResume, sessionTitle } from '../../ipc/contracts/rpc.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.test('titles, deletion and configuration through the RPC', async (t) => {
  using home = testHome({
    'config.yaml':
      'agent: { reasoning_effort: high }\nproviders: { box: { base_url: "http://127.0.0.1:1/v1", headers: { api_key: "sk-123" } } }\nmodel: { provider: demo }\n',
  });
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session_id = await client.create();
  const { link } = client;
  t.same(await link.call(sessionTitle, { session_id, title: 'My title' }), { session_id, title: 'My title' });
  await client.turn(session_id, 'say: 1 word');
  t.same(await link.call(sessionTitle, { session_id }), { session_id, title: 'My title' }, 'a chosen title stays');
  t.equal((await link.call(sessionResume, { session_id: 'My title' })).session_id, session_id);
  t.equal((await link.call(sessionResume, { session_id: 'latest' })).session_id, session_id);
  t.match(await link.call(configGet, { key: 'model' }), { value: 'rehearsal', provider: 'demo' });
  t.match(await link.call(configGet, { key: 'agent.reasoning_effort' }), { value: 'high' });
  t.match(await link.call(configGet, { key: 'providers.box' }), { value: { headers: { api_key: '[redacted]' } } });
  t.match(await link.call(configGet, { key: 'not.there' }), { value: null });
  await client.submit(session_id, 'slow: 20');
  await t.rejects(link.call(sessionDelete, { session_id }), { code: 'BUSY' });
  await link.call(sessionInterrupt, { session_id });
  await client.next('message.complete', ({ payload }) => payload.status === 'interrupted');
  t.same(await link.call(sessionDelete, { session_id }), { deleted: true });
  await t.rejects(link.call(sessionResume, { session_id }), { code: 'UNKNOWN_SESSION' });
  t.same((await link.call(sessionList, {})).sessions, []);
});

t.test('without a provider and without --demo the prompt is kept and the turn says the two ways out', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  t.match(await client.link.call(setupStatus, {}), {
    ready: false,
    provider_configured: false,
    inference_provider: null,
    message: /no_provider_configured/,
  });
  const { complete } = await client.turn(await client.create(), 'hello');
  t.match(complete, {
    status: 'error',
    error: { code: 'NO_PROVIDER', message: /no_provider_configured/, fix: /OPENAI_API_KEY.*agent config set/ },
  });
  const [session] = (await client.link.call(sessionList, {})).sessions;
  t.match((await client.link.call(sessionHistory, { session_id: session!.id })).messages, [
    { role: 'user', content: 'hello' },
    { role: 'assistant', finish_reason: 'error' },
  ]);
});

t.test('a config.yaml that becomes unusable leaves the last good one in force', async (t) => {
  using home = testHome({ 'config.yaml': 'agent: { disabled_toolsets: [terminal] }\n' });
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const sessionId = await client.create();
  t.match((await client.turn(sessionId, 'run: true')).complete.text, /TOOL_REFUSED.*disabled_toolsets/s);
  home.write('config.yaml', 'agent: { disabled_toolsets: [terminal\n');
  t.match((await client.turn(sessionId, 'run: true')).complete.text, /TOOL_REFUSED.*disabled_toolsets/s);
  home.write('config.yaml', '\n');
  t.match((await client.turn(sessionId, 'run: true')).complete.text, /no output, exit code 0/);
});

const refuses = (client: AgentClient, session: string): Promise<boolean> =>
  client.submit(session, 'hi').then(
    () => false,
    (thrown: { code?: string }) => thrown.code === 'DRAINING',
  );

t.test('a drain lets a running turn end, refuses new prompts, and interrupts what is left at the deadline', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const [short, long, other] = [await client.create(), await client.create(), await client.create()];
  await client.submit(short, 'slow: 0.3');
  await client.submit(long, 'slow: 60');
  await client.next('message.delta', ({ session_id }) => session_id === long);
  const draining = client.link.call(drain, { deadline_ms: 4_000 });
  await until('it drains', () => refuses(client, other));
  t.match(await draining, { interrupted: 1 });
  t.match((await client.next('message.complete', ({ session_id }) => session_id === short)).payload, { status: 'complete' });
  t.match((await client.next('message.complete', ({ session_id }) => session_id === long)).payload, {
    status: 'interrupted',
    error: { code: 'DRAINING', fix: /again/ },
  });
});

t.test('what a turn says at its end is heard before a worker that was told to leave is gone', async (t) => {
  // Whether the last events wait for a flush at that moment is a matter of milliseconds.
  for (let round = 0; round < 6; round++) {
    using home = testHome();
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    await client.submit(await client.create(), 'say: 30 words');
    await client.next('message.delta');
    t.same(await worker.kill('SIGTERM'), { code: 0, signal: null });
    await client.link.closed;
    t.match(client.events.find(({ type }) => type === 'message.complete')?.payload, { status: 'complete' });
  }
});

t.test('SIGTERM during a long drain shortens it', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const [session, other] = [await client.create(), await client.create()];
  await client.submit(session, 'slow: 300');
  await client.next('message.delta', ({ session_id }) => session_id === session);
  const draining = client.link.call(drain, { deadline_ms: 200_000 });
  await until('it drains', () => refuses(client, other));
  const ended = worker.kill('SIGTERM');
  t.match(await draining, { interrupted: 1 });
  t.same(await ended, { code: 0, signal: null });
});

t.test('SIGTERM ends the worker with exit code 0 and removes its socket', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  t.same(await worker.kill('SIGTERM'), { code: 0, signal: null });
  t.notOk(existsSync(home.run.socket('agent')));
});

t.test('a second worker on the same store is refused and leaves the running turn of the first alone', async (t) => {
  using home = testHome();
  await using first = await startWorker(home, 'agent', { demo: true });
  using client = await connect(first);
  await client.submit(await client.create(), 'slow: 1');
  await client.next('message.delta');
  await using second = await startWorker(home, 'agent', { demo: true, ready: false });
  const [code] = (await once(second.child, 'exit')) as [number];
  t.equal(code, 1);
  t.match(second.output(), new RegExp(`LOCK_HELD: agent \\(process ${first.child.pid}`));
  t.match((await client.next('message.complete')).payload, { status: 'complete', text: /Done\.$/ });
});
