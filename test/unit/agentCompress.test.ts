import t from 'tap';
import { compressRows, type CompressionRules } from '../../agent/compress/compress.ts';
import { planByExchanges, planBySize, type ContextRow } from '../../agent/compress/plan.ts';
import { estimateTokens } from '../../agent/compress/tokens.ts';
import type { Model, ModelMessage, ModelRequest } from '../../agent/ports.ts';
import { rehearsalModel } from '../../agent/models/rehearsal.ts';
import { AgentError } from '../../base/errors.ts';

/**
 * Rows from a line: `u` a request, `s` a text that joined a turn, `a` an answer, `c` an answer with two calls,
 * `t` a result, `S` a summary. Row n has the id n; each is about `tokens` long.
 */
function rows(line: string, tokens = 100): ContextRow[] {
  const content = (letter: string, id: number) => `${letter}${id} ${'x'.repeat(tokens * 4 - 20)}`;
  return [...line.replaceAll(' ', '')].map((letter, index) => {
    const id = index + 1;
    const message: ModelMessage =
      letter === 't'
        ? { role: 'tool', toolCallId: `call${id}`, toolName: 'echo', content: content(letter, id), isError: false }
        : letter === 'S'
          ? { role: 'summary', content: content(letter, id) }
          : letter === 'a' || letter === 'c'
            ? { role: 'assistant', content: content(letter, id), toolCalls: letter === 'c' ? [{ id: 'x', name: 'echo', args: {} }] : [] }
            : { role: 'user', content: content(letter, id) };
    return { id, message, asks: letter === 'u' };
  });
}

const idsOf = (list: readonly ContextRow[] | undefined) => list?.map((row) => row.id).join(' ');
const roomy = { targetTokens: 400, tailMaxTokens: 10_000, protectFirst: 0, protectLast: 2 };

t.test('what a summary replaces, by size', async (t) => {
  const table: { name: string; line: string; rules?: Partial<typeof roomy>; kept: string | undefined }[] = [
    { name: 'the end stays, as much as the target holds', line: 'ua ua ua ua', kept: '5 6 7 8' },
    { name: 'a protected beginning stays', line: 'ua ua ua ua', rules: { protectFirst: 1 }, kept: '1 5 6 7 8' },
    { name: 'a protected end stays beyond the target', line: 'ua ua ua ua', rules: { protectLast: 6 }, kept: '3 4 5 6 7 8' },
    {
      name: 'an end too large for the threshold gives way',
      line: 'ua ua ua ua',
      rules: { protectLast: 8, tailMaxTokens: 150 },
      kept: '7 8',
    },
    { name: 'a beginning larger than half the target gives way', line: 'ua ua ua ua', rules: { protectFirst: 3 }, kept: '5 6 7 8' },
    { name: 'calls and their results stay together', line: 'u ctt ctt a', rules: { targetTokens: 250 }, kept: '1 5 6 7 8' },
    {
      name: 'the latest request stays, wherever it stands',
      line: 'ua u ctt ctt ctt ctt',
      rules: { targetTokens: 350 },
      kept: '3 13 14 15',
    },
    { name: 'a text that joined a turn is no request', line: 'ua u ctt s ctt ctt ctt', rules: { targetTokens: 350 }, kept: '3 14 15 16' },
    { name: 'an earlier summary goes into the new one', line: 'u S ua ua ua', rules: { protectFirst: 3 }, kept: '1 5 6 7 8' },
    { name: 'nothing but an earlier summary: nothing to gain', line: 'S ua', kept: undefined },
    { name: 'all of it fits', line: 'ua ua', kept: undefined },
    { name: 'an empty conversation', line: '', kept: undefined },
  ];
  for (const { name, line, rules, kept } of table) {
    const all = rows(line);
    const plan = planBySize(all, { ...roomy, ...rules });
    t.equal(idsOf(plan?.kept), kept, name);
    if (plan)
      t.same(
        [...plan.kept, ...plan.replaced].map((row) => row.id).toSorted((a, b) => a - b),
        all.map((row) => row.id),
        name,
      );
  }
});

t.test('the last exchanges stay word for word', async (t) => {
  const table: { line: string; keep: number; kept: string | undefined }[] = [
    { line: 'ua uctta ua', keep: 2, kept: '3 4 5 6 7 8 9' },
    { line: 'ua uctta ua', keep: 1, kept: '8 9' },
    { line: 'ua uctta ua', keep: 0, kept: '' },
    { line: 'ua uctsa ua', keep: 2, kept: '3 4 5 6 7 8 9' },
    { line: 'S ua ua ua', keep: 2, kept: '4 5 6 7' },
    { line: 'ua ua', keep: 2, kept: undefined },
    { line: 'ua', keep: 3, kept: undefined },
  ];
  for (const { line, keep, kept } of table) t.equal(idsOf(planByExchanges(rows(line), keep)?.kept), kept, `${line}, ${keep}`);
});

/** Answers what `say` makes of the request. */
function writer(say: (request: ModelRequest) => string, contextWindow: number | null = null): { model: Model; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const model: Model = {
    provider: 'fake',
    id: 'writer',
    scripted: false,
    contextWindow,
    vision: false,
    effortFor: () => undefined,
    async *stream(request) {
      requests.push(request);
      yield { type: 'text', text: say(request) };
      yield { type: 'finish', reason: 'stop', usage: { input: 100, output: 10 } };
    },
  };
  return { model, requests };
}

