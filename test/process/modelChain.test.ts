import t from 'tap';
import type { ChainParts } from '../../agent/models/chain.ts';
import { CredentialPool } from '../../agent/models/credentials.ts';
import type { EndpointSettings } from '../../agent/models/kinds.ts';
import { AbandonedRoutes } from '../../agent/models/routes.ts';
import { AgentError } from '../../base/errors.ts';
import { startOpenAi, type FakeAnswer, type FakeOpenAi } from '../fakes/openaiServer.ts';
import { chain, kindsOf, received, settingsFor, textOf } from '../harness/modelChain.ts';

const soon = { 'retry-after-ms': '1' };
const busy: FakeAnswer = { status: 429, headers: soon };

/** A chosen provider and one behind it, each with its own script. */
async function two(first: FakeAnswer[], second: FakeAnswer[] = [], more: { keyNames?: string[]; parts?: Partial<ChainParts> } = {}) {
  const a = await startOpenAi(...first);
  const b = await startOpenAi(...second);
  t.teardown(() => Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()]));
  const keyNames = more.keyNames ?? ['A_KEY'];
  const routes: [EndpointSettings, EndpointSettings] = [
    settingsFor('openai-compatible', a.url, { provider: 'first', model: 'one', keyNames }),
    settingsFor('openai-compatible', b.url, { provider: 'second', model: 'two', keyNames: ['B_KEY'] }),
  ];
  return { a, b, routes, open: (parts: Partial<ChainParts> = {}) => chain(routes[0], { routes, ...more.parts, ...parts }) };
}

const keysUsed = ({ requests }: FakeOpenAi) => requests.map(({ headers }) => String(headers.authorization).replace('Bearer value-of-', ''));

t.test('a fallback takes over when the chosen provider is down, stays for the turn, and is not there in the next', async (t) => {
  const down = { status: 503, headers: soon };
  const { a, b, open } = await two([down, down, down, down]);
  const turn = await open();
  const { chunks } = await received(turn);
  t.same(kindsOf(chunks), ['retry', 'retry', 'retry', 'fallback', 'text', 'finish']);
  t.match(chunks[3], { provider: 'second', model: 'two', reason: /first: it answered 503/ });
  t.same(kindsOf((await received(turn)).chunks), ['text', 'finish'], 'the second call of the turn');
  t.same([a.requests.length, b.requests.length], [4, 2]);
  await received(await open());
  t.same([a.requests.length, b.requests.length], [5, 2], 'the next turn begins with the chosen one');
});

t.test('when nothing is left the error names the chosen provider and what became of the others', async (t) => {
  const { open } = await two([{ status: 401 }], [{ status: 404 }]);
  t.match((await received(await open())).error, {
    code: 'PROVIDER_FAILED',
    message: /^first \(one\): it answered 401.*; then second \(two\): it answered 404/,
    fix: 'check the key in A_KEY',
  });
});

t.test('nothing falls back after the first word of an answer', async (t) => {
  const { b, open } = await two([{ text: 'half', cut: true }]);
  const { chunks, error } = await received(await open());
  t.same([textOf(chunks), (error as AgentError).code, b.requests.length], ['half', 'PROVIDER_CUT', 0]);
});

t.test('a stream that broke off in its thoughts is asked again once', async (t) => {
  const broken = { reasoning: 'thinking of', cut: true };
  const { a, open } = await two([broken, { text: 'there' }]);
  t.match((await received(await open())).chunks, [
    { type: 'reasoning' },
    { type: 'retry', attempt: 1 },
    { type: 'text', text: 'there' },
    { type: 'finish' },
  ]);
  a.answer(broken, broken);
  t.match((await received(await open())).error, { code: 'PROVIDER_CUT' });
  t.equal(a.requests.length, 4);
});

t.test('a pool: a 429 is asked again once, then the next key serves, and the first rests for an hour', async (t) => {
  let now = 0;
  const pool = new CredentialPool({ now: () => now });
  const { a, open } = await two([busy, busy], [], { keyNames: ['K1', 'K2'], parts: { pool } });
  const { chunks } = await received(await open());
  t.same(kindsOf(chunks), ['retry', 'fallback', 'text', 'finish']);
  t.match(chunks[1], { provider: 'first', model: 'one', reason: /K1: it answered 429.*; K2 takes over/ });
  t.same(keysUsed(a), ['K1', 'K1', 'K2']);
  now += 3_599_000;
  await received(await open());
  now += 2_000;
  await received(await open());
  t.same(keysUsed(a).slice(3), ['K2', 'K1']);
});

t.test('a pool: a key without credit rests for a day, a wrong one is left at once', async (t) => {
  let now = 0;
  const pool = new CredentialPool({ now: () => now });
  const { a, open } = await two([{ status: 402 }, { status: 401 }], [], { keyNames: ['K1', 'K2', 'K3'], parts: { pool } });
  t.same(kindsOf((await received(await open())).chunks), ['fallback', 'fallback', 'text', 'finish']);
  now += 3_700_000;
  await received(await open());
  now += 86_400_000;
  await received(await open());
  t.same(keysUsed(a), ['K1', 'K2', 'K3', 'K2', 'K1']);
});

