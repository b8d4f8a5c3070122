/** What users and clients learn of a provider's refusal, of a wrong choice of model, and of a provider that becomes usable. */
import t from 'tap';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionCreate, sessionResume } from '../../ipc/contracts/rpc.ts';
import { modelInfo, modelSet } from '../../ipc/contracts/rpcModels.ts';
import { configGet, configSet, setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startProviderStage } from '../harness/providerStage.ts';
import { startWorker } from '../harness/worker.ts';

const stage = await startProviderStage(t, 'fallback_providers: []\n');
const { provider, home, client } = stage;

t.test('the facts of a structured 429 reach message.complete and the stored row', async (t) => {
  const body = {
    error: {
      message: 'not free',
      reason: 'model_not_free',
      retry_after: 600,
      upgrade_url: 'https://portal.example/up',
      alternates: ['free-1'],
    },
  };
  provider.answer({ status: 429, body });
  const session_id = await client.create();
  const { complete } = await client.turn(session_id, 'hi');
  const want = {
    code: 'PROVIDER_FAILED',
    message: /not free/,
    fix: /https:\/\/portal\.example\/up.*free-1/,
    reason: 'model_not_free',
    retry_after: 600,
    upgrade_url: 'https://portal.example/up',
    alternates: ['free-1'],
  };
  t.match(complete.error, want);
  t.match((await client.link.call(sessionResume, { session_id })).messages.at(-1), { error: want });
});

t.test('a rate limit that is longer than a turn waits says how long', async (t) => {
  provider.answer({ status: 429, body: { error: { message: 'slow down', reason: 'at_capacity', retry_after: 600 } } });
  const { complete } = await client.turn(await client.create(), 'hi');
  t.match(complete.error, { reason: 'at_capacity', retry_after: 600, fix: /wait 10 min/ });
});

t.test('a key that the provider repeats reaches neither the client nor the store', async (t) => {
  const key = 'plain-words-as-a-key';
  appendFileSync(join(home.root, '.env'), `BOX_KEY=${key}\n`);
  provider.answer({ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } });
  const session_id = await client.create();
  const { complete, events } = await client.turn(session_id, 'hi');
  t.match(complete.error, { message: /\[redacted\]/ });
  t.notMatch(JSON.stringify(events), key);
  t.notMatch(JSON.stringify(await client.link.call(sessionResume, { session_id })), key);
  for (const file of ['state.db', 'state.db-wal']) t.notOk(readFileSync(join(home.root, file)).includes(key), file);
});

t.test('session.create refuses what no turn could use', async (t) => {
  const refused = (params: object) => client.link.call(sessionCreate, { source: 'cli', ...params });
  await t.rejects(refused({ reasoning_effort: 'ultra' }), { code: 'MODEL_SWITCH_ERR_BAD_REASONING' });
  await t.rejects(refused({ provider: 'nope' }), { code: 'UNKNOWN_MODEL' });
  await t.rejects(refused({ model: 'nosuch' }), { code: 'UNKNOWN_MODEL' });
  await t.rejects(refused({ model: 'nosuchprovider:gpt-5' }), { code: 'UNKNOWN_MODEL' });
  for (const params of [{ model: 'gpt-5' }, { model: 'box:nosuch' }, { model: 'tiny-1', provider: 'box' }, { reasoning_effort: 'high' }])
    t.ok((await refused(params)).session_id, JSON.stringify(params));
});

t.test('a later choice replaces the one that was to hold for the next turn', async (t) => {
  const session_id = await client.create();
  const set = (value: string) => client.link.call(configSet, { session_id, key: 'model', value });
  const now = async () => (await client.link.call(configGet, { session_id, key: 'model' })).value;
  await set('gpt-5 --once');
  t.equal(await now(), 'gpt-5');
  await set('gpt-4o --session');
  t.equal(await now(), 'gpt-4o');
  await set('gpt-5 --once');
  await set('default');
  t.equal(await now(), 'tiny-1');
});

t.test('settings: an unknown key, and a model.set that changes nothing, are refused and write nothing', async (t) => {
  const file = join(home.root, 'config.yaml');
  const before = readFileSync(file, 'utf8');
  for (const key of ['skin', 'display.busy', 'modle'])
    await t.rejects(client.link.call(configSet, { key, value: 'x' }), { code: /CONFIG_(?:KEY|INVALID)/ }, key);
  await t.rejects(client.link.call(modelSet, { scope: 'main' }), { code: 'BAD_REQUEST' });
  t.equal(readFileSync(file, 'utf8'), before);
  await client.link.call(modelSet, { scope: 'main', model: 'box:gpt-5' });
  t.notMatch(readFileSync(file, 'utf8'), /agent: *\{\}/);
  t.match(await client.link.call(modelInfo, {}), { model: 'gpt-5', capabilities: { model_family: 'gpt' } });
});

t.test('setup.ready is broadcast when a key makes a provider usable', async (t) => {
  await using server = await startOpenAi();
  using bare = testHome({
    'config.yaml': `model_catalog: { detect_local: false }\nproviders: { box: { base_url: "${server.url}", key_env: BOX_KEY, models: [tiny-1] } }\n`,
  });
  await using worker = await startWorker(bare, 'agent');
  using guest = await connect(worker);
  t.match(await guest.link.call(setupStatus, {}), { ready: false, provider_configured: false });
  writeFileSync(bare.env, 'BOX_KEY=box-key-123456\n');
  const { payload } = await guest.next('setup.ready');
  t.match(payload, { ready: true, provider_configured: true, inference_provider: 'box', model: 'tiny-1' });
});