const rules: CompressionRules = { contextWindow: 2_000, protectFirst: 0, protectLast: 2 };
const run = (line: string, { model }: { model: Model }, more: Partial<CompressionRules> = {}, tokens?: number) =>
  compressRows(rows(line, tokens), { ...rules, ...more }, { model, signal: new AbortController().signal });

t.test('the summary is written from the replaced messages alone, as material, without tools', async (t) => {
  const scribe = writer(() => 'what mattered');
  const outcome = await run('ua ua ua ua ua', scribe, { focus: 'the blue parts' });
  t.match(outcome, { status: 'compressed', summary: 'what mattered', usage: { input: 100 }, modelCalls: 1 });
  if (outcome.status === 'compressed') {
    t.ok(outcome.afterTokens < outcome.beforeTokens / 2);
    t.equal(outcome.beforeTokens, estimateTokens(rows('ua ua ua ua ua').map((row) => row.message)));
  }
  const [{ messages, tools, system }] = scribe.requests as [ModelRequest];
  t.same(tools, []);
  t.match(system, /do not answer them/);
  t.equal(messages.length, 1);
  t.match(messages[0]!.content, /USER: u1 .*ASSISTANT: a2 .*keeps above all: the blue parts/s);
  t.notMatch(messages[0]!.content, /u9|a10/, 'nothing of what stays');
});

t.test('an earlier summary is carried on, calls are named, files are named and not included', async (t) => {
  const scribe = writer(() => 'all of it');
  const list = rows('S u ctt ua ua ua');
  const picture = { kind: 'image' as const, name: 'cat.png', mediaType: 'image/png', path: '/secret/place/cat.png' };
  list[1] = { id: 2, message: { role: 'user', content: 'look', files: [picture] }, asks: true };
  await compressRows(list, rules, { model: scribe.model, signal: new AbortController().signal });
  const material = scribe.requests[0]!.messages[0]!.content;
  t.match(material, /EARLIER RECORD:\nS1/);
  t.match(material, /USER: look\n\[image: cat\.png\]/);
  t.notMatch(material, /secret/);
  t.match(material, /\[calls echo \{\}\]/);
});

t.test('a prompt that the provider refused is cut down to a share of itself, whatever the window is believed to be', async (t) => {
  const believed: Partial<CompressionRules> = { contextWindow: 1_000_000, protectFirst: 3, protectLast: 20 };
  const line = 'ua '.repeat(30);
  const scribe = writer(() => 'what mattered');
  t.match(await run(line, scribe, believed), { status: 'aborted', note: /^nothing_to_compress/ }, 'there would be room');
  const outcome = await run(line, scribe, { ...believed, overflow: true });
  t.equal(outcome.status, 'compressed');
  t.ok(outcome.afterTokens < outcome.beforeTokens * 0.4, `${outcome.beforeTokens} became ${outcome.afterTokens}`);
  const small = await run(line, scribe, { ...believed, contextWindow: 1_000, overflow: true });
  t.ok(small.afterTokens < outcome.afterTokens, 'a window known to be smaller counts');
});

t.test('a summary that saves less than a tenth is refused', async (t) => {
  const outcome = await run(
    'ua ua ua ua ua',
    writer(() => 'y'.repeat(1_000 * 4)),
  );
  t.match(outcome, { status: 'aborted', note: /^refused_would_grow: \d+ tokens would become \d+/, error: null, usage: { input: 100 } });
});

t.test('material larger than the window of the writing model is given in pieces, each with the record so far', async (t) => {
  const scribe = writer(({ messages }) => `record ${/record (\d+)/.exec(messages[0]!.content) ? 2 : 1}`, 600);
  t.match(await run('ua ua ua ua ua', scribe), {
    status: 'compressed',
    summary: 'record 2',
    modelCalls: 2,
    usage: { input: 200, output: 20 },
  });
  t.notMatch(scribe.requests[0]!.messages[0]!.content, /<record>/);
  t.match(scribe.requests[1]!.messages[0]!.content, /<record>\nrecord 1\n<\/record>/);
});

t.test('a model whose window is smaller than thought gets the material in halves', async (t) => {
  const scribe = writer(({ messages }) => {
    if (messages[0]!.content.length > 15_000) throw new AgentError('CONTEXT_OVERFLOW', 'too long');
    return 'short';
  });
  t.match(await run('ua ua ua ua', scribe, { keep: 1 }, 1_000), { status: 'compressed', summary: 'short', modelCalls: 3 });
});

t.test('a model that fails leaves everything as it was, and its words are the note', async (t) => {
  const table = [
    { say: () => '', want: { status: 'aborted', note: /PROVIDER_FAILED: .*empty summary/, error: { code: 'PROVIDER_FAILED' } } },
    {
      say: () => {
        throw new AgentError('PROVIDER_FAILED', 'it answered 500');
      },
      want: { status: 'aborted', note: 'PROVIDER_FAILED: it answered 500' },
    },
    {
      say: () => {
        throw new TypeError('x is undefined');
      },
      want: { status: 'aborted', error: { code: 'INTERNAL' } },
    },
  ];
  for (const { say, want } of table) t.match(await run('ua ua ua ua ua', writer(say)), want);
});

t.test('the rehearsal model, which cannot write, leaves a list of the requests', async (t) => {
  const first = await run('ua ua ua ua ua', { model: rehearsalModel() });
  t.match(first, { status: 'compressed', summary: /^## Done\n- answered: u1 x+\n- answered: u3/ });
});
