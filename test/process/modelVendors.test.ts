import t from 'tap';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderKind } from '../../agent/models/kinds.ts';
import type { ModelMessage } from '../../agent/ports.ts';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import { startGoogle } from '../fakes/googleServer.ts';
import type { FakeAnswer, FakeModels } from '../fakes/modelServer.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { chain, kindsOf, received, settingsFor, textOf } from '../harness/modelChain.ts';

const look = { name: 'look', description: 'looks', parameters: { type: 'object', properties: { where: { type: 'string' } } } };
const image = join(t.testdir({}), 'dot.png');
writeFileSync(
  image,
  Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==', 'base64'),
);

type Start = (...script: FakeAnswer[]) => Promise<FakeModels<unknown>>;
const vendors: { kind: ProviderKind; model: string; start: Start; path: RegExp; key: object; vision?: boolean }[] = [
  { kind: 'openai', model: 'gpt-5', start: startOpenAi, path: /^\/v1\/responses$/, key: { authorization: 'Bearer value-of-KEY' } },
  {
    kind: 'openai-chat',
    model: 'gpt-5',
    start: startOpenAi,
    path: /^\/v1\/chat\/completions$/,
    key: { authorization: 'Bearer value-of-KEY' },
  },
  {
    kind: 'anthropic',
    model: 'claude-sonnet-4-5',
    start: startAnthropic,
    path: /^\/v1\/messages$/,
    key: { 'x-api-key': 'value-of-KEY' },
  },
  {
    kind: 'google',
    model: 'gemini-2.5-flash',
    start: startGoogle,
    path: /gemini-2\.5-flash:streamGenerateContent/,
    key: { 'x-goog-api-key': 'value-of-KEY' },
  },
  {
    kind: 'openrouter',
    model: 'maker/model',
    start: startOpenAi,
    path: /chat\/completions$/,
    key: { authorization: 'Bearer value-of-KEY' },
    vision: false,
  },
  { kind: 'ollama', model: 'qwen3:8b', start: startOpenAi, path: /chat\/completions$/, key: {}, vision: false },
];

for (const { kind, model, start, path, key, vision = true } of vendors) {
  t.test(`${kind}: thoughts, text, a call in fragments and its usage arrive as our chunks`, async (t) => {
    // The chat API of OpenAI does not show thoughts.
    const reasoning = kind === 'openai-chat' ? undefined : 'let me think';
    const answer = {
      text: 'Looking around.',
      toolCalls: [{ name: 'look', args: '{"where":"here"}' }],
      usage: { input: 100, output: 30, cacheRead: 60 },
    };
    await using fake = await start({ ...answer, ...(reasoning ? { reasoning } : {}) });
    const { chunks, error } = await received(await chain(settingsFor(kind, fake.url, { model })), { tools: [look] });
    t.equal(error, undefined);
    t.match(
      chunks.filter(({ type }) => type !== 'toolStart'),
      [
        ...(reasoning ? [{ type: 'reasoning', text: 'let me think' }] : []),
        { type: 'text', text: 'Looking around.' },
        { type: 'toolCall', call: { id: String, name: 'look', args: { where: 'here' } } },
        { type: 'finish', reason: 'tool_calls', usage: { input: 100, output: 30, cacheRead: 60 } },
      ],
    );
    t.match(
      chunks.filter(({ type }) => type === 'toolStart'),
      [{ name: 'look' }],
    );
    t.match(fake.requests, [{ path, headers: key }]);
  });

  t.test(`${kind}: a stream that is cut, ends early or breaks off before its first word is told apart`, async (t) => {
    for (const how of [{ cut: true }, { endsEarly: true }]) {
      await using fake = await start({ text: 'half of it', ...how });
      const { chunks, error } = await received(await chain(settingsFor(kind, fake.url, { model })));
      t.equal(textOf(chunks), 'half of it', `${JSON.stringify(how)}: kept`);
      t.match(error, { code: 'PROVIDER_CUT' });
      t.equal(fake.requests.length, 1, 'and not asked again');
      await using empty = await start({ ...how }, { text: 'whole' });
      const second = await received(await chain(settingsFor(kind, empty.url, { model })));
      t.same(
        [textOf(second.chunks), second.error, empty.requests.length],
        ['whole', undefined, 2],
        `${JSON.stringify(how)}: nothing had come`,
      );
    }
  });

  t.test(`${kind}: 500 is asked again, 400 is not, and a prompt over the window has a code of its own`, async (t) => {
    await using fake = await start({ status: 500 }, { text: 'up' }, { status: 400 });
    const settings = settingsFor(kind, fake.url, { model });
    t.same(kindsOf((await received(await chain(settings))).chunks), ['retry', 'text', 'finish']);
    t.match(await received(await chain(settings)), { error: { code: 'PROVIDER_FAILED', message: /400/, facts: { status: 400 } } });
    t.equal(fake.requests.length, 3);
  });

  t.test(`${kind}: an image is sent to a model that sees, and named to one that does not`, async (t) => {
    await using fake = await start();
    const files = [{ kind: 'image' as const, name: 'dot.png', mediaType: 'image/png', path: image }];
    const opened = await chain(settingsFor(kind, fake.url, { model }));
    t.equal(opened.vision, vision);
    await received(opened, { messages: [{ role: 'user', content: 'what is it?', files }] });
    const sent = JSON.stringify(fake.requests[0]!.body);
    t.equal(sent.includes('iVBORw0KGgo'), vision);
    t.equal(sent.includes('cannot see'), !vision);
  });
}

