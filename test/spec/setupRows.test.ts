/** Interface spec, HTTP rows of configuration, environment, models and provider sign-in; and what no answer may hold. */
import { readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { startDashboard, type Answer } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startIdentityProvider, walkForms } from '../harness/identityProvider.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);
await using openai = await startOpenAi();
await using server = await startIdentityProvider();
const SECRETS = ['sk-box-1234567890abcdefgh', 'bearer-in-config-1', 'mcp-token-in-config-2', 'sk-new-0987654321qwertyui'];
const TEXT = `# mine
model: { default: gpt-5, provider: box }
model_catalog: { detect_local: false }
providers:
  box: { kind: openai, base_url: "${openai.url}", key_env: BOX_KEY, headers: { X-Pass: ${SECRETS[1]} } }
  web: { base_url: "${openai.url}", oauth: ${server.oauth('pkce')} }
mcp_servers:
  notes: { command: notes, enabled: false, env: { NOTES_TOKEN: ${SECRETS[2]} } }
`;
using home = testHome({
  '.env': `# keys\nBOX_KEY=${SECRETS[0]}\n`,
  'config.yaml': TEXT,
  'profiles/work/SOUL.md': 'You work.',
  'profiles/work/config.yaml': 'timezone: UTC\n',
});
await using agent = await startWorker(home, 'agent');
await using dashboard = await startDashboard(home);

/** Everything that was ever answered, to be searched for secrets. */
const said: string[] = [];

