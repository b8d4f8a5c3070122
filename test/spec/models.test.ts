import t, { type Test } from 'tap';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../base/log.ts';
import { Catalog } from '../../services/agent/catalog.ts';
import { catalogTtlMs } from '../../services/agent/models.ts';
import { fastWindow } from '../../agent/models/fastWindow.ts';
import { sessionResume } from '../../ipc/contracts/rpc.ts';
import { configGet, configSet, modelOptions, setupRuntimeCheck, setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { settingsFor } from '../harness/modelChain.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const openai = await startOpenAi();
const claude = await startAnthropic();
/** `portal` has a host name of its own, which the worker takes for that of the free tier. */
const providers = `providers:
  gpt: { kind: openai, base_url: "${openai.url}", key_env: GPT_KEY }
  claude: { kind: anthropic, base_url: "${claude.url}", key_env: CLAUDE_KEY }
  portal: { base_url: "${openai.url.replace('127.0.0.1', 'localhost')}", key_env: PORTAL_KEY }
model_catalog: { detect_local: false }
`;
const secrets = 'GPT_KEY=sk-gpt-secret\nCLAUDE_KEY=sk-claude-secret\nPORTAL_KEY=anon-secret\n';
const home = testHome({ '.env': secrets, 'config.yaml': providers });
const worker = await startWorker(home, 'agent', { env: { AGENT_EXTRA_WELCOME_HOSTS: 'localhost' } });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await Promise.all([openai[Symbol.asyncDispose](), claude[Symbol.asyncDispose]()]);
  home[Symbol.dispose]();
});

/** A client of the worker, which works by these settings from now on. */
async function stage(config: string) {
  home.write('config.yaml', `${config}\n${providers}`);
  openai.requests.length = 0;
  claude.requests.length = 0;
  const client = await connect(worker);
  return { client, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

const infoOf = async (client: AgentClient, session_id: string) => (await client.link.call(sessionResume, { session_id })).info;
const written = () => readFileSync(home.config, 'utf8');

t.test('cfg.4 model.persist_switch_by_default decides whether a plain pick is saved as the profile default', async (t) => {
  for (const persist of [false, true]) {
    using s = await stage(`model: { default: gpt-5, provider: gpt, persist_switch_by_default: ${persist} }`);
    const session_id = await s.client.create();
    const { scope } = await s.client.link.call(configSet, { key: 'model', value: 'claude:claude-sonnet-4-5', session_id });
    t.equal(scope, persist ? 'global' : 'session');
    t.match(await infoOf(s.client, session_id), { provider: 'claude', model: 'claude-sonnet-4-5' });
    const other = await infoOf(s.client, await s.client.create());
    t.match(other, persist ? { provider: 'claude', model: 'claude-sonnet-4-5' } : { provider: 'gpt', model: 'gpt-5' });
    t.equal(/claude-sonnet-4-5/.test(written()), persist);
  }
});

t.test('cfg.5 agent.service_tier: fast is static; auto and cold are fast only in a bounded window', async (t) => {
  const tierOf = (at: number) => openai.requests[at]!.body.service_tier ?? null;
  const turns = async (tier: string) => {
    using s = await stage(`model: { default: gpt-5, provider: gpt }\nagent: { service_tier: ${tier} }`);
    const session_id = await s.client.create();
    await s.client.turn(session_id, 'one');
    await s.client.turn(session_id, 'two');
    return [tierOf(0), tierOf(1)];
  };
  t.same(await turns('normal'), [null, null]);
  t.same(await turns('fast'), ['priority', 'priority']);
  t.same(await turns('auto'), ['priority', 'priority']);
  t.same(await turns('cold'), ['priority', null], 'only the first turn of the session');
});

t.test('cfg.6 agent.fast_auto_seconds sets the length of the bounded fast window', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }\nagent: { service_tier: auto, fast_auto_seconds: 0 }');
  await s.client.turn(await s.client.create(), 'hi');
  t.equal(openai.requests[0]!.body.service_tier, undefined, 'a window of nothing');
});

