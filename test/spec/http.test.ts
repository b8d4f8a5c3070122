/** Interface spec, "HTTP and WebSocket" and the HTTP rows of "Errors", through the real workers. */
import t from 'tap';
import { createJob, listRuns } from '../../ipc/contracts/cron.ts';
import { httpRoutes } from '../../ipc/contracts/http/table.ts';
import { engagePause, liftPause } from '../../state/pause.ts';
import { closed, refused, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { fireHeaders } from '../harness/fireSignature.ts';
import { startWorker } from '../harness/worker.ts';

const SECRET = 'fire-secret-of-the-test';

function fire(dashboard: TestDashboard, body: unknown, secret = SECRET) {
  const text = JSON.stringify(body);
  const headers = { 'Content-Type': 'application/json', ...fireHeaders(text, { secret }) };
  return dashboard.ask('/api/cron/fire', { method: 'POST', headers, body: text, token: false });
}

t.test('http.1 GET /api/status answers without a token as soon as the backend is ready', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const { status, headers, json } = await dashboard.ask('/api/status', { token: false });
  t.equal(status, 200);
  t.match(headers, { 'content-type': /application\/json/, 'cache-control': 'no-store' });
  t.match(json(), {
    version: String,
    agent_home: home.root,
    gateway_running: false,
    gateway_platforms: {},
    auth_required: false,
    auth_providers: [],
    paused: null,
    active_sessions: null,
    memory: { pressure: String, last_boot_unclean: false, last_boot_suspected_oom: false, boot_id: String },
    disk: { pressure: String, free_mb: Number },
    config_version: Number,
  });
});

t.test('ver.5 HTTP paths carry no version segment', async (t) => {
  t.ok(httpRoutes.length > 30);
  t.same(
    httpRoutes.filter(({ path }) => /\/v\d+(?:[/.]|$)/i.test(path)).map(({ key }) => key),
    [],
  );
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.equal((await dashboard.ask('/api/v1/status')).status, 404);
});

t.test('http.2 WS /api/ws carries chat sessions and RPC of the gateway', async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  const socket = dashboard.socket('/api/ws');
  const frames: { id?: number; result?: { session_id: string }; params?: { type: string; payload: { text?: string } } }[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())));
  await until('gateway.ready comes first', () => frames[0]?.params?.type === 'gateway.ready');
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.create', params: {} }));
  const { session_id } = await until('a session', () => frames.find(({ id }) => id === 1)?.result);
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'prompt.submit', params: { session_id, text: 'say: 2 words' } }));
  const end = await until('the answer', () => frames.find(({ params }) => params?.type === 'message.complete'));
  t.equal(end.params?.payload.text, 'alpha bravo');
  socket.close();
});

t.test('http.3 WS /api/pty is a terminal; profile points the child at that home', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
  await using _terminal = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  await using dashboard = await startDashboard(home);
  for (const [query, dir] of [
    ['', home.root],
    ['?profile=work', `${home.root}/profiles/work`],
  ] as const) {
    const socket = dashboard.socket(`/api/pty${query}`);
    let output = '';
    let ready = false;
    socket.on('message', (data: Buffer, binary) => (binary ? (output += data.toString()) : (ready = true)));
    await until('the shell', () => ready);
    socket.send(JSON.stringify({ type: 'input', data: 'echo "[$AGENT_HOME]"\r' }));
    t.ok(await until('its home', () => output.includes(`[${dir}]`)), dir);
    socket.close();
  }
});

