import t from 'tap';
import { grammarHelp, parsePrompt, type Step } from '../../agent/models/grammar.ts';
import { rehearsalModel } from '../../agent/models/rehearsal.ts';
import type { ModelChunk, ModelMessage } from '../../agent/ports.ts';

const table: { prompt: string; steps: Step[] }[] = [
  { prompt: 'run: uname -a', steps: [{ kind: 'call', name: 'terminal', args: { command: 'uname -a' } }] },
  { prompt: '  RUN:echo a\necho b ', steps: [{ kind: 'call', name: 'terminal', args: { command: 'echo a\necho b' } }] },
  { prompt: 'read: ~/notes.txt', steps: [{ kind: 'call', name: 'read_file', args: { path: '~/notes.txt' } }] },
  { prompt: 'remember: likes tea', steps: [{ kind: 'call', name: 'memory', args: { action: 'add', content: 'likes tea' } }] },
  {
    prompt: 'every 10s: say: 5 words',
    steps: [{ kind: 'call', name: 'cronjob', args: { action: 'create', schedule: 'every 10s', prompt: 'say: 5 words' } }],
  },
  {
    prompt: 'every 0 9 * * 1-5: run: date',
    steps: [{ kind: 'call', name: 'cronjob', args: { action: 'create', schedule: '0 9 * * 1-5', prompt: 'run: date' } }],
  },
  {
    prompt: 'every 2030-01-02T03:04:05Z: ping',
    steps: [{ kind: 'call', name: 'cronjob', args: { action: 'create', schedule: '2030-01-02T03:04:05Z', prompt: 'ping' } }],
  },
  {
    prompt: 'tool: mcp__everything__echo {"message":"hi"}',
    steps: [{ kind: 'call', name: 'mcp__everything__echo', args: { message: 'hi' } }],
  },
  { prompt: 'tool: list_all', steps: [{ kind: 'call', name: 'list_all', args: {} }] },
  { prompt: 'say: 3 words', steps: [{ kind: 'say', text: 'alpha bravo charlie' }] },
  { prompt: 'say: 1 word', steps: [{ kind: 'say', text: 'alpha' }] },
  { prompt: 'fail: 429', steps: [{ kind: 'fail', code: '429' }] },
];

t.test('each form of the grammar becomes its steps', async (t) => {
  for (const { prompt, steps } of table) t.same(parsePrompt(prompt), steps, prompt);
});

t.test('anything else is answered by repeating it and saying that the model is scripted', async (t) => {
  const [step] = parsePrompt('What is the weather?');
  t.match(step, { kind: 'say', text: /^You said: "What is the weather\?"\. .*scripted/ });
  t.match(parsePrompt('tool: x {bad')[0], { kind: 'say', text: /not JSON.*scripted/ });
});

t.test('the help text lists every form of the contract', async (t) => {
  const help = grammarHelp();
  for (const form of [
    'run: <command>',
    'read: <path>',
    'remember: <text>',
    'every <schedule>: <prompt>',
    'tool: <name> <json>',
    'say: <n> words',
    'think: <text>',
    'slow: <seconds>',
    'fail: <code>',
  ]) {
    t.ok(help.includes(form), form);
  }
});

async function streamed(messages: ModelMessage[], signal = new AbortController().signal): Promise<ModelChunk[]> {
  return Array.fromAsync(rehearsalModel().stream({ system: '', messages, tools: [], signal }));
}

const textOf = (chunks: ModelChunk[]): string => chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');

t.test('an answer streams in small chunks, twice the same', async (t) => {
  const prompt: ModelMessage[] = [{ role: 'user', content: 'say: 20 words' }];
  const [first, second] = [await streamed(prompt), await streamed(prompt)];
  t.equal(textOf(first).split(' ').length, 20);
  t.same(first, second);
  t.equal(first.filter(({ type }) => type === 'text').length, 10);
  t.match(first.at(-1), { type: 'finish', reason: 'stop', usage: { input: 3, output: 20 } });
});

t.test('white space of a text survives the chunks', async (t) => {
  t.equal(textOf(await streamed([{ role: 'user', content: 'help' }])), grammarHelp());
});

t.test('after a tool it says what the tool returned; several lines stand in a fence, longer than any in them', async (t) => {
  const said = async (content: string) =>
    textOf(
      await streamed([
        { role: 'user', content: 'run: x' },
        { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'terminal', args: {} }] },
        { role: 'tool', toolCallId: '1', toolName: 'terminal', content, isError: false },
      ]),
    );
  t.equal(await said('one line'), 'terminal returned:\none line');
  t.equal(await said('line one\n  line two'), 'terminal returned:\n```\nline one\n  line two\n```');
  t.equal(await said('a\n````\nb'), 'terminal returned:\n`````\na\n````\nb\n`````');
});

t.test('failures and interrupts come as those of a provider', async (t) => {
  await t.rejects(streamed([{ role: 'user', content: 'fail: PROVIDER_CUT' }]), { code: 'PROVIDER_CUT' });
  await t.rejects(streamed([{ role: 'user', content: 'fail: 500' }]), { code: 'PROVIDER_FAILED', message: /500/ });
  await t.rejects(streamed([{ role: 'user', content: 'slow: 600' }], AbortSignal.timeout(20)), { name: 'TimeoutError' });
});