t.test('lim.5 the bounded fast window is 60 seconds unless configured, for each call of a turn afresh', (t) => {
  let now = 0;
  const clock = { monotonic: () => now };
  const auto = fastWindow({ tier: 'auto', firstTurn: false }, clock);
  const cold = fastWindow({ tier: 'cold', firstTurn: true }, clock);
  const own = fastWindow({ tier: 'auto', seconds: 5, firstTurn: false }, clock);
  const seen = [0, 4_999, 5_000, 59_999, 60_000].map((at) => {
    now = at;
    return [auto(), cold(), own()];
  });
  t.same(seen, [
    [true, true, true],
    [true, true, true],
    [true, true, false],
    [true, true, false],
    [false, false, false],
  ]);
  t.equal(fastWindow({ tier: 'cold', firstTurn: false }, clock)(), false);
  t.end();
});

t.test('cfg.7 agent.reasoning_effort is sent in the words of each provider, clamped to what the model has', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }\nagent: { reasoning_effort: max }');
  const session_id = await s.client.create();
  t.match(await infoOf(s.client, session_id), { reasoning_effort: 'max', reasoning_effort_wire: 'high' });
  await s.client.turn(session_id, 'hi');
  t.match(openai.requests[0]!.body, { reasoning: { effort: 'high' } });
  await s.client.link.call(configSet, { key: 'model', value: 'claude:claude-sonnet-4-5 --reasoning low', session_id });
  t.match(await infoOf(s.client, session_id), { reasoning_effort: 'low', reasoning_effort_wire: 'low' });
  await s.client.turn(session_id, 'hi');
  t.match(claude.requests[0]!.body, { thinking: { type: 'enabled', budget_tokens: Number } });
});

t.test('cfg.8 model_catalog.ttl_minutes: a list is kept that long, over a restart too; an older ttl_hours is honoured', async (t) => {
  const settings = (catalog: string) =>
    `model: { default: gpt-5, provider: gpt }\n${providers.replace('detect_local: false', `detect_local: false, ${catalog}`)}`;
  using own = testHome({ '.env': secrets, 'config.yaml': settings('ttl_minutes: 20') });
  openai.lists.length = 0;
  // `gpt` and `portal` share the server.
  const lists = () => openai.lists.length / 2;
  const look = async (client: AgentClient, params: { refresh?: boolean } = {}) =>
    (await client.link.call(modelOptions, params)).providers.find(({ name }) => name === 'gpt')!;
  let fetched: string | null;
  {
    await using worker = await startWorker(own, 'agent');
    using client = await connect(worker);
    const [first] = await Promise.all([look(client), look(client)]);
    t.match(first, {
      usable: true,
      error: null,
      fetched_at: /^\d{4}-/,
      models: [{ id: 'gpt-5', context_window: 400_000, tools: true }, { id: 'gpt-4o' }],
    });
    t.same(
      first.models.map(({ id }) => id),
      ['gpt-5', 'gpt-4o'],
      'models for other trades are left out',
    );
    t.equal(lists(), 1, 'two pickers at once ask each provider once');
    own.write('config.yaml', settings('ttl_minutes: 0'));
    await look(client);
    t.equal(lists(), 2, 'no time at all');
    own.write('config.yaml', settings('ttl_minutes: 0, ttl_hours: 2'));
    await look(client);
    t.equal(lists(), 2, 'an explicit ttl_hours counts');
    fetched = (await look(client, { refresh: true })).fetched_at;
    t.equal(lists(), 3);
  }
  await using worker = await startWorker(own, 'agent');
  using client = await connect(worker);
  t.equal((await look(client)).fetched_at, fetched, 'the restarted worker asked nobody');
  t.equal(lists(), 3);
});

