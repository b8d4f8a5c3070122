/** The HTTP API of the dashboard against the real supervisor, agent and cron workers. */
import { createHmac } from 'node:crypto';
import { appendFileSync, existsSync, renameSync } from 'node:fs';
import t from 'tap';
import { createJob } from '../../ipc/contracts/cron.ts';
import { connect } from '../harness/agentClient.ts';
import { closed, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { fireHeaders } from '../harness/fireSignature.ts';
import { startWorker } from '../harness/worker.ts';

const json = { 'Content-Type': 'application/json' };

t.test('without a supervisor the table is the last snapshot, and a command says what is missing', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.match(await problemOf(dashboard, '/api/workers'), { status: 503, code: 'NO_SUPERVISOR', fix: /agent up/ });
  t.match((await dashboard.ask('/api/workers/agent/restart', { method: 'POST' })).json(), { code: 'NO_SUPERVISOR' });
  t.match((await dashboard.ask('/api/status')).json(), { supervisor: { state: 'unknown' }, workers: [] });
});

t.test(
  'with a supervisor: the table, a receipt for a command, 202 for its own restart, and the snapshot once it is gone',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome();
    await using service = await startService(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: 'pinned-token-of-the-test' } });
    await service.ready();
    const call = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${service.port}${path}`, { method, headers: { 'X-Agent-Session-Token': 'pinned-token-of-the-test' } });
    const table = (await (await call('/api/workers')).json()) as {
      live: boolean;
      supervisor: { dashboard: string };
      workers: { slot: string; state: string }[];
    };
    t.match(table, { live: true, supervisor: { dashboard: `http://127.0.0.1:${service.port}/` } });
    t.match(
      table.workers.find(({ slot }) => slot === 'agent'),
      { state: 'ready' },
    );

    const history = await until<{ samples: object[] } | false>('memory was measured', async () => {
      const answer = (await (await call('/api/workers/agent/resources?since_ms=600000')).json()) as { samples: object[] };
      return answer.samples.length > 0 && answer;
    });
    t.match(history.samples[0], { at: String, rss_bytes: Number, cpu_percent: Number });
    t.equal((await call('/api/workers/nobody/resources')).status, 404);
    t.equal((await call('/api/workers/agent/resources?since_ms=soon')).status, 422);

    const { pid } = await service.worker('cron');
    t.match(await (await call('/api/workers/cron/restart', 'POST')).json(), {
      slot: 'cron',
      action: 'restart',
      actor: 'dashboard',
      ok: true,
      old_pid: pid,
    });
    t.equal((await call('/api/workers/nobody/restart', 'POST')).status, 404);
    t.equal((await call('/api/workers/cron/explode', 'POST')).status, 404);

    const before = (await service.worker('dashboard')).pid;
    const own = await call('/api/workers/dashboard/restart', 'POST');
    t.equal(own.status, 202);
    await until(
      'another dashboard serves',
      async () => (await service.worker('dashboard')).pid !== before && (await call('/api/status')).ok,
    );

    await service.kill('SIGKILL');
    const snapshot = await until('the snapshot is shown', async () => {
      const seen = (await (await call('/api/workers')).json()) as typeof table;
      return !seen.live && seen;
    });
    t.same(
      snapshot.workers.map(({ slot }) => slot),
      table.workers.map(({ slot }) => slot),
    );
  },
);

