import t from 'tap';
import { sessionHistory, sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import { approvalPending, approvalRespond } from '../../ipc/contracts/rpcRequests.ts';
import { connect } from '../harness/agentClient.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';

const provider = await startOpenAi();
const home = testHome({
  '.env': 'BOX_KEY=sk-box-secret\n',
  'config.yaml': `model: { default: tiny-1, provider: box }\nproviders:\n  box: { kind: openai-compatible, base_url: "${provider.url}", key_env: BOX_KEY, headers: { X-Team: blue } }\n`,
});
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('a configured provider stands over the rehearsal model', async (t) => {
  using client = await connect(worker);
  t.match(await client.link.call(setupStatus, {}), {
    ready: true,
    provider_configured: true,
    inference_provider: 'box',
    model: 'tiny-1',
    scripted: false,
  });
});

t.test('an answer streams with reasoning and usage; key and headers go to the provider and nowhere else', async (t) => {
  using client = await connect(worker);
  provider.answer({ reasoning: 'they greet me', text: 'Hello, how are you?' });
  const { complete, events } = await client.turn(await client.create(), 'hi there');
  t.match(complete, { status: 'complete', text: 'Hello, how are you?', usage: { input: 11, output: 7 } });
  const pieces = (type: string) => events.filter((params) => params.type === type).map(({ payload }) => payload.text);
  t.equal(pieces('reasoning.delta').join(''), 'they greet me');
  t.equal(pieces('message.delta').join(''), 'Hello, how are you?');
  const request = provider.requests.at(-1)!;
  t.match(request, {
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer sk-box-secret', 'x-team': 'blue' },
    body: { model: 'tiny-1', stream: true },
  });
  t.match(request.body.messages, [
    { role: 'system', content: /Working directory/ },
    { role: 'user', content: 'hi there' },
  ]);
  t.notMatch(JSON.stringify(client.events), /sk-box-secret/);
});

t.test('tool calls in fragments are run, their results go back, and the tools keep their order', async (t) => {
  using client = await connect(worker);
  provider.requests.length = 0;
  provider.answer(
    { text: 'Looking.', toolCalls: [{ name: 'terminal', args: '{"command":"echo from the tool"}' }] },
    { text: 'It says: from the tool' },
    { text: 'again' },
  );
  const sessionId = await client.create();
  const { complete, events } = await client.turn(sessionId, 'look');
  t.match(complete, { status: 'complete', text: 'It says: from the tool', usage: { input: 22, output: 14 } });
  t.match(events.find(({ type }) => type === 'message.interim')?.payload, { text: 'Looking.' });
  t.match(events.find(({ type }) => type === 'tool.complete')?.payload, { result_text: 'from the tool' });
  t.match(provider.requests[1]!.body.messages.slice(2), [
    { role: 'assistant', content: 'Looking.', tool_calls: [{ function: { name: 'terminal' } }] },
    { role: 'tool', content: 'from the tool' },
  ]);
  await client.turn(sessionId, 'and once more');
  const names = provider.requests.map(({ body }) => body.tools!.map((tool) => tool.function.name).join());
  t.equal(new Set(names).size, 1, 'pinned for the session');
  t.equal(provider.requests[2]!.body.messages[0]!.content, provider.requests[0]!.body.messages[0]!.content, 'and so are the instructions');
});

t.test('while a tool runs, the text said before it stands in the transcript and not in the running answer', async (t) => {
  using client = await connect(worker);
  provider.answer({ text: 'Looking.', toolCalls: [{ name: 'terminal', args: '{"command":"echo up; sleep 308"}' }] });
  const session_id = await client.create();
  await client.submit(session_id, 'look');
  await client.next('tool.progress');
  const { messages, inflight } = await client.link.call(sessionResume, { session_id });
  t.match(messages, [{ role: 'user' }, { role: 'assistant', content: 'Looking.', finish_reason: 'tool_calls' }]);
  t.match(inflight, { text: '', message_id: messages[1]!.id, tools: [{ name: 'terminal', args: { command: 'echo up; sleep 308' } }] });
  await client.link.call(sessionInterrupt, { session_id });
  await client.next('message.complete');
});

t.test('wrong arguments and unknown tools come back to the model, which can correct them', async (t) => {
  using client = await connect(worker);
  provider.requests.length = 0;
  provider.answer(
    {
      toolCalls: [
        { name: 'terminal', args: '{"comm' },
        { name: 'read_file', args: '{"path":7}' },
        { name: 'fly', args: '{}' },
      ],
    },
    { text: 'sorry' },
  );
  const { complete } = await client.turn(await client.create(), 'try');
  t.match(complete, { status: 'complete', text: 'sorry' });
  const results = provider.requests[1]!.body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  t.match(results, [/Not run: the arguments for terminal/, /Wrong arguments for read_file: path/, /TOOL_UNKNOWN.*"fly"/]);
});

t.test('a 429 is waited out as long as the provider asks, and said while it lasts', async (t) => {
  using client = await connect(worker);
  provider.answer({ status: 429, headers: { 'retry-after': '0.3' } }, { text: 'now' });
  const { complete, events } = await client.turn(await client.create(), 'hi');
  t.match(complete, { status: 'complete', text: 'now' });
  t.ok(complete.duration_ms >= 300, `${complete.duration_ms} ms`);
  t.match(events.find(({ type }) => type === 'status.update')?.payload, { kind: 'retry', text: /box: it answered 429.*300 ms/ });
});

t.test('what the provider refuses for good is not asked again, and the message says what to do', async (t) => {
  using client = await connect(worker);
  const table = [
    {
      answer: { status: 400, body: { error: { message: 'maximum context length', code: 'context_length_exceeded' } } },
      want: { code: 'CONTEXT_EXHAUSTED' },
    },
    { answer: { status: 401 }, want: { code: 'PROVIDER_FAILED', fix: 'check the key in BOX_KEY' } },
    { answer: { status: 404 }, want: { code: 'PROVIDER_FAILED', fix: /model\.default and base_url/ } },
    { answer: { status: 429, headers: { 'retry-after': '3600' } }, want: { code: 'PROVIDER_FAILED', message: /429/ } },
  ];
  for (const { answer, want } of table) {
    provider.requests.length = 0;
    provider.answer(answer);
    t.match((await client.turn(await client.create(), 'hi')).complete, { status: 'error', error: want }, String(answer.status));
    t.equal(provider.requests.length, 1, `${answer.status}: once`);
  }
});

t.test('trouble of the provider is tried again three times, then reported', async (t) => {
  using client = await connect(worker);
  provider.requests.length = 0;
  provider.answer(
    { status: 500 },
    { status: 503, headers: { 'retry-after-ms': '5' } },
    { status: 502, headers: { 'retry-after-ms': '5' } },
    { text: 'up again' },
  );
  t.match((await client.turn(await client.create(), 'hi')).complete, { status: 'complete', text: 'up again' });
  const down = { status: 500, headers: { 'retry-after-ms': '5' } };
  provider.answer(down, down, down, down);
  t.match((await client.turn(await client.create(), 'hi')).complete, {
    status: 'error',
    error: { code: 'PROVIDER_FAILED', message: /500/ },
  });
  t.equal(provider.requests.length, 8);
});

t.test('a stream cut in the middle keeps what had arrived and is not asked again by itself', async (t) => {
  using client = await connect(worker);
  for (const how of [{ cut: true }, { endsEarly: true }]) {
    provider.requests.length = 0;
    provider.answer({ text: 'half of the answer', ...how });
    const sessionId = await client.create();
    const { complete } = await client.turn(sessionId, 'hi');
    t.match(complete, { status: 'error', text: 'half of the answer', error: { code: 'PROVIDER_CUT', fix: /go on/ } }, JSON.stringify(how));
    t.equal(provider.requests.length, 1);
    t.match((await client.link.call(sessionHistory, { session_id: sessionId })).messages.at(-1), {
      role: 'assistant',
      content: 'half of the answer',
      finish_reason: 'error',
    });
    provider.answer({ text: 'the rest' });
    await client.turn(sessionId, 'go on');
    t.match(provider.requests.at(-1)!.body.messages.slice(2), [
      { role: 'assistant', content: 'half of the answer' },
      { role: 'user', content: 'go on' },
    ]);
  }
});

t.test('an interrupt closes the request to a provider that has gone silent', async (t) => {
  using client = await connect(worker);
  provider.requests.length = 0;
  provider.answer({ text: 'thinking', silent: true });
  const sessionId = await client.create();
  await client.submit(sessionId, 'hi');
  await client.next('message.delta');
  await client.link.call(sessionInterrupt, { session_id: sessionId });
  t.match((await client.next('message.complete')).payload, { status: 'interrupted', text: /^think/ });
  await until('the request is closed', () => provider.requests[0]!.aborted);
});

t.test('a provider that cannot be reached is named with its address; the worker stays well', async (t) => {
  using client = await connect(worker);
  home.write('config.yaml', `model: { default: tiny-1 }\nproviders: { gone: { base_url: "http://127.0.0.1:${await freePort()}/v1" } }\n`);
  t.teardown(() => home.write('config.yaml', `model: { default: tiny-1 }\nproviders: { box: { base_url: "${provider.url}" } }\n`));
  const sessionId = await client.create();
  await client.submit(sessionId, 'hi');
  await client.next('status.update', ({ payload }) => /ECONNREFUSED/.test(String(payload.text)));
  await client.link.call(sessionInterrupt, { session_id: sessionId });
  t.match((await client.next('message.complete')).payload, { status: 'interrupted' }, 'a wait between two tries is interrupted too');
});

t.test('a real model has the terminal, and its dangerous commands are asked about', async (t) => {
  using client = await connect(worker);
  provider.requests.length = 0;
  const sessionId = await client.create();
  provider.answer({ toolCalls: [{ name: 'terminal', args: '{"command":"rm -r nothing-here"}' }] }, { text: 'I may not' });
  await client.submit(sessionId, 'clean up');
  const [open] = await until('it asks', async () => {
    const { requests } = await client.link.call(approvalPending, { session_id: sessionId });
    return requests.length ? requests : undefined;
  });
  t.match(open, { method: 'approval', params: { tool_name: 'terminal', command: 'rm -r nothing-here' } });
  await client.link.call(approvalRespond, { session_id: sessionId, choice: 'deny' });
  await client.next('message.complete', (params) => params.session_id === sessionId);
  t.ok(provider.requests[0]!.body.tools!.some((tool) => tool.function.name === 'terminal'));
  t.match(provider.requests[1]!.body.messages.at(-1), { role: 'tool', content: /^DENIED: the user denied this/ });
});