t.test(
  'lim.6 the list of a provider is fetched again after 20 minutes, not before, and an old one serves while it cannot be had',
  async (t) => {
    let now = 1_000;
    const dir = t.testdir({});
    const parts = {
      file: join(dir, 'models.json'),
      ttlMs: () => 1_200_000,
      log: createLogger({ sink: { write() {}, close() {} }, component: 'test' }),
      signal: new AbortController().signal,
      now: () => now,
    };
    const catalog = new Catalog(parts);
    const settings = settingsFor('openai', openai.url);
    openai.lists.length = 0;
    await catalog.list(settings);
    now += 1_199_999;
    await catalog.list(settings);
    t.equal(openai.lists.length, 1);
    now += 1;
    await catalog.list(settings);
    t.equal(openai.lists.length, 2);
    const gone = { ...settings, baseUrl: 'http://127.0.0.1:9/v1' };
    t.match(await catalog.list(gone), { models: [], error: /127\.0\.0\.1:9/ });
    t.match(catalog.known(gone), { error: String });
    t.equal(catalogTtlMs({ config: () => ({ config: {}, ineffective: [] }) }), 1_200_000, 'unless configured');
  },
);

t.test('rpc.12 config.set and config.get: a model with flags, reasoning and fast, for a session and for good', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }');
  const session_id = await s.client.create();
  const set = (key: string, value: string | number | boolean, more: object = {}) => s.client.link.call(configSet, { key, value, ...more });
  const get = (key: string, more: object = {}) => s.client.link.call(configGet, { key, ...more });
  t.match(await set('model', 'claude-sonnet-4-5 --provider claude --reasoning high --session', { session_id }), {
    scope: 'session',
    value: 'claude-sonnet-4-5',
    info: { provider: 'claude', reasoning_effort: 'high', reasoning_effort_wire: 'high' },
  });
  t.match(await get('model', { session_id }), { value: 'claude-sonnet-4-5', provider: 'claude' });
  t.match(await get('model'), { value: 'gpt-5', provider: 'gpt' });
  t.match(await set('model', 'gpt-4o --global', { session_id }), { scope: 'global', info: { provider: 'gpt', model: 'gpt-4o' } });
  t.match(written(), /default: gpt-4o/);
  t.match(await set('reasoning', 'xhigh', { session_id }), { scope: 'session', value: 'xhigh', warning: /gpt-4o has no reasoning levels/ });
  t.match(await get('reasoning', { session_id }), { value: 'xhigh', wire: null });
  t.match(await set('fast', 'auto', { session_id }), { value: 'auto', info: { service_tier: 'auto', fast: true } });
  t.match(await set('fast', 'off'), { scope: 'global', value: 'normal' });
  t.match(written(), /service_tier: normal/);
  t.match(await get('fast', { session_id }), { value: 'auto' });
  t.match(await set('display.busy_input_mode', 'queue'), { scope: 'global', value: 'queue', info: null });
  t.match(await get('display.busy_input_mode'), { value: 'queue' }, 'seen at once');
  const ownHeaders = 'mcp_servers: { notes: { url: "https://n.example", headers: { X-Pass: plain-words } } }\n';
  home.write('config.yaml', `${written()}${ownHeaders}`);
  t.match(await get('mcp_servers'), { value: { notes: { headers: { 'X-Pass': '[redacted]' } } } }, 'a secret in the file stays there');
  home.write('config.yaml', written().replace(ownHeaders, ''));
  home.write('config.yaml', `${written()}quick_commands: { "a.b": { type: exec, command: ls } }\n`);
  await t.rejects(
    set('quick_commands.a.b.command', 'pwd'),
    { code: 'CONFIG_KEY', fix: /quick_commands\.a\\\.b\.command/ },
    'shadowing is refused',
  );
  await t.rejects(set('web.search.api_key', 'sk-123456'), { code: 'CONFIG_KEY', fix: /agent env set WEB_SEARCH_API_KEY/ });
  await t.rejects(set('model', 'nobody:x --provider nobody'), { code: 'UNKNOWN_MODEL', message: /nobody/ });
  await t.rejects(set('model', 'gpt-5 --sesion'), { code: 'BAD_REQUEST', message: /unknown flag --sesion/ });
});