async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await dashboard.ask(path, {
    method,
    headers: { ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (path !== '/api/env/reveal') said.push(answer.text);
  return answer;
}

const file = () => readFileSync(home.config, 'utf8');

await t.test('http.4 GET and PUT /api/config: values are merged, comments stay, and what takes effect when is said', async (t) => {
  const first = await call('GET', '/api/config');
  t.match(first.json(), { config: { model: { default: 'gpt-5' } }, path: home.config, problem: null, unknown: [] });
  t.match(first.headers, { etag: `"${first.json<{ version: string }>().version}"` });
  t.equal((await call('GET', '/api/config', undefined, { 'If-None-Match': first.headers.etag! })).status, 304);
  const put = await call('PUT', '/api/config', { config: { cron: { max_parallel_jobs: 2 }, logging: { level: 'debug' } } });
  t.match(put.json(), {
    ok: true,
    changed: [
      { key: 'cron', applies: 'live' },
      { key: 'logging', applies: 'slot' },
    ],
    restart_required: [],
  });
  t.match(put.json<{ restarts: string[] }>().restarts, ['agent']);
  t.match(file(), /^# mine\n[\s\S]*max_parallel_jobs: 2/);
  const stale = await call('PUT', '/api/config', { config: { timezone: 'UTC' } }, { 'If-Match': first.headers.etag! });
  t.match([stale.status, stale.json()], [409, { code: 'CONFIG_CHANGED', changed: [{ key: 'cron' }, { key: 'logging' }] }]);
  const bad = await call('PUT', '/api/config', { config: { dashboard: { port: 'x' } } });
  t.match([bad.status, bad.json()], [400, { code: 'CONFIG_INVALID', at: { key: 'dashboard.port' } }]);
  const locked = await call('PUT', '/api/config', { config: { dashboard: { port: 0 } } });
  t.match([locked.status, locked.json()], [422, { code: 'CONFIG_LOCKOUT', detail: /lock you out/ }]);
  t.match((await call('GET', '/api/config?profile=work')).json(), { config: { timezone: 'UTC' } });
  t.match((await call('GET', '/api/config/defaults')).json(), { config: { dashboard: { port: 9119 } } });
  t.match((await call('GET', '/api/config/schema')).json(), { fields: { 'logging.level': { type: 'choice' } }, category_order: ['model'] });
});

await t.test(
  'http.4 GET and PUT /api/config/raw: the text as it stands, errors with line and column, the last good one serves',
  async (t) => {
    const { yaml, version } = (await call('GET', '/api/config/raw')).json<{ yaml: string; version: string }>();
    t.match(yaml, /# mine[\s\S]*X-Pass: "\[redacted\]"/);
    const bad = await call('PUT', '/api/config/raw', { yaml_text: `${yaml}dashboard: { port: lots }\n`, version });
    t.match([bad.status, bad.json()], [400, { at: { line: yaml.split('\n').length, key: 'dashboard.port' }, fix: /number/ }]);
    t.equal((await call('PUT', '/api/config/raw', { yaml_text: 'x'.repeat(1_500_000) })).status, 400);
    t.equal((await call('PUT', '/api/config/raw', { yaml_text: 'x'.repeat(3_000_000) })).status, 413);
    t.match((await call('PUT', '/api/config/raw', { yaml_text: `${yaml}timezone: UTC\n`, version })).json(), {
      ok: true,
      changed: [{ key: 'timezone' }],
    });
    t.match(file(), new RegExp(`${SECRETS[1]}[\\s\\S]*${SECRETS[2]}[\\s\\S]*timezone: UTC`));
    t.equal((await call('PUT', '/api/config/raw', { yaml_text: yaml, version })).status, 409);
  },
);

await t.test('http.5 GET, PUT, DELETE /api/env and its reveal, which is limited and on record', async (t) => {
  t.match((await call('GET', '/api/env')).json(), {
    BOX_KEY: { is_set: true, source: 'env_file', is_password: true, used_by: ['providers.box.key_env'] },
    OPENAI_API_KEY: { is_set: false, url: /^https/, category: 'providers' },
  });
  t.match((await call('PUT', '/api/env', { key: 'NEW_KEY', value: SECRETS[3] })).json(), { ok: true, replaced: false });
  t.match(readFileSync(home.env, 'utf8'), new RegExp(`# keys\\nBOX_KEY=.*\\nNEW_KEY=${SECRETS[3]}`));
  t.equal(statSync(home.env).mode & 0o777, 0o600);
  t.same((await call('POST', '/api/env/reveal', { key: 'NEW_KEY' })).json(), { key: 'NEW_KEY', value: SECRETS[3] });
  t.match((await call('DELETE', '/api/env', { key: 'NEW_KEY' })).json(), { ok: true });
  t.equal((await call('DELETE', '/api/env', { key: 'NEW_KEY' })).status, 404);
  t.equal((await call('PUT', '/api/env', { key: 'LD_PRELOAD', value: '/x.so' })).status, 422);
  t.equal((await call('PUT', '/api/env', { key: 'no-name', value: 'x' })).status, 422);
  const reveals = await Promise.all(Array.from({ length: 12 }, () => call('POST', '/api/env/reveal', { key: 'BOX_KEY' })));
  t.same(new Set(reveals.map(({ status }) => status)), new Set([200, 429]));
  t.ok(Number(reveals.find(({ status }) => status === 429)!.headers['retry-after']) > 1);
  t.match(readFileSync(`${home.logs}/gui.log`, 'utf8'), /BOX_KEY of .env was shown in the dashboard/);
  t.match((await call('PUT', '/api/env?profile=work', { key: 'OF_WORK', value: 'x' })).json(), { ok: true });
  t.match(readFileSync(home.profile('work').env, 'utf8'), 'OF_WORK=x');
});

await t.test('http.8 GET /api/model/info, options and auxiliary say what answers and what could', async (t) => {
  t.match((await call('GET', '/api/model/info')).json(), {
    provider: 'box',
    model: 'gpt-5',
    capabilities: { supports_tools: true, supports_reasoning: true },
    effective_context_length: Number,
  });
  const { providers } = (await call('GET', '/api/model/options?refresh=1')).json<{ providers: { name: string; usable: boolean }[] }>();
  t.same(
    providers.map(({ name, usable }) => [name, usable]),
    [
      ['box', true],
      ['web', false],
    ],
  );
  const all = (await call('GET', '/api/model/options?include_unconfigured=true')).json<{ providers: object[] }>();
  t.ok(all.providers.length > providers.length);
  t.match((await call('GET', '/api/model/auxiliary')).json(), { tasks: [{ task: 'compression', model: null }], main: { model: 'gpt-5' } });
});

await t.test('http.9 POST /api/model/set chooses for good, asks about a dear one, and names side work that stays behind', async (t) => {
  t.match((await call('POST', '/api/model/set', { scope: 'auxiliary', task: 'title', provider: 'box', model: 'gpt-4o' })).json(), {
    ok: true,
    tasks: ['title'],
  });
  t.match(file(), /# mine[\s\S]*title:[\s\S]*gpt-4o/);
  await call('PUT', '/api/config', {
    config: {
      providers: { dear: { kind: 'openai', base_url: openai.url, key_env: 'BOX_KEY', prices: { grand: { input: 150, output: 600 } } } },
    },
  });
  const dear = { scope: 'main', provider: 'dear', model: 'grand' };
  const asked = await until('the provider is known', async () => {
    const answer = (await call('POST', '/api/model/set', dear)).json<{ confirm_required?: boolean }>();
    return answer.confirm_required === undefined ? undefined : answer;
  });
  t.match(asked, { ok: false, confirm_required: true, confirm_message: /\$150/ });
  t.match(file(), /default: gpt-5/);
  t.match((await call('POST', '/api/model/set', { ...dear, confirm_expensive_model: true })).json(), {
    ok: true,
    provider: 'dear',
    model: 'grand',
    stale_aux: ['title'],
  });
  t.match((await call('POST', '/api/model/set', { scope: 'auxiliary', task: '__reset__' })).json(), { reset: true });
  t.notMatch(file(), 'title');
  const unknown = await call('POST', '/api/model/set', { scope: 'main', provider: 'nobody', model: 'x' });
  t.match([unknown.status, unknown.json()], [422, { code: 'UNKNOWN_MODEL' }]);
});

await t.test('http.10 /api/providers/oauth: the catalogue, a sign-in from start to end, and signing out', async (t) => {
  t.match((await call('GET', '/api/providers/oauth')).json(), { providers: [{ id: 'web', flow: 'pkce', status: { logged_in: false } }] });
  const started = (await call('POST', '/api/providers/oauth/web/start', {})).json<{ session_id: string; auth_url: string }>();
  const poll = `/api/providers/oauth/web/poll/${started.session_id}`;
  t.match((await call('GET', poll)).json(), { status: 'pending' });
  const { url } = await walkForms(started.auth_url, { stopAt: /\/callback\?/ });
  const submitted = await call('POST', '/api/providers/oauth/web/submit', { session_id: started.session_id, code: url });
  t.match(submitted.json(), { ok: true, status: 'approved' });
  SECRETS.push(
    (JSON.parse(readFileSync(home.auth, 'utf8')) as { providers: { web: { access_token: string } } }).providers.web.access_token,
  );
  t.match((await call('GET', '/api/providers/oauth')).json(), { providers: [{ status: { logged_in: true } }] });
  t.equal((await call('POST', '/api/providers/oauth/box/start', {})).status, 404);
  t.equal((await call('GET', '/api/providers/oauth/web/poll/none')).status, 404);
  t.match((await call('DELETE', '/api/providers/oauth/web')).json(), { ok: true });
  const again = (await call('POST', '/api/providers/oauth/web/start', {})).json<{ session_id: string }>();
  t.match((await call('DELETE', `/api/providers/oauth/sessions/${again.session_id}`)).json(), { ok: true });
});

await t.test('err.4 and http.16 hold here: an unknown profile answers 404, the body wins over the query', async (t) => {
  for (const path of ['/api/config', '/api/config/raw', '/api/env', '/api/model/info', '/api/providers/oauth']) {
    const { status, json } = await call('GET', `${path}?profile=nobody`);
    t.match([status, json()], [404, { code: 'UNKNOWN_PROFILE' }], path);
  }
  await call('PUT', '/api/config?profile=nobody', { config: { cron: { max_parallel_jobs: 7 } }, profile: 'work' });
  t.match(readFileSync(home.profile('work').config, 'utf8'), 'max_parallel_jobs: 7');
  t.equal((await call('PUT', '/api/env?profile=work', { key: 'A', value: 'b', profile: 'nobody' })).status, 404);
});

await t.test('auth.13 no secret is in an answer, in a log or in what a process printed; keys are not taken into config.yaml', async (t) => {
  const logs = ['agent', 'gui'].map((name) => readFileSync(`${home.logs}/${name}.log`, 'utf8'));
  const everything = [...said, ...logs, dashboard.worker.output(), agent.output()].join('\n');
  t.ok(everything.length > 10_000);
  for (const secret of SECRETS) t.notMatch(everything, secret);
  t.notMatch(file(), SECRETS[0]!);
});
