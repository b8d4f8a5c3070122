import t from 'tap';
import { promptSubmit, sessionDelete, sessionHistory, sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { sessionCompress, sessionUsage } from '../../ipc/contracts/rpcSessions.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { type FakeOpenAi } from '../fakes/openaiServer.ts';
import { anew, startProviderStage, type ProviderStage } from '../harness/providerStage.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const common = await startProviderStage(t);

/** The worker that no test kills, as if it were new. */
const shared = (): ProviderStage => anew(common);

const filler = 'lorem ipsum '.repeat(50);

/** A session with so many exchanges: `ask 1`, `answer 1`, … */
async function talked({ provider, client }: ProviderStage, count: number): Promise<string> {
  const session_id = await client.create();
  for (let n = 1; n <= count; n++) {
    provider.answer({ text: `answer ${n} ${filler}` });
    await client.turn(session_id, `ask ${n} ${filler}`);
  }
  return session_id;
}

const rows = async (client: AgentClient, session_id: string) =>
  (await client.link.call(sessionHistory, { session_id })).messages.map(({ kind, content, in_context }) => [
    kind,
    content.slice(0, 8).trim(),
    in_context,
  ]);
const phases = (client: AgentClient) =>
  client.events
    .filter(({ type, payload }) => type === 'status.update' && payload.kind === 'compacting')
    .map(({ payload }) => payload.phase);
const sent = (provider: FakeOpenAi) =>
  provider.requests
    .at(-1)!
    .body.messages.slice(1)
    .map(({ content }) => String(content));

t.test('a summary takes the place of what came before; the model reads it instead, everybody else reads both', async (t) => {
  const parts = shared();
  const { provider, client } = parts;
  const session_id = await talked(parts, 4);
  provider.answer({ text: '## Done\nasked twice' }, { text: 'five' });
  const report = await client.link.call(sessionCompress, { session_id, keep: 2, focus: 'colours' });
  t.match(report, { status: 'compressed', removed: 4, note: /4 messages/ });
  t.ok(report.after_tokens < report.before_tokens);
  t.match(provider.requests.at(-1)!.body.messages, [
    { role: 'system' },
    { role: 'user', content: /USER: ask 1.*ASSISTANT: answer 2.*colours/s },
  ]);
  t.notMatch(sent(provider)[0], /ask 3/);
  t.same(phases(client), ['start', 'end']);
  t.ok(client.events.some(({ type, payload }) => type === 'session.changed' && payload.reason === 'compressed'));
  const db = openReadOnly(parts.home.stateDb);
  t.same(db.prepare("SELECT key FROM state_meta WHERE key LIKE 'compacting%'").all(), [], 'nothing is left to be settled');
  db.close();
  const kept = ['ask 3 lo', 'answer 3', 'ask 4 lo', 'answer 4'];
  t.same(await rows(client, session_id), [
    ...['ask 1 lo', 'answer 1', 'ask 2 lo', 'answer 2'].map((text) => ['plain', text, false]),
    ['summary', '## Done', true],
    ...kept.map((text) => ['plain', text, true]),
  ]);
  await client.turn(session_id, 'and now?');
  t.match(sent(provider), [/^\[Summary of the earlier.*asked twice/s, /^ask 3/, /^answer 3/, /^ask 4/, /^answer 4/, 'and now?']);

  provider.answer({ text: '## Done\nasked four times' });
  t.match(await client.link.call(sessionCompress, { session_id, keep: 1 }), { status: 'compressed', removed: 5 });
  t.match(sent(provider)[0], /EARLIER RECORD:\n## Done\nasked twice.*ask 3/s, 'the earlier summary goes into the new one');
  t.match(await client.link.call(sessionUsage, { session_id }), {
    compressions: 2,
    turns: 5,
    usage: { input: 77, output: 49, model_calls: 7, cost_usd: null },
    by_model: [{ provider: 'box', model: 'tiny-1', usage: { model_calls: 7 } }],
  });
  const older = await client.link.call(sessionHistory, {
    session_id,
    before_id: (await client.link.call(sessionHistory, { session_id })).messages[4]!.id,
  });
  t.equal(older.messages.length, 4, 'paging from the summary misses nothing');
});

t.test('what would not become smaller, and what has nothing to give, stays as it was', async (t) => {
  const parts = shared();
  const { provider, client } = parts;
  const session_id = await talked(parts, 2);
  const before = await rows(client, session_id);
  t.match(await client.link.call(sessionCompress, { session_id, keep: 2 }), { status: 'aborted', note: /nothing_to_compress/, removed: 0 });
  t.match(await client.link.call(sessionCompress, { session_id }), { status: 'aborted', note: /nothing_to_compress/ });
  provider.answer({ text: filler.repeat(8) });
  t.match(await client.link.call(sessionCompress, { session_id, keep: 1 }), { status: 'aborted', note: /refused_would_grow/ });
  provider.answer({ status: 400 });
  await t.rejects(client.link.call(sessionCompress, { session_id, keep: 1 }), { code: 'PROVIDER_FAILED' });
  t.same(await rows(client, session_id), before);
  t.same(phases(client), ['start', 'end', 'start', 'end', 'start', 'end', 'start', 'end'], 'each start has its end');
});

t.test('prompts that arrive while a conversation is compressed wait, an interrupt does not stop it', async (t) => {
  const parts = shared();
  const { provider, client } = parts;
  const session_id = await talked(parts, 3);
  const gate = Promise.withResolvers<void>();
  provider.answer({ text: '## Done\nasked', until: gate.promise }, { text: 'later' });
  const compressing = client.link.call(sessionCompress, { session_id, keep: 1 });
  await until('the summary is asked for', () => /ask 1/.test(sent(provider)[0]!) && sent(provider).length === 1);
  t.match(await client.link.call(promptSubmit, { session_id, text: 'hello?', busy: 'interrupt' }), { status: 'queued' });
  t.match(await client.link.call(sessionInterrupt, { session_id }), { status: 'not_interrupted' });
  t.match(await client.link.call(sessionResume, { session_id }), { status: 'working', queued: [{ text: 'hello?' }] });
  await t.rejects(client.link.call(sessionCompress, { session_id }), { code: 'BUSY' });
  await t.rejects(client.link.call(sessionDelete, { session_id }), { code: 'BUSY' });
  gate.resolve();
  t.match(await compressing, { status: 'compressed' });
  await client.next('message.complete', ({ payload }) => payload.text === 'later');
  t.match(sent(provider), [/^\[Summary/, /^ask 3/, /^answer 3/, 'hello?']);
});

t.test('SIGKILL while a conversation is compressed leaves it as it was; the phase has its end, what waited is answered', async (t) => {
  const parts = await startProviderStage(t);
  const { provider, home, worker, client } = parts;
  const session_id = await talked(parts, 3);
  const before = await rows(client, session_id);
  provider.answer({ text: '## Done', silent: true }, { text: 'later' });
  client.link.call(sessionCompress, { session_id, keep: 1 }).catch(() => {});
  await client.next('status.update');
  await client.link.call(promptSubmit, { session_id, text: 'hello?' });
  await until('the summary is asked for', () => sent(provider).length === 1);
  await worker.kill('SIGKILL');
  const second = await startWorker(home, 'agent');
  t.teardown(() => second[Symbol.asyncDispose]());
  using after = await connect(second);
  const all = await until('it is answered', async () => {
    const now = await rows(after, session_id);
    return now.length === 8 && now[7]![1] === 'later' && now;
  });
  t.same(all.slice(0, 6), before);
  const { link } = after;
  const replay = await link.call((await import('../../ipc/contracts/rpc.ts')).eventsSince, {
    session_id,
    last_seen: client.events.findLast(({ seq }) => seq !== null)!.seq!,
  });
  t.match(
    replay.events.filter(({ type }) => type === 'status.update').map(({ payload }) => payload),
    [{ kind: 'compacting', phase: 'end', text: /nothing was changed/ }],
  );
});

t.test('a turn over the threshold compresses by itself and keeps the request it works on', async (t) => {
  const parts = await startProviderStage(t, 'compression: { threshold: 0.1, target_ratio: 0.05, protect_last: 2, protect_first: 1 }\n');
  const { provider, client } = parts;
  const session_id = await client.create();
  const long = 'lorem ipsum '.repeat(1_200);
  for (let n = 1; n <= 3; n++) {
    provider.answer({ text: `answer ${n}` });
    await client.turn(session_id, `ask ${n} ${long}`);
  }
  t.same(phases(client), [], 'not yet');
  provider.answer({ text: '## Done\nthree asked' }, { text: 'four' });
  const { complete } = await client.turn(session_id, `ask 4 ${long}`);
  t.match(complete, { status: 'complete', text: 'four' });
  t.same(phases(client), ['start', 'end']);
  t.match(sent(provider).at(-1), /^ask 4/);
  t.match(
    sent(provider).find((text) => text.startsWith('[Summary')),
    /three asked/,
  );
  t.notOk(sent(provider).some((text) => text.startsWith('ask 2')));
});

t.test('a provider that finds the prompt too long in the middle of a turn: the turn makes room, asks again and is completed', async (t) => {
  const parts = await startProviderStage(t, 'compression: { threshold: 0.9, target_ratio: 0.05, protect_last: 2, protect_first: 1 }\n');
  const { provider, client } = parts;
  const session_id = await client.create();
  const long = 'lorem ipsum '.repeat(1_200);
  for (let n = 1; n <= 3; n++) {
    provider.answer({ text: `answer ${n}` });
    await client.turn(session_id, `ask ${n} ${long}`);
  }
  const asked = provider.requests.length;
  const message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 11034 tokens.";
  provider.answer(
    { text: 'A look at the plan.', toolCalls: [{ name: 'todo', args: '{}' }] },
    { status: 400, body: { error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } } },
    { text: '## Done\nthree asked' },
    { text: 'after all' },
  );
  const { complete, events } = await client.turn(session_id, 'ask 4');
  t.match(complete, { status: 'complete', text: 'after all', error: null });
  t.equal(provider.requests.length - asked, 4, 'call, refusal, summary, answer: nothing is asked twice');
  t.same(
    events
      .filter(({ type, payload }) => type === 'tool.complete' || payload.kind === 'compacting')
      .map(({ type, payload }) => payload.phase ?? type),
    ['tool.complete', 'start', 'end'],
  );
  const [refused, , last] = provider.requests.slice(-3).map(({ body }) => body.messages);
  t.ok(JSON.stringify(last).length < JSON.stringify(refused).length);
  t.match(
    last!.slice(-3).map(({ role, content }) => [role, String(content)]),
    [
      ['user', 'ask 4'],
      ['assistant', 'A look at the plan.'],
      ['tool', /./],
    ],
    'the request that is worked on, and what its tool said, are word for word',
  );
  t.ok(last!.some(({ content }) => /^\[Summary.*three asked/s.test(String(content))));
  t.notOk(last!.some(({ content }) => String(content).startsWith('ask 2')));
  provider.answer({ text: 'five' });
  t.match((await client.turn(session_id, 'ask 5')).complete, { status: 'complete', text: 'five' }, 'the conversation goes on');
});