t.test('rpc.12 a choice for one turn holds for that turn alone', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }');
  const session_id = await s.client.create();
  t.match(await s.client.link.call(configSet, { key: 'model', value: 'claude:claude-sonnet-4-5', session_id, scope: 'once' }), {
    scope: 'once',
    info: { provider: 'claude' },
  });
  await s.client.turn(session_id, 'one');
  await s.client.turn(session_id, 'two');
  t.same([claude.requests.length, openai.requests.length], [1, 1]);
  t.match(await infoOf(s.client, session_id), { provider: 'gpt' });
});

t.test('rpc.12 the first pick is kept where no model is configured yet; an alias of the user beats a built-in one', async (t) => {
  using s = await stage('model_aliases: { sonnet: "gpt:gpt-4o" }');
  const session_id = await s.client.create();
  t.match(await s.client.link.call(configSet, { key: 'model', value: 'sonnet', session_id }), {
    scope: 'global',
    info: { provider: 'gpt', model: 'gpt-4o' },
  });
  t.match(written(), /provider: gpt/);
});

t.test('ev.6 session_info follows a change of model or reasoning, with the level that is sent', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }');
  const session_id = await s.client.create();
  const from = s.client.events.length;
  await s.client.link.call(configSet, { key: 'reasoning', value: 'max', session_id });
  const event = await s.client.next('session_info', (params) => params.session_id === session_id, from);
  t.match(event.payload, { model: 'gpt-5', reasoning_effort: 'max', reasoning_effort_wire: 'high', context_max: 400_000, running: false });
});

t.test('err.18 an unknown reasoning level is MODEL_SWITCH_ERR_BAD_REASONING and changes nothing', async (t) => {
  using s = await stage('model: { default: gpt-5, provider: gpt }');
  const session_id = await s.client.create();
  for (const [key, value] of [
    ['model', 'claude:claude-sonnet-4-5 --reasoning loads'],
    ['reasoning', 'loads'],
  ] as const)
    await t.rejects(s.client.link.call(configSet, { key, value, session_id }), {
      code: 'MODEL_SWITCH_ERR_BAD_REASONING',
      fix: /none, minimal, .*max/,
    });
  t.match(await infoOf(s.client, session_id), { provider: 'gpt', reasoning_effort: null });
});

// --- errors of the inference host ---

const refusal = (reason: string, more: object = {}) => ({
  status: 429,
  headers: { 'retry-after-ms': '1' },
  body: { reason, retry_after: 0.001, alternates: ['portal/other'], upgrade_url: 'https://portal.example/upgrade', ...more },
});

t.test('err.6 the body of a 429 is read: reason, retry_after, alternates, upgrade_url', async (t) => {
  using s = await stage('model: { default: big, provider: portal }');
  openai.answer(refusal('rate_limited', { retry_after: 3_600 }));
  const { complete } = await s.client.turn(await s.client.create(), 'hi');
  t.match(complete, { status: 'error', error: { code: 'PROVIDER_FAILED', fix: /wait.*portal\/other/ } });
  t.equal(openai.requests.length, 1, 'an hour is not waited for');
});

t.test('err.7 model_not_free and feature_not_free are not asked again: the fallback answers, or the sign-in verb is named', async (t) => {
  for (const reason of ['model_not_free', 'feature_not_free']) {
    using s = await stage('model: { default: big, provider: portal }');
    openai.answer(refusal(reason));
    const { complete } = await s.client.turn(await s.client.create(), 'hi');
    t.match(
      complete,
      { status: 'error', error: { code: 'PROVIDER_FAILED', fix: /^sign in at https:\/\/portal\.example\/upgrade/ } },
      reason,
    );
    t.equal(openai.requests.length, 1);
    home.write('config.yaml', `model: { default: big, provider: portal }\nfallback_providers: ["claude:claude-sonnet-4-5"]\n${providers}`);
    openai.answer(refusal(reason));
    t.match((await s.client.turn(await s.client.create(), 'hi')).complete, { status: 'complete', text: 'ok' });
    t.equal(claude.requests.length, 1);
  }
});

