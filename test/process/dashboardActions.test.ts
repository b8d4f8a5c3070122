/** Commands that the page starts: real children of a real dashboard, bounded, gone with all they started. */
import t from 'tap';
import { groupAlive } from '../../state/processIdentity.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

interface Status {
  name: string;
  running: boolean;
  pid: number;
  exit_code: number | null;
  error: string | null;
  lines: string[];
  result: { checks: { id: string; status: string; fix: string | null }[] } | null;
}

const post = (dashboard: TestDashboard, path: string, body: object = {}) =>
  dashboard.ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
const statusOf = async (dashboard: TestDashboard, name: string, lines = 200) =>
  (await dashboard.ask(`/api/actions/${name}/status?lines=${lines}`)).json<Status & { code?: string }>();

t.test('the doctor runs as a child, is joined by a second asker, and its rows are the result', async (t) => {
  using home = testHome({ '.env': 'OPENROUTER_API_KEY=sk-or-v1-abcdefghijklmnopqrstuvwxyz012345\n' });
  await using dashboard = await startDashboard(home);
  t.match((await dashboard.ask('/api/actions/doctor/status')).json(), { status: 404, code: 'NOT_FOUND' });
  const [first, second] = await Promise.all([post(dashboard, '/api/ops/doctor'), post(dashboard, '/api/ops/doctor')]);
  t.equal(first.status, 202);
  t.same(first.json(), second.json());
  t.match(first.json(), { name: 'doctor', ok: true, pid: Number });
  const { pid } = first.json<{ pid: number }>();

  t.match((await post(dashboard, '/api/ops/doctor', { online: true })).json(), { status: 409, code: 'ACTION_RUNNING', fix: String });
  const ended = await until('the doctor is done', async () => {
    const status = await statusOf(dashboard, 'doctor');
    return status.running ? undefined : status;
  });
  t.match(ended, { name: 'doctor', running: false, pid, error: null });
  t.ok(ended.exit_code === 0 || ended.exit_code === 1);
  t.ok(ended.result!.checks.length > 20);
  t.ok(ended.result!.checks.every(({ status, fix }) => (status === 'warn' || status === 'fail' ? fix !== null : true)));
  t.notOk(groupAlive(pid));
});

t.test('a dashboard that leaves takes the whole group of a running command with it', async (t) => {
  using home = testHome();
  let pid: number;
  {
    await using dashboard = await startDashboard(home);
    pid = (await post(dashboard, '/api/ops/doctor')).json<{ pid: number }>().pid;
    t.ok(groupAlive(pid));
    dashboard.worker.child.kill('SIGTERM');
    await until('the dashboard has left', () => dashboard.worker.child.exitCode !== null);
  }
  t.notOk(groupAlive(pid));
});

t.test('each profile has a doctor of its own, and a plain word in .env hides nothing of what it found', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
  await using dashboard = await startDashboard(home);
  const set = {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key: 'FAVOURITE', value: 'checks' }),
  };
  t.equal((await dashboard.ask('/api/env', set)).status, 200);
  t.match((await post(dashboard, '/api/ops/doctor', { profile: 'work' })).json(), { name: 'doctor-work' });
  t.match(await statusOf(dashboard, 'doctor'), { code: 'NOT_FOUND' }, 'the default one has not been asked');
  const { result } = await until('its end', async () => {
    const status = await statusOf(dashboard, 'doctor-work');
    return !status.running && status;
  });
  t.ok(Array.isArray(result!.checks), 'the rows are there');
});

t.test('strangers get neither an action nor its output', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  for (const [method, path] of [
    ['POST', '/api/ops/doctor'],
    ['GET', '/api/actions/doctor/status'],
  ] as const) {
    t.equal((await dashboard.ask(path, { method, token: false })).status, 401, path);
  }
  t.equal((await post(dashboard, '/api/ops/doctor', { argv: ['down'] })).status, 422);
  t.equal((await post(dashboard, '/api/ops/doctor', { profile: 'nobody' })).status, 404);
});