t.test('http.13 POST /api/cron/fire runs a job for an outside scheduler', async (t) => {
  using home = testHome({ '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n`, 'scripts/ok.sh': '#!/bin/sh\necho done\n' });
  await using cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  using link = await cron.dial();
  const { job } = await link.call(createJob, { schedule: '0 3 1 1 *', script: 'ok.sh' });
  t.equal((await fire(dashboard, { job_id: 'nobody' })).status, 404);
  await fire(dashboard, { job_id: job.id });
  await until('it has run', async () => (await link.call(listRuns, { job_id: job.id })).runs[0]?.status === 'ok');
  t.equal((await link.call(listRuns, { job_id: job.id })).runs.length, 1);
});

t.test(
  'http.16 an omitted profile is the default one; the profile of the body wins over that of the query; an unknown one answers 404',
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
    await using dashboard = await startDashboard(home);
    const pause = async (query: string, body: object) => {
      const { status, json } = await dashboard.ask(`/api/pause${query}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status, ...json<{ paused?: { path: string } }>() };
    };
    const work = `${home.root}/profiles/work/ESTOP`;
    t.match(await pause('', {}), { paused: { path: home.estop } });
    t.match(await pause('?profile=work', {}), { paused: { path: work } });
    t.match(await pause('?profile=nobody', { profile: 'work' }), { paused: { path: work } });
    t.match(await pause('?profile=work', { profile: 'nobody' }), { status: 404 });
  },
);

t.test('http.17 a fire is claimed before it runs: the answer is 202 and the claim is on record', async (t) => {
  using home = testHome({ '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n`, 'scripts/ok.sh': '#!/bin/sh\necho done\n' });
  await using cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  using link = await cron.dial();
  const { job } = await link.call(createJob, { schedule: '0 3 1 1 *', script: 'ok.sh' });
  const { status, json } = await fire(dashboard, { job_id: job.id });
  t.equal(status, 202);
  t.match((await link.call(listRuns, { job_id: job.id })).runs, [
    { execution_id: json<{ execution_id: string }>().execution_id, trigger: 'fire' },
  ]);
});

t.test('err.2 cron fire while automation is paused: 503 with Retry-After: 60, the job is not claimed', async (t) => {
  using home = testHome({ '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n`, 'scripts/ok.sh': '#!/bin/sh\necho done\n' });
  await using cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  using link = await cron.dial();
  const { job } = await link.call(createJob, { schedule: '0 3 1 1 *', script: 'ok.sh' });
  home.write('ESTOP', '');
  const { status, headers, json } = await fire(dashboard, { job_id: job.id });
  t.match({ status, retry: headers['retry-after'], ...json() }, { status: 503, retry: '60', code: 'PAUSED' });
  t.same((await link.call(listRuns, { job_id: job.id })).runs, []);
  liftPause([home.estop]);
  engagePause(home.estop, { scope: ['gateway'] });
  t.equal((await fire(dashboard, { job_id: job.id })).status, 202, 'a pause of another part does not hold it');
});

t.test('lim.7 the retry hint of a paused fire is 60 seconds, for whatever job', async (t) => {
  using home = testHome({ '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n`, ESTOP: '{}' });
  await using dashboard = await startDashboard(home);
  t.equal((await fire(dashboard, { job_id: 'nobody' })).headers['retry-after'], '60');
});

t.test('err.3 cron fire whose verifier fails answers 401, also when paused', async (t) => {
  using home = testHome({ '.env': `AGENT_CRON_FIRE_SECRET=${SECRET}\n` });
  await using dashboard = await startDashboard(home);
  t.equal((await fire(dashboard, { job_id: 'any' }, 'another secret')).status, 401);
  engagePause(home.estop, {});
  t.equal((await fire(dashboard, { job_id: 'any' }, 'another secret')).status, 401);
});

t.test('err.4 an unknown profile on a scoped endpoint answers 404', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  for (const path of ['/api/logs', '/api/sessions', '/api/sessions/x/messages']) {
    const { status, json } = await dashboard.ask(`${path}?profile=nobody`);
    t.match({ status, ...json() }, { status: 404, code: 'UNKNOWN_PROFILE' }, path);
  }
  t.equal(await refused(dashboard.socket('/api/pty?profile=nobody')), 404);
});

t.test('err.5 a WebSocket that the guard refuses is closed with 4403', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.equal((await closed(dashboard.socket('/api/ws', { headers: { Host: 'evil.example' } }))).code, 4403);
  t.equal((await closed(dashboard.socket('/api/pty', { origin: 'http://evil.example' }))).code, 4403);
});