t.test('err.8 at_capacity, admission_closed and rate_limited are waited out with the one free-tier key', async (t) => {
  for (const reason of ['at_capacity', 'admission_closed', 'rate_limited']) {
    using s = await stage('model: { default: big, provider: portal }');
    openai.answer(refusal(reason), refusal(reason), { text: 'in' });
    t.match((await s.client.turn(await s.client.create(), 'hi')).complete, { status: 'complete', text: 'in' }, reason);
    t.same(
      openai.requests.map(({ headers }) => headers.authorization),
      Array(3).fill('Bearer anon-secret'),
    );
  }
});

/** The status that the host answers the first of two turns with. */
async function abandoned(t: Test, { status, model }: { status: number; model: string }): Promise<void> {
  using s = await stage(`model: { default: ${model}, provider: portal }\nfallback_providers: ["claude:claude-sonnet-4-5"]`);
  openai.answer({ status });
  const session_id = await s.client.create();
  t.match((await s.client.turn(session_id, 'one')).complete, { status: 'complete', text: 'ok' });
  t.match((await s.client.turn(session_id, 'two')).complete, { status: 'complete' });
  t.same([openai.requests.length, claude.requests.length], [1, 2]);
}

t.test('err.9 a request on the wrong inference host (400) abandons that way for the process, without a second try', (t) =>
  abandoned(t, { status: 400, model: 'astray' }),
);

t.test('err.10 a dark free tier (403) abandons that way for the process, without a second try', (t) =>
  abandoned(t, { status: 403, model: 'in-the-dark' }),
);

t.test('err.11 x-portal-model-switch moves the session with the next call, and the default that still names portal/welcome', async (t) => {
  using s = await stage('model: { default: portal/welcome, provider: portal }');
  const session_id = await s.client.create();
  openai.answer({ text: 'hello', headers: { 'x-portal-model-switch': 'maker/behind-it' } });
  await s.client.turn(session_id, 'one');
  await until('the default has moved', () => /default: maker\/behind-it/.test(written()));
  await s.client.turn(session_id, 'two');
  t.same(
    openai.requests.map(({ body }) => body.model),
    ['portal/welcome', 'maker/behind-it'],
  );
  t.match(await infoOf(s.client, session_id), { provider: 'portal', model: 'maker/behind-it' });

  using own = await stage('model: { default: gpt-5, provider: gpt }');
  openai.answer({ text: 'hello', headers: { 'x-portal-model-switch': 'maker/behind-it' } });
  const other = await own.client.create();
  await own.client.turn(other, 'one');
  await own.client.turn(other, 'two');
  t.same(
    openai.requests.map(({ body }) => body.model),
    ['gpt-5', 'gpt-5'],
    'no other provider moves anybody',
  );
});

t.test('err.15 with nothing usable the answer is no_provider_configured, with the two shortest ways out', async (t) => {
  home.write('config.yaml', 'model_catalog: { detect_local: false }\n');
  using client = await connect(worker);
  const status = await client.link.call(setupStatus, {});
  t.match(status, {
    ready: false,
    provider_configured: false,
    free_tier: null,
    message: /no_provider_configured.*OPENAI_API_KEY=.*base_url/,
  });
  t.match(await client.link.call(setupRuntimeCheck, {}), { ok: false, error: /no_provider_configured/ });
  const { complete } = await client.turn(await client.create(), 'hi');
  t.match(complete, { status: 'error', error: { code: 'NO_PROVIDER', message: /no_provider_configured/ } });
});
