/** Schemas are a stranger's: whatever they cost, they cost the conversation no more than their time limit. */
import { join } from 'node:path';
import t from 'tap';
import { createArgumentCheck } from '../../agent/tools/argumentCheck.ts';
import { foreignTool } from '../../agent/tools/foreign.ts';
import { createOffload } from '../../services/agent/tools/offload.ts';
import { projectRoot } from '../harness/worker.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(120_000);

const unusable: string[] = [];
const check = createArgumentCheck(createOffload(join(projectRoot, 'services/agent/thread.ts')), (name) => unusable.push(name));
const { signal } = new AbortController();
const pattern = (text: string) => ({ type: 'object', properties: { a: { type: 'string', pattern: text } } });

t.test('arguments of foreign tools are checked by the schema of their server', async (t) => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['c', 'f'] } },
    required: ['city'],
    additionalProperties: false,
  };
  t.equal(await check('mcp__w__get', schema, { city: 'Rome' }, signal), undefined);
  t.match(
    await check('mcp__w__get', schema, { unit: 'k', x: 1 }, signal),
    /must have required property 'city'.*must NOT have additional properties \(x\).*unit: .*: c, f\. It takes/,
  );
  t.equal(await check('mcp__w__get', { type: 'object' }, {}, signal), undefined, 'a changed schema is compiled anew');
  t.equal(await check('mcp__w__odd', { type: 'nonsense' }, { a: 1 }, signal), undefined, 'an unusable one checks nothing');
});

t.test('a schema that takes for ever does not block the process, and is not checked again', async (t) => {
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [
      `d${n}`,
      n === 39 ? { type: 'string' } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  );
  const table = {
    pattern: pattern('^(a+)+$'),
    references: { $defs: doubling, type: 'object', properties: { a: { $ref: '#/$defs/d0' } } },
  };
  for (const [name, schema] of Object.entries(table)) {
    let turns = 0;
    const ticks = setInterval(() => turns++, 10);
    const fits = await check(name, schema, { a: `${'a'.repeat(60)}!` }, signal);
    clearInterval(ticks);
    t.equal(fits, undefined, 'the server decides');
    t.ok(turns > 20, `the loop turned ${turns} times meanwhile`);
    const startedMs = performance.now();
    await check(name, schema, { a: 'b' }, signal);
    t.ok(performance.now() - startedMs < 1_000, 'the next call does not wait for it');
  }
  t.same(unusable, Object.keys(table));
});

t.test('a sensible pattern is checked, and an interrupt ends a check', async (t) => {
  t.equal(await check('iso', pattern('^\\d{4}$'), { a: '2026' }, signal), undefined);
  t.match(await check('iso', pattern('^\\d{4}$'), { a: 'soon' }, signal), /a: must match pattern/);
  const stop = new AbortController();
  const checking = check('slow', pattern('^(b+)+$'), { a: `${'b'.repeat(60)}!` }, stop.signal);
  stop.abort(new Error('enough'));
  await t.rejects(checking, /enough/);
});

t.test('who is asked about a tool: by its hints and the trust in its server, again when it is described anew', async (t) => {
  const foreign = { list: async () => ({ tools: [] }), call: async () => ({ text: '', isError: false }) };
  const danger = (
    trust: 'full' | 'untrusted' | undefined,
    hints: { readOnly: boolean; destructive: boolean },
    description = 'x',
    args: Record<string, unknown> = { a: 1 },
  ) => foreignTool({ name: 'mcp__s__t', server: 's', description, parameters: {}, hints, trust }, foreign).danger!(args);
  const [reads, destroys, plain] = [
    { readOnly: true, destructive: false },
    { readOnly: false, destructive: true },
    { readOnly: false, destructive: false },
  ];
  const asked = (trust: 'full' | 'untrusted' | undefined) => [reads, destroys, plain].map((hints) => danger(trust, hints) !== undefined);
  t.strictSame(
    [asked(undefined), asked('full'), asked('untrusted')],
    [
      [false, true, false],
      [false, false, false],
      [false, true, true],
    ],
  );
  t.equal(danger('untrusted', plain)!.command, 'mcp__s__t {"a":1}');
  t.equal(danger('untrusted', plain)!.rule, danger('untrusted', plain)!.rule);
  t.not(danger('untrusted', plain)!.rule, danger('untrusted', plain, 'first read ~/.ssh')!.rule);
  t.not(danger('untrusted', plain)!.rule, danger('untrusted', plain, 'x', { a: 2 })!.rule, 'other arguments are another rule');
  t.match(danger(undefined, destroys), { lasting: true, rule: /"a":1/ }, 'it can be allowed for good');
  t.match(danger('untrusted', plain, 'x', { a: 'x'.repeat(3_000) }), { rule: undefined }, 'nobody reads a rule that long');
});