const overflows: { name: string; start: Start; kind: ProviderKind; body: unknown; status?: number }[] = [
  {
    name: 'OpenAI',
    kind: 'openai',
    start: startOpenAi,
    body: {
      error: {
        message: 'Your input exceeds the context window of this model.',
        code: 'context_length_exceeded',
        type: 'invalid_request_error',
      },
    },
  },
  {
    name: 'a compatible server',
    kind: 'openai-compatible',
    start: startOpenAi,
    body: {
      error: { message: "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens", type: 'BadRequestError' },
    },
  },
  {
    name: 'llama.cpp',
    kind: 'llamacpp',
    start: startOpenAi,
    body: { error: { code: 400, message: 'the request exceeds the available context size', type: 'exceed_context_size_error' } },
  },
  {
    name: 'Anthropic',
    kind: 'anthropic',
    start: startAnthropic,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' } },
  },
  {
    name: 'Google',
    kind: 'google',
    start: startGoogle,
    body: {
      error: {
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
  },
  {
    name: 'LM Studio',
    kind: 'lmstudio',
    start: startOpenAi,
    body: { error: 'The number of tokens to keep from the initial prompt is greater than the context length' },
  },
];

t.test('each way of saying that a prompt does not fit is CONTEXT_OVERFLOW, and neither asked again nor passed on', async (t) => {
  for (const { name, start, kind, body, status = 400 } of overflows) {
    await using fake = await start({ status, body });
    await using other = await startOpenAi();
    const routes = [settingsFor(kind, fake.url), settingsFor('openai-compatible', other.url, { provider: 'other' })] as const;
    const { error } = await received(await chain(routes[0], { routes }));
    t.match(error, { code: 'CONTEXT_OVERFLOW', fix: /\/compress/ }, name);
    t.same([fake.requests.length, other.requests.length], [1, 0], name);
  }
  await using fake = await startOpenAi({
    status: 429,
    body: { error: { message: 'Request too large: too many tokens per minute' } },
    headers: { 'retry-after': '3600' },
  });
  t.match(await received(await chain(settingsFor('openai', fake.url))), { error: { code: 'PROVIDER_FAILED' } }, 'a rate is no window');
});

t.test('Anthropic keeps the beginning of a prompt: marks on the system prompt and the last three messages', async (t) => {
  await using fake = await startAnthropic();
  const messages: ModelMessage[] = ['one', 'two', 'three', 'four'].flatMap((content) => [
    { role: 'user', content },
    { role: 'assistant', content: `${content} it is`, toolCalls: [] },
  ]);
  await received(await chain(settingsFor('anthropic', fake.url, { model: 'claude-sonnet-4-5' })), { messages: messages.slice(0, -1) });
  const body = fake.requests[0]!.body;
  t.match(body.system, [{ text: 'be brief', cache_control: { type: 'ephemeral' } }]);
  const marked = body.messages.map(({ content }) => Array.isArray(content) && content.some((part) => part.cache_control !== undefined));
  t.same(marked, [false, false, false, false, true, true, true]);
});

t.test('OpenAI is told the name of the conversation, and nothing is stored there', async (t) => {
  await using fake = await startOpenAi();
  await received(await chain(settingsFor('openai', fake.url, { model: 'gpt-5' })), { cacheKey: 'ses_1', fast: true });
  t.match(fake.requests[0]!.body, { prompt_cache_key: 'ses_1', store: false, service_tier: 'priority' });
  await received(await chain(settingsFor('openai-chat', fake.url, { model: 'gpt-5' })), { cacheKey: 'ses_1' });
  t.match(fake.requests[1]!.body, { prompt_cache_key: 'ses_1', service_tier: undefined });
});

t.test('signed thoughts go back with the result of the call they led to', async (t) => {
  const toolCalls = [{ name: 'look', args: '{"where":"here"}' }];
  const after = (id: string): ModelMessage[] => [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', toolCalls: [{ id, name: 'look', args: { where: 'here' } }] },
    { role: 'tool', toolCallId: id, toolName: 'look', content: 'a tree', isError: false },
  ];
  await using claude = await startAnthropic({ reasoning: 'I should look', toolCalls });
  const thinking = await chain(settingsFor('anthropic', claude.url, { model: 'claude-sonnet-4-5' }));
  await received(thinking, { tools: [look], reasoningEffort: 'high' });
  await received(thinking, { tools: [look], reasoningEffort: 'high', messages: after('toolu_0') });
  const second = claude.requests[1]!.body;
  t.match(second.messages[1], {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I should look', signature: 'signed-by-the-maker' },
      { type: 'tool_use', input: { where: 'here' } },
    ],
  });
  await using gemini = await startGoogle({ toolCalls });
  const google = await chain(settingsFor('google', gemini.url, { model: 'gemini-3-pro-preview' }));
  const { chunks } = await received(google, { tools: [look] });
  const id = chunks.flatMap((chunk) => (chunk.type === 'toolCall' ? [chunk.call.id] : []))[0]!;
  await received(google, { tools: [look], messages: after(id) });
  t.match(gemini.requests[1]!.body.contents[1], {
    parts: [{ functionCall: { name: 'look' }, thoughtSignature: 'c2lnbmVk' }],
  });
});

t.test('a summary is told apart from what anybody said', async (t) => {
  await using fake = await startOpenAi();
  const messages: ModelMessage[] = [
    { role: 'summary', content: 'they met' },
    { role: 'user', content: 'go on' },
  ];
  await received(await chain(settingsFor('openai-compatible', fake.url)), { messages });
  const [, summary, user] = fake.requests[0]!.body.messages;
  t.match(summary, { role: 'user', content: /^\[Summary of the earlier conversation.*nobody said this.*\]\nthey met\n\[End/ });
  t.match(user, { role: 'user', content: 'go on' });
});

t.test('arguments arrive as they were written, and what the output limit cut off is marked', async (t) => {
  const whole = '{"where":"here"}';
  const table: { args: string; want: object; finish?: string }[] = [
    { args: "{where: 'here', }", want: { args: "{where: 'here', }" } },
    { args: '', want: { args: {} } },
    { args: '{"where":"rm -rf /tmp/ab', want: { args: '{"where":"rm -rf /tmp/ab' } },
    { args: 'look here', want: { args: 'look here' } },
    { args: whole, finish: 'length', want: { args: { where: 'here' } } },
    { args: "{where: 'here'}", finish: 'length', want: { args: "{where: 'here'}", cut: true } },
    { args: '', finish: 'length', want: { args: {}, cut: true } },
    { args: '{}', finish: 'max_tokens', want: { args: {}, cut: true } },
    { args: '{"where":"rm', finish: 'model_length', want: { args: '{"where":"rm', cut: true } },
    { args: '{"where":"rm', finish: 'a word of its own', want: { args: '{"where":"rm', cut: true } },
  ];
  for (const { args, want, finish } of table) {
    await using fake = await startOpenAi({ toolCalls: [{ name: 'look', args }], ...(finish ? { finish } : {}) });
    const { chunks } = await received(await chain(settingsFor('openai-compatible', fake.url)), { tools: [look] });
    t.same(
      chunks.flatMap((chunk) => (chunk.type === 'toolCall' ? [chunk.call] : [])),
      [{ id: 'call_0', name: 'look', ...want }],
      `${args} ${finish}`,
    );
  }
});
