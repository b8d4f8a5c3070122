/** Interface spec, "HTTP and WebSocket": rows http.6, http.7, http.11 and http.12, through the real workers. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { TestDashboard } from '../harness/dashboard.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { fixture } from '../harness/mcp.ts';
import { serverProgram, startRegistry } from '../harness/npmRegistry.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const send = (dashboard: TestDashboard, method: string, path: string, body?: object) =>
  dashboard.ask(path, {
    method,
    ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  });

const soul = { 'profiles/work/SOUL.md': 'You work.' };

t.test('http.6 /api/mcp/servers lists, adds, tests, switches and removes; the probe fills in placeholders of that profile', async (t) => {
  using home = testHome({ ...soul, '.env': 'SHARED=of-the-root\n', 'profiles/work/.env': 'SHARED=of-work\n' });
  await using _broker = await startWorker(home, 'mcp');
  await using dashboard = await startDashboard(home);
  const work = home.profile('work');
  const env = { SHARED_NAME: '${SHARED}', API_KEY: 'hunter2-hunter2', LEVEL: 'info' };
  const added = await send(dashboard, 'POST', '/api/mcp/servers?profile=default', {
    name: 'env',
    command: process.execPath,
    args: [fixture('tellsEnv')],
    env,
    profile: 'work',
  });
  t.equal(added.status, 201, added.text);
  t.match(added.json(), { variables: ['MCP_ENV_API_KEY'] });
  t.notOk(existsSync(home.config), 'the body wins over the query: the root has no such server');
  t.notMatch(readFileSync(work.config, 'utf8'), /hunter2/, 'the secret is not in config.yaml');
  t.match(readFileSync(work.env, 'utf8'), /hunter2/);
  t.equal(statSync(work.env).mode & 0o777, 0o600);

  const listed = await send(dashboard, 'GET', '/api/mcp/servers?profile=work');
  t.match(listed.json(), {
    live: true,
    servers: [
      {
        name: 'env',
        transport: 'stdio',
        enabled: true,
        auth: null,
        env: { SHARED_NAME: '${SHARED}', API_KEY: '${MCP_ENV_API_KEY}', LEVEL: '[redacted]' },
      },
    ],
  });
  t.notMatch(listed.text, /hunter2|of-work/);
  t.same((await send(dashboard, 'GET', '/api/mcp/servers')).json(), { servers: [], live: true }, 'omitted = the default profile');
  t.equal((await send(dashboard, 'GET', '/api/mcp/servers?profile=nope')).status, 404);

  const tested = await send(dashboard, 'POST', '/api/mcp/servers/env/test', { profile: 'work' });
  t.match(tested.json(), {
    ok: true,
    error: null,
    tools: [{ name: 'env', description: 'of-work [redacted] info' }],
  });

  for (const [body, path] of [
    [{ name: '../x', command: 'x' }, 'name'],
    [{ name: 'constructor', command: 'x' }, 'name'],
    [{ name: 'both', command: 'x', url: 'http://127.0.0.1:1/' }, 'url'],
    [{ name: 'file', url: 'file:///etc/passwd' }, 'url'],
    [{ name: 'token', url: 'http://127.0.0.1:1/', auth: 'header' }, 'bearer_token'],
    [{ name: 'more', command: 'x', surprise: 1 }, 'surprise'],
    [{ name: 'env2', command: 'x', env: { 'A B': '1' } }, 'env.A B'],
  ] as const) {
    const refused = await send(dashboard, 'POST', '/api/mcp/servers', { ...body, profile: 'work' });
    t.match({ status: refused.status, ...refused.json() }, { status: 422, errors: [{ path }] }, JSON.stringify(body));
  }
  t.equal((await send(dashboard, 'POST', '/api/mcp/servers', { name: 'env', command: 'x', profile: 'work' })).status, 409);
  t.equal((await send(dashboard, 'PUT', '/api/mcp/servers/nope/enabled', { enabled: true })).status, 404);

  const off = await send(dashboard, 'PUT', '/api/mcp/servers/env/enabled', { enabled: false, profile: 'work' });
  t.match(off.json(), { server: { name: 'env', enabled: false, state: 'disabled', tools: null } });
  t.match((await send(dashboard, 'POST', '/api/mcp/servers/env/test', { profile: 'work' })).json(), { ok: false, error: /disabled/ });
  const removed = await send(dashboard, 'DELETE', '/api/mcp/servers/env?profile=work');
  t.same(removed.json(), { removed: 'env', variables: ['MCP_ENV_API_KEY'] });
  t.notMatch(readFileSync(work.env, 'utf8'), /hunter2/);
  t.match(readFileSync(work.env, 'utf8'), /SHARED=of-work/, 'what others may use stays');
});

t.test('http.7 /api/mcp/catalog lists and installs by the agent command of that profile', async (t) => {
  await using registry = await startRegistry(
    '@brave/brave-search-mcp-server',
    '2.1.4',
    'brave-search-mcp-server',
    serverProgram([{ name: 'search', inputSchema: { type: 'object' } }]),
  );
  using home = testHome({ ...soul, '.npmrc': `registry=${registry.address}\n` });
  await using _broker = await startWorker(home, 'mcp');
  await using dashboard = await startDashboard(home);
  const entry = async () =>
    (await send(dashboard, 'GET', '/api/mcp/catalog?profile=work'))
      .json<{ entries: { name: string; installed: boolean; fields: { name: string; secret: boolean; set: boolean }[] }[] }>()
      .entries.find(({ name }) => name === 'brave-search');
  t.match(await entry(), { installed: false, fields: [{ name: 'BRAVE_API_KEY', secret: true, set: false }] });
  const install = (env: object) => send(dashboard, 'POST', '/api/mcp/catalog/install', { name: 'brave-search', env, profile: 'work' });
  t.match((await install({})).json(), { status: 422, errors: [{ path: 'env.BRAVE_API_KEY', message: 'it is needed' }] });
  t.match((await install({ BRAVE_API_KEY: 'k', PATH: '/evil' })).json(), { status: 422, errors: [{ path: 'env.PATH' }] });
  t.equal((await send(dashboard, 'POST', '/api/mcp/catalog/install', { name: 'nope' })).status, 404);

  const started = await install({ BRAVE_API_KEY: 'brave-secret-1' });
  t.match({ status: started.status, ...started.json() }, { status: 202, ok: true, name: 'brave-search', background: true, action: String });
  const { action } = started.json<{ action: string }>();
  const end = await until(
    'the command is over',
    async () => {
      const status = (await send(dashboard, 'GET', `/api/actions/${action}/status`)).json<{
        running: boolean;
        exit_code: number;
        lines: string[];
      }>();
      return status.running ? undefined : status;
    },
    60_000,
  );
  t.match(end, { exit_code: 0 }, end.lines.join('\n'));
  t.match(end.lines.join('\n'), /Fetching @brave\/brave-search-mcp-server@2\.1\.4[\s\S]*brave-search works: 1 tools/);
  t.notMatch(JSON.stringify(end), /brave-secret/);
  t.match(readFileSync(home.profile('work').config, 'utf8'), /BRAVE_API_KEY: \$\{BRAVE_API_KEY\}/);
  t.notOk(existsSync(home.config), 'the other profile is as it was');
  t.match(await entry(), { installed: true, fields: [{ set: true }] });
});

t.test('http.11 GET /api/cron/blueprints is the catalogue of blueprints', async (t) => {
  using home = testHome();
  await using _cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  const { status, json } = await send(dashboard, 'GET', '/api/cron/blueprints');
  t.equal(status, 200);
  const { blueprints } = json<{ blueprints: { key: string; fields: object[] }[] }>();
  t.ok(blueprints.length >= 6 && blueprints.length <= 10);
  t.match(
    blueprints.find(({ key }) => key === 'morning-briefing'),
    {
      title: 'Morning briefing',
      description: String,
      category: String,
      tags: Array,
      command: 'agent cron add --blueprint morning-briefing',
      appUrl: '/cron?blueprint=morning-briefing',
    },
  );
  for (const field of blueprints.flatMap(({ fields }) => fields)) {
    t.match(field, {
      name: /^[a-z_]+$/,
      type: /^(time|enum|text|weekdays)$/,
      label: String,
      options: Array,
      optional: Boolean,
      strict: Boolean,
    });
  }
});

t.test(
  'other.2 slots are of kind time, enum, text or weekdays, each checked as such; filling makes one job, looking at it none',
  async (t) => {
    using home = testHome();
    await using _cron = await startWorker(home, 'cron');
    await using dashboard = await startDashboard(home);
    const fill = (verb: 'preview' | 'instantiate', blueprint: string, values: object) =>
      send(dashboard, 'POST', `/api/cron/blueprints/${verb}`, { blueprint, values });
    const { blueprints } = (await send(dashboard, 'GET', '/api/cron/blueprints')).json<{
      blueprints: { key: string; fields: { name: string; type: string; default: string | null }[] }[];
    }>();
    t.same([...new Set(blueprints.flatMap(({ fields }) => fields.map(({ type }) => type)))].toSorted(), [
      'enum',
      'text',
      'time',
      'weekdays',
    ]);
    for (const { key, fields } of blueprints)
      t.ok(
        fields.some(({ name, type }) => name === 'schedule' && type === 'text'),
        key,
      );

    const days: [string, string][] = [
      ['day', 'every day at 07:00'],
      ['weekdays', 'Monday to Friday at 07:00'],
      ['Weekends', 'Saturday and Sunday at 07:00'],
      ['thu, Monday', 'every Monday and Thursday at 07:00'],
      ['mon,tue,wed,thu,fri', 'Monday to Friday at 07:00'],
      ['sun,weekday,sat', 'every day at 07:00'],
    ];
    for (const [given, want] of days)
      t.match((await fill('preview', 'morning-briefing', { days: given })).json(), { schedule: { words: want } }, given);
    t.match((await fill('preview', 'morning-briefing', { schedule: 'every 2h' })).json(), { schedule: { words: 'every 2 hours' } });
    const wrong: [string, object, string][] = [
      ['morning-briefing', { days: 'someday' }, 'values.days'],
      ['morning-briefing', { days: 'mon,,tue' }, 'values.days'],
      ['morning-briefing', { days: '1-5' }, 'values.days'],
      ['morning-briefing', { time: '24:00' }, 'values.time'],
      ['morning-briefing', { lines: '2' }, 'values.lines'],
      ['disk-space', { every: '7m' }, 'values.every'],
      ['reminder', { what: ' ' }, 'values.what'],
    ];
    for (const [key, values, path] of wrong) {
      const { status, json } = await fill('instantiate', key, values);
      t.match({ status, ...json() }, { status: 422, errors: [{ path }] }, JSON.stringify(values));
    }
    const jobs = async () => (await send(dashboard, 'GET', '/api/cron/jobs')).json<{ jobs: object[] }>().jobs.length;
    t.equal(await jobs(), 0);
    t.equal((await fill('instantiate', 'reminder', { what: 'tea', days: 'tue' })).status, 201);
    t.equal(await jobs(), 1);
  },
);

t.test('http.12 POST /api/cron/blueprints/instantiate fills a blueprint and creates the job', async (t) => {
  using home = testHome({ ...soul });
  await using _cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  const make = (blueprint: string, values: object, more: object = {}) =>
    send(dashboard, 'POST', '/api/cron/blueprints/instantiate', { blueprint, values, ...more });
  const made = await make('weekly-review', { weekday: 'sunday', time: '9:05' }, { profile: 'work' });
  t.match(
    { status: made.status, ...made.json() },
    { status: 201, profile: 'work', is_default_profile: false, schedule: { words: 'every Sunday at 09:05' }, state: 'scheduled' },
  );
  t.same((await send(dashboard, 'GET', '/api/cron/jobs')).json(), { jobs: [] });
  t.equal((await send(dashboard, 'GET', '/api/cron/jobs?profile=all')).json<{ jobs: object[] }>().jobs.length, 1);

  const wrong = await make('disk-space', { percent: 101, path: 'relative', every: '7m', extra: 'x' });
  t.equal(wrong.status, 422);
  t.same(
    wrong
      .json<{ errors: { path: string }[] }>()
      .errors.map(({ path }) => path)
      .toSorted(),
    ['values.every', 'values.extra', 'values.path', 'values.percent'],
  );
  t.equal((await make('no-such', {})).status, 404);
  t.notOk(existsSync(join(home.scripts, 'blueprints')), 'a refused one leaves nothing behind');

  const { id, script } = (await make('reminder', { what: `it's "$(touch ${home.root}/owned)" \`date\`` })).json<{
    id: string;
    script: string;
  }>();
  const { execution_id } = (await send(dashboard, 'POST', `/api/cron/jobs/${id}/trigger`, {})).json<{ execution_id: string }>();
  const output = await until('the run has ended', async () => {
    const answer = await send(dashboard, 'GET', `/api/cron/runs/${execution_id}/output`);
    return answer.status === 200 ? answer.json<{ text: string }>() : undefined;
  });
  t.ok(output.text.includes(`it's "$(touch ${home.root}/owned)" \`date\``), 'the words come out as they were written');
  t.notOk(existsSync(join(home.root, 'owned')), 'no shell has read them');
  t.equal((await send(dashboard, 'DELETE', `/api/cron/jobs/${id}`)).status, 200);
  t.notOk(existsSync(join(home.scripts, script)), 'its script goes with it');
});