t.test('a pool whose keys all rest makes way for the fallback; without one the key that is back first is asked', async (t) => {
  const pool = new CredentialPool();
  const { a, b, routes, open } = await two([{ status: 401 }, { status: 401 }], [], { keyNames: ['K1', 'K2'], parts: { pool } });
  await received(await open());
  await received(await open());
  t.same([a.requests.length, b.requests.length], [2, 2], 'the second turn does not knock');
  await received(await chain(routes[0], { pool }));
  t.same(keysUsed(a).slice(2), ['K1']);
});

t.test('the only key is never sent to rest', async (t) => {
  const { a, open } = await two([busy, busy, busy, busy]);
  t.same(kindsOf((await received(await open())).chunks), ['retry', 'retry', 'retry', 'fallback', 'text', 'finish']);
  await received(await open());
  t.same(keysUsed(a), ['A_KEY', 'A_KEY', 'A_KEY', 'A_KEY', 'A_KEY']);
});

t.test('strategies of a pool: in order, in turn, the least used, at random', (t) => {
  const keys = ['a', 'b', 'c'].map((env) => ({ env, value: env }));
  const picks = (strategy: 'fill_first' | 'round_robin' | 'least_used' | 'random', random = () => 0.99) => {
    const pool = new CredentialPool({ random });
    return Array.from({ length: 4 }, () => pool.pick('p', keys, { strategy })!.env).join('');
  };
  t.same([picks('fill_first'), picks('round_robin'), picks('least_used'), picks('random')], ['aaaa', 'abca', 'abca', 'cccc']);
  const pool = new CredentialPool();
  pool.rest('p', keys[0]!, 'rate');
  t.same(pool.pick('p', keys)!.env, 'b');
  t.same(pool.pick('p', [{ env: 'a', value: 'a new one' }, keys[1]!])!.env, 'a', 'a key that was replaced starts afresh');
  t.end();
});

t.test('a longer wait than a turn has is not waited for', async (t) => {
  const { a, open } = await two([{ status: 429, headers: { 'retry-after': '3600' } }]);
  t.same(kindsOf((await received(await open())).chunks), ['fallback', 'text', 'finish']);
  t.equal(a.requests.length, 1);
});

t.test('lesson 25: trouble of our own, a lock or a store that is busy, never makes another model answer', async (t) => {
  for (const code of ['STORE_BUSY', 'LOCK_HELD', 'DISK_FULL'] as const) {
    const { a, b, open } = await two([]);
    const trouble = () => {
      throw new AgentError(code, 'it is held');
    };
    const { error, chunks } = await received(await open(), { onSent: trouble });
    t.match(error, { code }, code);
    t.same([kindsOf(chunks), a.requests.length, b.requests.length], [[], 0, 0], `${code}: nobody was asked`);
  }
});

t.test('an interrupt ends a wait and a silent stream at once, and nothing falls back because of it', async (t) => {
  for (const answer of [
    { status: 429, headers: { 'retry-after': '30' } },
    { text: 'hm', silent: true },
  ]) {
    const { b, open } = await two([answer]);
    const interrupt = new AbortController();
    const model = await open();
    const stream = model.stream({ system: '', messages: [{ role: 'user', content: 'hi' }], tools: [], signal: interrupt.signal });
    await t.rejects(
      (async () => {
        for await (const chunk of stream)
          if (chunk.type === 'retry' || chunk.type === 'text') interrupt.abort(new AgentError('CANCELLED', 'the user stopped it'));
      })(),
      { code: 'CANCELLED' },
    );
    t.equal(b.requests.length, 0);
  }
});

t.test('a way that leads nowhere on the host of the free tier is not tried again in this process', async (t) => {
  for (const status of [400, 403]) {
    const abandoned = new AbandonedRoutes();
    const parts = { abandoned, welcomeHosts: new Set(['127.0.0.1']) };
    const { a, b, open } = await two([{ status }], [], { parts });
    t.same(kindsOf((await received(await open())).chunks), ['fallback', 'text', 'finish']);
    t.same(kindsOf((await received(await open())).chunks), ['fallback', 'text', 'finish']);
    t.same([a.requests.length, b.requests.length], [1, 2], `${status}: once in all`);
  }
  const { a, open } = await two([{ status: 400 }]);
  await received(await open());
  await received(await open());
  t.equal(a.requests.length, 2, 'on any other host a 400 is about that request alone');
});

t.test('the answer costs what its tokens cost, cached ones less', async (t) => {
  const { open } = await two([{ text: 'ok', usage: { input: 1_000_000, output: 100_000, cacheRead: 400_000 } }]);
  const facts = {
    name: null,
    contextWindow: 8_192,
    maxOutput: null,
    vision: undefined,
    tools: undefined,
    price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: null },
  };
  const model = await open({ facts: { known: () => facts, load: async () => facts } });
  t.equal(model.contextWindow, 8_192);
  t.match((await received(model)).chunks.at(-1), { usage: { costUsd: 0.6 * 3 + 0.4 * 0.3 + 0.1 * 15 } });
});
