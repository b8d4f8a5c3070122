import { join } from 'node:path';
import t from 'tap';
import { Connections } from '../../agent/models/connections.ts';
import type { Adapter, Prompt, ProviderOptions } from '../../agent/models/endpoint.ts';
import type { EndpointSettings } from '../../agent/models/kinds.ts';
import { promptOf, type AssistantContent } from '../../agent/models/prompt.ts';
import type { ModelMessage, PromptFile } from '../../agent/ports.ts';
import { limits } from '../../base/limits.ts';

t.test('a message is put into the words of a provider once; marks and signed thoughts of one call do not stay with it', async (t) => {
  const cacheMark = { box: { keep: true } };
  const messages: ModelMessage[] = Array.from({ length: 6 }, (_, n) => ({ role: 'user', content: `ask ${n}` }));
  const call = { id: 'c1', name: 'look', args: { at: 'it' } };
  messages.push({ role: 'assistant', content: '', toolCalls: [call] });
  const ask = (count: number, originals = new Map<string, AssistantContent>(), mark: ProviderOptions | undefined = cacheMark) =>
    promptOf({ system: '', messages: messages.slice(0, count), vision: false, cacheMark: mark, originals });
  const first = await ask(4);
  const second = await ask(6);
  const marked = (prompt: Prompt) => prompt.map(({ providerOptions }) => providerOptions !== undefined);
  t.strictSame(
    [marked(first), marked(second)],
    [
      [false, true, true, true],
      [false, false, false, true, true, true],
    ],
  );
  t.equal(second[0], first[0], 'the same object');
  const signed: AssistantContent = [
    { type: 'reasoning', text: 'hm', providerOptions: { box: { seal: 'x' } } },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'it' } },
  ];
  const answers = [await ask(7), await ask(7, new Map([['c1', signed]])), await ask(7)].map((prompt) => prompt.at(-1)!.content.length);
  t.strictSame(answers, [1, 2, 1]);
});

t.test('images of tool results follow all results of an answer; only the newest go along', async (t) => {
  const dir = t.testdir({ 'a.png': 'picture' });
  const image = (name: string): PromptFile => ({ kind: 'image', name, mediaType: 'image/png', path: join(dir, 'a.png') });
  const result = (id: string, files?: PromptFile[]): ModelMessage => ({
    role: 'tool',
    toolCallId: id,
    toolName: 'look',
    content: id,
    isError: false,
    files,
  });
  const calls = ['c1', 'c2'].map((id) => ({ id, name: 'look', args: {} }));
  const old = Array.from({ length: limits.models.toolImagesMax }, (_, n) => image(`old-${n}`));
  const messages: ModelMessage[] = [
    { role: 'assistant', content: '', toolCalls: calls },
    result('c1', [image('first')]),
    result('c2'),
    { role: 'assistant', content: '', toolCalls: calls },
    result('c1', old),
    result('c2'),
  ];
  const shape = async (count: number, vision = true) =>
    (await promptOf({ system: '', messages: messages.slice(0, count), vision, cacheMark: undefined, originals: new Map() })).map(
      ({ role, content }) => `${role} ${(content as { type: string }[]).map(({ type }) => type).join(' ')}`,
    );
  t.same(await shape(3), ['assistant tool-call tool-call', 'tool tool-result', 'tool tool-result', 'user text file']);
  const whole = await shape(6);
  t.equal(whole.length, 7, 'the first image is left out');
  t.equal(whole.at(-1), `user text${' file'.repeat(limits.models.toolImagesMax)}`);
  t.equal((await shape(3, false)).at(-1), 'user text', 'a model that sees none reads where it is');
});

t.test('a connection is kept for the same model, address, headers and key, and so many of them', async (t) => {
  let made = 0;
  const adapter = { languageModel: () => ({ made: ++made }), options: () => ({}) } as unknown as Adapter;
  const connections = new Connections();
  const settings = (over: Partial<EndpointSettings> = {}): EndpointSettings => ({
    provider: 'box',
    kind: 'openai-compatible',
    model: 'a',
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKey: undefined,
    keyEnv: undefined,
    firstByteMs: 1_000,
    keys: [],
    headers: {},
    detected: false,
    ...over,
  });
  const first = connections.open(adapter, settings(), 'k1');
  t.equal(connections.open(adapter, settings(), 'k1'), first);
  const others = [
    connections.open(adapter, settings(), 'k2'),
    connections.open(adapter, settings({ model: 'b' }), 'k1'),
    connections.open(adapter, settings({ baseUrl: 'http://127.0.0.1:2/v1' }), 'k1'),
    connections.open(adapter, settings({ headers: { 'x-team': 'red' } }), 'k1'),
  ];
  t.equal(new Set([first, ...others]).size, 5);
  for (let n = 0; n < limits.models.connectionsMax; n++) connections.open(adapter, settings({ model: `m${n}` }), 'k1');
  t.not(connections.open(adapter, settings(), 'k1'), first, 'the least recently used is let go');
});