t.test('a configuration of twenty thousand levels is refused as a wrong request, and nothing breaks', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const body = `{"config":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
  const answer = await dashboard.ask('/api/config', { method: 'PUT', headers: json, body });
  t.match([answer.status, answer.json()], [422, { code: 'BAD_REQUEST', errors: [{ path: 'config', message: /deeper than 64/ }] }]);
  t.equal((await dashboard.ask('/api/config')).status, 200);
});

t.test('pause and resume through the API are the sentinel file, for the profile that is named', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
  await using dashboard = await startDashboard(home);
  const pause = (path: string, body: unknown) => dashboard.ask(path, { method: 'POST', headers: json, body: JSON.stringify(body) });
  t.match((await pause('/api/pause', { reason: 'lunch', ttl_seconds: 60 })).json(), { paused: { reason: 'lunch', expires_at: /Z$/ } });
  t.ok(existsSync(home.estop));
  t.match((await dashboard.ask('/api/status')).json(), { paused: { reason: 'lunch' } });
  t.match((await dashboard.ask('/api/pause', { method: 'DELETE' })).json(), { lifted: true, paused: null });
  t.notOk(existsSync(home.estop));
  const wrong = await pause('/api/pause', { reason: 5, forever: true });
  t.equal(wrong.status, 422);
  t.match(
    wrong.json<{ errors: { path: string }[] }>().errors.map(({ path }) => path),
    ['reason', 'forever'],
  );
});

t.test(
  'the pauses are listed for a profile, with what each holds; an isolated dashboard knows its own and the one that holds all',
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'You work.', 'profiles/other/SOUL.md': 'You rest.' });
    await using dashboard = await startDashboard(home);
    const send = (on: TestDashboard, method: string, path: string, body?: unknown) =>
      on.ask(path, { method, ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }) });
    const held = async (on: TestDashboard, query = '') =>
      (await on.ask(`/api/pause${query}`))
        .json<{ pauses: { profile: string; holds: string[] }[] }>()
        .pauses.map(({ profile, holds }) => [profile, holds]);
    const all = ['cron', 'gateway', 'webhook'];
    t.same(await held(dashboard, '?profile=all'), []);
    t.equal((await send(dashboard, 'POST', '/api/pause?profile=other', { profile: 'work', scope: ['cron'] })).status, 200, 'the body wins');
    t.ok(existsSync(home.profile('work').estop));
    t.same(await held(dashboard), [], 'the default profile is not concerned');
    t.same(await held(dashboard, '?profile=work'), [['work', ['cron']]]);
    home.write('profiles/other/ESTOP', '');
    home.write('ESTOP', '{"scope":["corn"]}');
    t.same(await held(dashboard, '?profile=other'), [
      ['default', all],
      ['other', all],
    ]);
    t.same(await held(dashboard, '?profile=all'), [
      ['default', all],
      ['other', all],
      ['work', ['cron']],
    ]);
    t.match(
      (await send(dashboard, 'DELETE', '/api/pause?profile=work')).json(),
      { lifted: true, paused: { path: home.estop } },
      'that of all still holds',
    );
    for (const [method, body] of [['GET'], ['POST', {}], ['DELETE']] as const)
      t.match((await send(dashboard, method, '/api/pause?profile=nobody', body)).json(), { status: 404, code: 'UNKNOWN_PROFILE' }, method);

    await using isolated = await startDashboard(home, { profile: 'other', env: { AGENT_DASHBOARD_SESSION_TOKEN: dashboard.token } });
    t.same(await held(isolated, '?profile=all'), [
      ['default', all],
      ['other', all],
    ]);
    t.match((await isolated.ask('/api/pause?profile=work')).json(), { status: 404, code: 'UNKNOWN_PROFILE' });
  },
);

t.test('sessions and messages are those of the agent worker', async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  using chat = await connect(agent);
  const id = await chat.create();
  await chat.turn(id, 'say: 3 words');
  t.match((await dashboard.ask('/api/sessions?limit=5')).json(), {
    total: 1,
    limit: 5,
    offset: 0,
    sessions: [{ id, title: 'say: 3 words' }],
  });
  t.match((await dashboard.ask(`/api/sessions/${id}/messages`)).json(), {
    session_id: id,
    messages: [{ role: 'user', content: 'say: 3 words' }, { role: 'assistant' }],
    pagination: { returned: 2 },
  });
  t.match(await problemOf(dashboard, '/api/sessions/nobody/messages'), { status: 404, code: 'UNKNOWN_SESSION' });
  await agent.kill();
  t.match(await problemOf(dashboard, '/api/sessions'), { status: 503, code: 'PEER_UNREACHABLE' });
});

t.test('the log API gives the last lines over rotated files, from a level on, of a component', async (t) => {
  using home = testHome();
  const path = `${home.logs}/agent.log`;
  const line = (n: number, level = 'info', component = 'agent') =>
    JSON.stringify({ time: new Date(n).toISOString(), level, component, pid: 1, msg: `line ${n}` });
  home.write('logs/agent.log.1', `${[1, 2, 3].map((n) => line(n)).join('\n')}\n`);
  home.write('logs/agent.log', `${[line(4), line(5, 'warn'), line(6, 'error', 'tools'), 'not json at all'].join('\n')}\n`);
  await using dashboard = await startDashboard(home);
  const messages = async (query: string) =>
    (await dashboard.ask(`/api/logs?${query}`))
      .json<{ lines: string[] }>()
      .lines.map((raw) => (raw.startsWith('{') ? (JSON.parse(raw) as { msg: string }).msg : raw));
  t.same(await messages('lines=5'), ['line 3', 'line 4', 'line 5', 'line 6', 'not json at all']);
  t.same(await messages('lines=5&level=warn'), ['line 5', 'line 6']);
  t.same(await messages('lines=5&component=tools'), ['line 6']);
  for (const [query, field] of [
    ['file=../../etc/passwd', 'file'],
    ['level=loud', 'level'],
    ['lines=1000000', 'lines'],
  ] as const) {
    t.match(await problemOf(dashboard, `/api/logs?${query}`), { status: 422, errors: [{ path: field }] });
  }

  const follower = dashboard.socket('/api/logs/follow?lines=1');
  const said: string[] = [];
  follower.on('message', (data: Buffer) => said.push(...(JSON.parse(data.toString()) as { lines: string[] }).lines));
  await until('the last line', () => said.includes('not json at all'));
  appendFileSync(path, `${line(7)}\n`);
  await until('an appended line', () => said.some((raw) => raw.includes('line 7')));
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, `${line(8)}\n`);
  appendFileSync(path, `${line(9)}\n`);
  await until('lines on both sides of a rotation', () => said.length === 4);
  t.match(
    said.slice(1).map((raw) => (JSON.parse(raw) as { msg: string }).msg),
    ['line 7', 'line 8', 'line 9'],
  );
  follower.close();
  t.equal((await closed(follower)).code, 1005);
});

t.test('cron fire: proof first, then pause, then the claim, once per occurrence', async (t) => {
  using home = testHome({ '.env': 'AGENT_CRON_FIRE_SECRET=fire-secret-of-the-test\n', 'scripts/ok.sh': '#!/bin/sh\necho done\n' });
  await using cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  using link = await cron.dial();
  const { job } = await link.call(createJob, { schedule: '0 3 1 1 *', script: 'ok.sh', name: 'yearly' });
  const SECRET = 'fire-secret-of-the-test';
  const fire = (body: unknown, change: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { ...json, Host: 'tunnel.example', ...fireHeaders(text, { secret: SECRET }), ...change };
    return dashboard.ask('/api/cron/fire', { method: 'POST', headers, body: text, token: false });
  };
  const text = JSON.stringify({ job_id: job.id });
  const seconds = Math.floor(Date.now() / 1_000);
  const overBody = createHmac('sha256', SECRET).update(text).digest('hex');
  const wrong = [
    { name: 'no signature', change: { 'X-Agent-Signature': '' } },
    { name: 'another signature', change: { 'X-Agent-Signature': `sha256=${'0'.repeat(64)}` } },
    { name: 'a signature of another length', change: { 'X-Agent-Signature': 'sha256=abcd' } },
    { name: 'an old timestamp, signed', change: fireHeaders(text, { secret: SECRET, atSeconds: seconds - 301 }) },
    { name: 'a fresh timestamp with the signature of another', change: { 'X-Agent-Timestamp': String(seconds + 1) } },
    { name: 'a signature over the body alone', change: { 'X-Agent-Signature': `sha256=${overBody}` } },
    { name: 'a timestamp that is none', change: { 'X-Agent-Timestamp': 'today' } },
  ];
  for (const { name, change } of wrong) t.equal((await fire({ job_id: job.id }, change)).status, 401, name);
  t.equal((await fire('{"job_id":', { 'X-Agent-Signature': 'sha256=00' })).status, 401, 'a body is not even read before the proof');
  t.equal((await fire('{"job_id":')).status, 400);
  home.write('config.yaml', 'cron: { fire_body_signature: true }\n');
  const bodyAlone = { 'X-Agent-Signature': `sha256=${createHmac('sha256', SECRET).update('{"job_id":"nobody"}').digest('hex')}` };
  t.equal((await fire('{"job_id":"nobody"}', bodyAlone)).status, 404, 'a signature over the body alone, where it is allowed');
  t.equal((await fire({ job_id: 'nobody' })).status, 404);

  const occurrence = { job_id: job.id, scheduled_at: '2026-01-01T03:00:00Z' };
  const first = await fire(occurrence);
  t.equal(first.status, 202);
  t.match(first.json(), { claimed: true, execution_id: String });
  const second = await fire(occurrence);
  t.equal(second.status, 200);
  t.same(second.json(), { claimed: false });
  link.close();
});

async function problemOf(dashboard: TestDashboard, path: string): Promise<Record<string, unknown>> {
  const { headers, json: parse } = await dashboard.ask(path);
  if (headers['content-type'] !== 'application/problem+json; charset=utf-8' && headers['content-type'] !== 'application/problem+json')
    return { type: headers['content-type'] };
  return parse();
}
