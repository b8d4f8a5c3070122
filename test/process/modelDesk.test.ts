import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { createRedactor } from '../../base/redact.ts';
import { configSet, modelOptions, setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import { createModelDesk } from '../../services/agent/models.ts';
import type { WorkerContext } from '../../services/worker.ts';
import { parseConfigText } from '../../state/config/load.ts';
import { readSecrets } from '../../state/env.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { asked, received, textOf } from '../harness/modelChain.ts';
import { startWorker } from '../harness/worker.ts';

const openai = await startOpenAi();
t.teardown(() => openai[Symbol.asyncDispose]());
const providers = `
providers:
  box: { base_url: "${openai.url}", models: [large, small] }
  locked: { base_url: "${openai.url}", key_env: NOT_SET }
model_catalog: { detect_local: false }
`;

/** A desk on this configuration, without a worker around it. */
function deskOn(config: string) {
  const home = testHome();
  t.teardown(() => home[Symbol.dispose]());
  const loaded = parseConfigText(`${config}${providers}`, 'config.yaml');
  const redact = createRedactor();
  const context: Partial<WorkerContext> = {
    home,
    profile: 'default',
    paths: home,
    demo: false,
    redact,
    log: createLogger({ sink: { write() {}, close() {} }, component: 'test', redact }),
    config: () => loaded,
    secrets: () => readSecrets(home.env, {}),
    signal: new AbortController().signal,
  };
  return createModelDesk(context as WorkerContext);
}

t.test('side work has a model and a level of its own where the configuration says so, else the one at hand', async (t) => {
  const desk = deskOn(
    'model: { default: large, provider: box }\nauxiliary: { title: { model: small, reasoning_effort: low }, btw: { provider: locked, model: x }, vision: { reasoning_effort: high } }\ndelegation: { model: "box:worker" }\n',
  );
  const seen = async (opening: ReturnType<typeof desk.open>) => {
    const model = await opening;
    await received(model);
    const { body } = openai.requests.at(-1)!;
    return [model.provider, body.model, body.reasoning_effort ?? null];
  };
  t.same(await seen(desk.auxiliary('title')), ['box', 'small', 'low']);
  t.same(await seen(desk.auxiliary('compression')), ['box', 'large', null], 'nothing said');
  t.same(await seen(desk.auxiliary('vision')), ['box', 'large', 'high']);
  t.same(await seen(desk.auxiliary('btw')), ['box', 'large', null], 'its own cannot serve');
  t.same(await seen(desk.auxiliary('title', { model: 'other', provider: 'box' })), ['box', 'small', 'low']);
  t.same(await seen(desk.auxiliary('compression', { model: 'other', provider: 'box' })), ['box', 'other', null], "the session's");
  t.same(await seen(desk.delegation()), ['box', 'worker', null]);
});

t.test('a fallback that cannot serve is passed over; the chosen model is not its own fallback', async (t) => {
  const desk = deskOn('model: { default: large, provider: box }\nfallback_providers: [locked, "box:large", "box:small"]\n');
  openai.requests.length = 0;
  openai.answer({ status: 404 });
  const { chunks } = await received(await desk.open());
  t.equal(textOf(chunks), 'ok');
  t.same(
    openai.requests.map(({ body }) => body.model),
    ['large', 'small'],
  );
});

t.test('many turns at once each get their own answer', async (t) => {
  const desk = deskOn('model: { default: large, provider: box }\n');
  const answers = await Promise.all(Array.from({ length: 20 }, async () => received(await desk.open(), asked())));
  t.same(new Set(answers.map(({ chunks, error }) => `${textOf(chunks)} ${String(error)}`)), new Set(['ok undefined']));
});

t.test('a bare name goes to the provider that lists it; one that nobody lists is a slip, and changes nothing', async (t) => {
  using home = testHome({
    'config.yaml': `model: { default: large, provider: box }${providers.replace('locked:', 'other:').replace(', key_env: NOT_SET', ', models: [gpt-4o]')}`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const session_id = await client.create();
  const set = (value: string) => client.link.call(configSet, { key: 'model', value, session_id });
  t.match(await set('anything'), { value: 'anything', info: { provider: 'box' } }, 'no list is known yet');
  await client.link.call(modelOptions, {});
  await t.rejects(set('gtp-4o'), { code: 'UNKNOWN_MODEL', fix: /agent model list.*box:gtp-4o/ });
  t.match(await set('box:gtp-4o'), { value: 'gtp-4o', warning: /box does not list gtp-4o/ });
  t.match(await set('gpt-4o'), { value: 'gpt-4o', warning: /read afresh/ });
  t.match(await set('default'), { value: 'large' });
  t.match(await client.link.call(setupStatus, {}), { ready: true, other_providers: ['other'] });
  rmSync(home.cache, { recursive: true, force: true });
  t.match(
    (await client.link.call(modelOptions, { refresh: true })).providers,
    [{ name: 'box', error: null }, { name: 'other' }],
    'a cache that cannot be written costs nothing',
  );
});

t.test('a session with a bare model name does not wait for a provider that never lists its models', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  using home = testHome({
    'config.yaml': `model: { default: large }\nproviders: { slow: { base_url: "http://127.0.0.1:${port}/v1" } }\nmodel_catalog: { detect_local: false }\n`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  t.match(await client.create({ source: 'cli', model: 'large' }), /^ses_/);
});
