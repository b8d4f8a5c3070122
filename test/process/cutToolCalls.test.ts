/** A tool call that was cut off at the output limit is never run: the model is asked to repeat it, the user is informed. */
import t from 'tap';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import type { FakeAnswer } from '../fakes/modelServer.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const vendors = [
  { kind: 'anthropic', start: startAnthropic, cutAt: 'max_tokens' },
  { kind: 'openai-compatible', start: startOpenAi, cutAt: 'length' },
  { kind: 'openai', start: startOpenAi, cutAt: 'max_output_tokens' },
] as const;

const KEPT = 'line one\nline two\n';

/** One turn of a worker against a provider that answers with `script`; what the provider was asked, and the events. */
async function turn(
  kind: string,
  start: (...script: FakeAnswer[]) => ReturnType<typeof startOpenAi>,
  script: (dir: string) => FakeAnswer[],
) {
  await using provider = await start();
  using home = testHome({
    'config.yaml': `model: { default: tiny-1 }\nproviders: { box: { kind: ${kind}, base_url: "${provider.url}", key_env: BOX_KEY } }\n`,
    '.env': 'BOX_KEY=box-key-123456\n',
    'kept.txt': KEPT,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  provider.answer(...script(home.root));
  const { complete } = await client.turn(await client.create({ source: 'cli', cwd: home.root }), 'write it');
  return {
    complete,
    requests: provider.requests.map(({ body }) => JSON.stringify(body)),
    notices: client.events.filter(({ type }) => type === 'notice').map(({ payload }) => payload),
    kept: readFileSync(join(home.root, 'kept.txt'), 'utf8'),
  };
}

for (const { kind, start, cutAt } of vendors) {
  t.test(`${kind}: half a call writes nothing; the next answer of the model ends the turn`, async (t) => {
    const { complete, requests, notices, kept } = await turn(kind, start as typeof startOpenAi, (dir) => [
      { toolCalls: [{ name: 'write_file', args: `{"path":"${join(dir, 'kept.txt')}","content":"only the first ha` }], finish: cutAt },
      { text: 'In smaller pieces, then.' },
    ]);
    t.equal(kept, KEPT);
    t.match(complete, { status: 'complete', text: 'In smaller pieces, then.' });
    t.equal(requests.length, 2);
    t.match(requests[1], /cut|incomplete/);
    t.equal(notices.length, 1);
  });

  t.test(`${kind}: whole calls before the cut one run`, async (t) => {
    const { requests, kept } = await turn(kind, start as typeof startOpenAi, (dir) => [
      {
        toolCalls: [
          { name: 'read_file', args: JSON.stringify({ path: join(dir, 'kept.txt') }) },
          { name: 'terminal', args: `{"command":"rm ${join(dir, 'kept.txt')}; echo \${HOME}` },
        ],
        finish: cutAt,
      },
      { text: 'done' },
    ]);
    t.equal(kept, KEPT);
    t.match(requests[1], /line two/);
  });
}

t.test('arguments that end early although the provider says that the call is whole do not reach a tool that writes', async (t) => {
  const { requests, kept, complete } = await turn('openai-compatible', startOpenAi, (dir) => [
    { toolCalls: [{ name: 'write_file', args: `{"path":"${join(dir, 'kept.txt')}","content":"half of a \${template}` }] },
    { text: 'again' },
  ]);
  t.equal(kept, KEPT);
  t.match(requests[1], /Not run/);
  t.match(complete, { status: 'complete', text: 'again' });
});

t.test('a model that is cut off again and again ends its turn with OUTPUT_LIMIT', async (t) => {
  const { complete, requests } = await turn('openai-compatible', startOpenAi, () =>
    Array.from({ length: 5 }, () => ({ toolCalls: [{ name: 'terminal', args: '{"command":"echo ' }], finish: 'length' })),
  );
  t.match(complete, { status: 'error', error: { code: 'OUTPUT_LIMIT' } });
  t.equal(requests.length, 3);
});
