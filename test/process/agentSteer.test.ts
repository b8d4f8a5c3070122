import t from 'tap';
import { promptSubmit, sessionHistory, sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { sessionSteer } from '../../ipc/contracts/rpcSessions.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { anew, startProviderStage, type ProviderStage } from '../harness/providerStage.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

/** A real model that may use the terminal unasked. */
const SETTINGS = 'approvals: { mode: "off" }\n';
const common = await startProviderStage(t, SETTINGS);

/** The worker that no test kills, as if it were new. */
const shared = (): ProviderStage => anew(common);

const runs = (command: string) => ({ toolCalls: [{ name: 'terminal', args: JSON.stringify({ command }) }] });
/** A command that ends when the file appears. */
const waitsFor = (home: { root: string }, name: string) => runs(`until [ -e ${home.root}/${name} ]; do sleep 0.02; done; echo waited`);
const texts = async (client: AgentClient, session_id: string) =>
  (await client.link.call(sessionHistory, { session_id })).messages.map(({ role, kind, content }) => [role, kind, content.slice(0, 20)]);

t.test('a steered text reaches the running turn with the next tool result, and stands there in the transcript', async (t) => {
  const { provider, home, client } = shared();
  provider.answer(waitsFor(home, 'go'), { text: 'In blue.' });
  const session_id = await client.create();
  await client.submit(session_id, 'paint it');
  await client.next('tool.start');
  const { status, message_id } = await client.link.call(sessionSteer, { session_id, text: 'rather in blue' });
  t.equal(status, 'steered');
  t.match(
    (await client.link.call(sessionResume, { session_id })).queued,
    [{ id: message_id, text: 'rather in blue' }],
    'until then it waits where everybody sees it',
  );
  home.write('go', '');
  await client.next('message.complete');
  t.match(provider.requests[1]!.body.messages.slice(-2), [
    { role: 'tool', content: 'waited' },
    { role: 'user', content: 'rather in blue' },
  ]);
  const accepted = client.events.filter(({ type }) => type === 'prompt.accepted').map(({ payload }) => payload);
  t.match(accepted, [{ text: 'paint it' }, { message_id, text: 'rather in blue', steered: true }]);
  t.same(client.events.findLast(({ type }) => type === 'queue.updated')!.payload, { queued: [] });
  t.same(await texts(client, session_id), [
    ['user', 'plain', 'paint it'],
    ['assistant', 'plain', ''],
    ['tool', 'plain', 'waited'],
    ['user', 'steer', 'rather in blue'],
    ['assistant', 'plain', 'In blue.'],
  ]);
});

t.test('a text steered into a session that rests starts a turn; one that the turn does not take becomes the next prompt', async (t) => {
  const { provider, client } = shared();
  provider.answer({ text: 'thinking', silent: true }, { text: 'Blue it is.' });
  const session_id = await client.create();
  t.match(await client.link.call(sessionSteer, { session_id, text: 'paint it' }), { status: 'streaming' });
  await client.next('message.delta');
  t.match(await client.link.call(sessionSteer, { session_id, text: 'in blue' }), { status: 'steered' });
  await client.link.call(sessionInterrupt, { session_id });
  await client.next('message.complete', ({ payload }) => payload.text === 'Blue it is.');
  t.same(await texts(client, session_id), [
    ['user', 'plain', 'paint it'],
    ['assistant', 'plain', 'thinking'],
    ['user', 'plain', 'in blue'],
    ['assistant', 'plain', 'Blue it is.'],
  ]);
});

t.test('an accepted text survives SIGKILL of the worker and is answered by the next one, once', async (t) => {
  const { provider, home, worker, client } = await startProviderStage(t, SETTINGS);
  provider.answer(runs('sleep 311'), { text: 'Blue it is.' });
  const session_id = await client.create();
  await client.submit(session_id, 'paint it');
  await client.next('tool.start');
  const key = { session_id, text: 'in blue', busy: 'steer' as const, idempotency_key: 'k' };
  const { message_id } = await client.link.call(promptSubmit, key);
  await worker.kill('SIGKILL');
  const second = await startWorker(home, 'agent');
  t.teardown(() => second[Symbol.asyncDispose]());
  using after = await connect(second);
  t.same(await after.link.call(promptSubmit, key).then((answer) => answer.message_id), message_id, 'the same prompt');
  await until('it is answered', async () => (await texts(after, session_id)).at(-1)![2] === 'Blue it is.');
  t.same(
    (await texts(after, session_id)).map(([role, kind, text]) => [role, kind, text]),
    [
      ['user', 'plain', 'paint it'],
      ['assistant', 'plain', ''],
      ['tool', 'plain', 'Cut off: the agent w'],
      ['assistant', 'plain', ''],
      ['user', 'plain', 'in blue'],
      ['assistant', 'plain', 'Blue it is.'],
    ],
  );
});

t.test('what a busy session does with a prompt is the configuration, or said with the prompt', async (t) => {
  const { provider, home, client } = shared();
  const session_id = await client.create();
  provider.answer(waitsFor(home, 'go2'), { text: 'one' }, { text: 'two' });
  await client.submit(session_id, 'first');
  await client.next('tool.start');
  const submit = (text: string, busy?: 'queue' | 'steer' | 'interrupt') =>
    client.link.call(promptSubmit, { session_id, text, ...(busy ? { busy } : {}) }).then(({ status }) => status);
  t.equal(await submit('waits'), 'queued', 'the default');
  t.equal(await submit('joins', 'steer'), 'steered');
  home.write('go2', '');
  await client.next('message.complete', ({ payload }) => payload.text === 'two');
  t.match(provider.requests[1]!.body.messages.at(-1), { role: 'user', content: 'joins' });
  t.match(provider.requests[2]!.body.messages.at(-1), { role: 'user', content: 'waits' });

  provider.answer(runs('sleep 312'), { text: 'newer' }, { text: 'older' });
  await client.submit(session_id, 'third');
  await client.next('tool.start', () => true, client.events.length);
  t.equal(await submit('older'), 'queued');
  t.equal(await submit('newer', 'interrupt'), 'queued');
  await client.next('message.complete', ({ payload }) => payload.text === 'older');
  t.same(
    client.events.filter(({ type }) => type === 'message.complete').map(({ payload }) => [payload.status, payload.text]),
    [
      ['complete', 'one'],
      ['complete', 'two'],
      ['interrupted', ''],
      ['complete', 'newer'],
      ['complete', 'older'],
    ],
    'the interrupted turn keeps its place',
  );
  t.same(
    provider.requests.slice(-2).map(({ body }) => body.messages.at(-1)!.content),
    ['newer', 'older'],
    'the prompt that interrupts goes before those that wait',
  );
});

t.test('SIGKILL while calls run side by side answers each of them once, and runs none again', async (t) => {
  const { provider, home, worker, client } = await startProviderStage(t, SETTINGS);
  home.write('a.txt', 'one');
  provider.answer({
    toolCalls: [
      { name: 'read_file', args: `{"path":"${home.root}/a.txt"}` },
      { name: 'terminal', args: '{"command":"echo ran >> ~/count; sleep 313"}' },
      { name: 'read_file', args: `{"path":"${home.root}/a.txt"}` },
    ],
  });
  const session_id = await client.create();
  await client.submit(session_id, 'go');
  await client.next('tool.start', ({ payload }) => payload.name === 'terminal');
  await until('it runs', async () => (await import('node:fs')).existsSync(`${home.root}/count`));
  await worker.kill('SIGKILL');
  const second = await startWorker(home, 'agent');
  t.teardown(() => second[Symbol.asyncDispose]());
  using after = await connect(second);
  const { messages } = await after.link.call(sessionHistory, { session_id });
  t.match(messages.slice(2), [
    { role: 'tool', tool_name: 'read_file', is_error: false },
    { role: 'tool', tool_name: 'terminal', content: /^Cut off/ },
    { role: 'tool', tool_name: 'read_file', content: /^Cut off/ },
    { role: 'assistant', finish_reason: 'interrupted' },
  ]);
  t.equal((await import('node:fs')).readFileSync(`${home.root}/count`, 'utf8'), 'ran\n');
});

t.test('the end of an interrupted turn is seen before its stubborn command is dead; the next turn waits for that', async (t) => {
  const { provider, client } = shared();
  provider.answer(runs('trap "" TERM; echo "pid $$"; sleep 314 & wait; sleep 314'), { text: 'next' });
  const session_id = await client.create();
  await client.submit(session_id, 'go');
  await client.next('tool.progress', ({ payload }) => String(payload.preview).includes('pid'));
  await client.link.call(promptSubmit, { session_id, text: 'again', busy: 'interrupt' });
  await client.next('message.complete', ({ payload }) => payload.text === 'next');
  const order = client.events.filter(({ type }) => ['message.complete', 'prompt.accepted'].includes(type)).map(({ type }) => type);
  t.same(order, ['prompt.accepted', 'message.complete', 'prompt.accepted', 'message.complete']);
});
