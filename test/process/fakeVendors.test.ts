import t from 'tap';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import { startGoogle } from '../fakes/googleServer.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';

const tools = [{ name: 'look', args: '{"where":"here and there"}' }];
const usage = { input: 100, output: 20, reasoning: 5, cacheRead: 40 };

t.test('the fake of the chat API is what the openai package understands', async (t) => {
  await using fake = await startOpenAi({ reasoning: 'hm', text: 'Hello there', toolCalls: tools, usage }, { status: 429 });
  const client = new OpenAI({ apiKey: 'k', baseURL: fake.url, maxRetries: 0 });
  const ask = () =>
    client.chat.completions.stream({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'hi' }],
      stream_options: { include_usage: true },
    });
  const answer = await ask().finalChatCompletion();
  t.match(answer.choices[0], {
    finish_reason: 'tool_calls',
    message: {
      content: 'Hello there',
      tool_calls: [{ id: 'call_0', function: { name: 'look', arguments: '{"where":"here and there"}' } }],
    },
  });
  t.match(answer.usage, { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } });
  t.match(
    await ask()
      .finalChatCompletion()
      .catch((thrown: unknown) => thrown),
    { status: 429 },
  );
  t.same(
    (await client.models.list()).data.map(({ id }) => id),
    ['gpt-5', 'gpt-4o', 'text-embedding-3-small'],
  );
});

t.test('the fake of the responses API is what the openai package understands', async (t) => {
  await using fake = await startOpenAi({ reasoning: 'hm', text: 'Hello there', toolCalls: tools, usage });
  const client = new OpenAI({ apiKey: 'k', baseURL: fake.url, maxRetries: 0 });
  const seen: Record<string, string> = {};
  for await (const event of await client.responses.create({ model: 'gpt-5', input: 'hi', stream: true })) {
    if ('delta' in event && typeof event.delta === 'string') seen[event.type] = (seen[event.type] ?? '') + event.delta;
    if (event.type === 'response.completed')
      t.match(event.response.usage, { input_tokens: 100, output_tokens_details: { reasoning_tokens: 5 } });
  }
  t.same(seen, {
    'response.reasoning_summary_text.delta': 'hm',
    'response.output_text.delta': 'Hello there',
    'response.function_call_arguments.delta': '{"where":"here and there"}',
  });
});

t.test('the fake of Anthropic is what its own package understands', async (t) => {
  await using fake = await startAnthropic(
    { reasoning: 'let me see', text: 'Hello there', toolCalls: tools, usage: { ...usage, cacheWrite: 10 } },
    { status: 529 },
  );
  const client = new Anthropic({ apiKey: 'k', baseURL: fake.url.replace(/\/v1$/, ''), maxRetries: 0 });
  const ask = () => client.messages.stream({ model: 'claude-sonnet-4-5', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] });
  const answer = await ask().finalMessage();
  t.match(answer, {
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'let me see', signature: 'signed-by-the-maker' },
      { type: 'text', text: 'Hello there' },
      { type: 'tool_use', id: 'toolu_0', name: 'look', input: { where: 'here and there' } },
    ],
    usage: { input_tokens: 50, cache_read_input_tokens: 40, cache_creation_input_tokens: 10, output_tokens: 20 },
  });
  t.match(
    await ask()
      .finalMessage()
      .catch((thrown: unknown) => thrown),
    { status: 529 },
  );
  const { data } = await client.models.list();
  t.same(
    data.map(({ id }) => id),
    ['claude-sonnet-4-5', 'claude-next'],
  );
});

t.test('the fake of Google has the shape of its published stream', async (t) => {
  await using fake = await startGoogle({ reasoning: 'hm', text: 'Hello', toolCalls: tools, usage });
  const url = `${fake.url}/models/gemini-2.5-flash:streamGenerateContent?alt=sse`;
  const response = await fetch(url, { method: 'POST', body: '{"contents":[]}' });
  const frames = (await response.text())
    .split('\n\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line.replace(/^data: /, '')) as object);
  t.match(frames, [
    { candidates: [{ content: { role: 'model', parts: [{ text: 'hm', thought: true }] } }] },
    { candidates: [{ content: { parts: [{ text: 'Hello' }] } }] },
    { candidates: [{ content: { parts: [{ functionCall: { name: 'look', args: { where: 'here and there' } } }] } }] },
    {
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, thoughtsTokenCount: 5, cachedContentTokenCount: 40 },
    },
  ]);
});
