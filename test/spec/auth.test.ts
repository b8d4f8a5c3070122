/** Interface spec, "Authentication", as far as the dashboard without the gate goes. */
import t from 'tap';
import fastify from 'fastify';
import { AgentError } from '../../base/errors.ts';
import type { Dashboard } from '../../services/dashboard/http.ts';
import { sendProblem } from '../../services/dashboard/problem.ts';
import { addCronFireRoute } from '../../services/dashboard/routes/cronFire.ts';
import { ensurePage } from '../harness/browser.ts';
import { closed, pageToken, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';

await ensurePage();

const tokenOfPage = async (dashboard: TestDashboard): Promise<string | null> =>
  pageToken((await dashboard.ask('/', { token: false, headers: { Cookie: await dashboard.provedCookie() } })).text);

t.test(
  'auth.1 a token is minted per boot and put into the page; AGENT_DASHBOARD_SESSION_TOKEN pins it; --insecure keeps the token path',
  async (t) => {
    using home = testHome();
    const seen = new Set<unknown>();
    for (let boot = 0; boot < 2; boot++) {
      await using dashboard = await startDashboard(home);
      const token = await tokenOfPage(dashboard);
      t.match(token, /^[0-9a-f]{64}$/);
      seen.add(token);
    }
    t.equal(seen.size, 2, 'another boot, another token');
    {
      await using pinned = await startDashboard(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: 'chosen by the operator' } });
      t.equal(await tokenOfPage(pinned), 'chosen by the operator');
      t.equal(
        (await pinned.ask('/api/logs', { token: false, headers: { 'X-Agent-Session-Token': 'chosen by the operator' } })).status,
        200,
      );
    }
    await using wide = await startDashboard(home, { env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1' } });
    t.equal((await wide.ask('/api/logs')).status, 200);
    t.equal((await wide.ask('/api/logs', { token: false })).status, 401);
  },
);

t.test('auth.6 /api/status is public, every other endpoint below /api/ requires the token', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.equal((await dashboard.ask('/api/status', { token: false })).status, 200);
  const others = [
    ['GET', '/api/workers'],
    ['POST', '/api/workers/agent/restart'],
    ['POST', '/api/pause'],
    ['DELETE', '/api/pause'],
    ['GET', '/api/logs'],
    ['GET', '/api/sessions'],
    ['GET', '/api/sessions/x/messages'],
    ['POST', '/api/cron/fire'],
    ['GET', '/api/nothing'],
    ['POST', '/api/status'],
    ['GET', '/api/'],
  ] as const;
  for (const [method, path] of others) {
    for (const headers of [{}, { 'X-Agent-Session-Token': 'wrong' }, { 'X-Agent-Session-Token': '' }] as Record<string, string>[]) {
      const { status, headers: answered } = await dashboard.ask(path, { method, headers, token: false });
      t.match(
        { status, type: answered['content-type'] },
        { status: 401, type: /^application\/problem\+json/ },
        `${method} ${path} ${JSON.stringify(headers)}`,
      );
    }
  }
  for (const path of ['/api/ws', '/api/pty', '/api/logs/follow']) {
    for (const token of [false, 'wrong'] as const)
      t.equal((await closed(dashboard.socket(path, { token }))).code, 4401, `${path} ${token}`);
  }
});

t.test('auth.7 the opaque origin null is let through to the token; other origins and foreign hosts are kept out', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const opened = dashboard.socket('/api/ws', { origin: 'null' });
  await new Promise((resolve) => opened.once('open', resolve));
  t.pass('an upgrade from a file is not refused');
  opened.terminate();
  t.equal((await closed(dashboard.socket('/api/ws', { origin: 'null', token: 'wrong' }))).code, 4401);
  const cases: { name: string; headers: Record<string, string>; want: number }[] = [
    { name: 'null origin', headers: { Origin: 'null' }, want: 200 },
    { name: 'own origin', headers: { Host: `localhost:${dashboard.port}`, Origin: `http://localhost:${dashboard.port}` }, want: 200 },
    { name: 'through a tunnel on another port', headers: { Host: 'localhost:8000', Origin: 'http://localhost:8000' }, want: 200 },
    { name: 'IPv6 loopback', headers: { Host: `[::1]:${dashboard.port}` }, want: 200 },
    { name: 'another site', headers: { Origin: 'https://evil.example' }, want: 403 },
    { name: 'another port of this machine', headers: { Origin: 'http://127.0.0.1:3000' }, want: 403 },
    { name: 'a rebound name', headers: { Host: `evil.example:${dashboard.port}` }, want: 403 },
    { name: 'a name that only begins well', headers: { Host: '127.0.0.1.evil.example' }, want: 403 },
  ];
  for (const { name, headers, want } of cases) t.equal((await dashboard.ask('/api/logs', { headers })).status, want, name);
  t.match(
    (await dashboard.ask('/', { headers: { Host: 'evil.example' } })).text,
    'FORBIDDEN_ORIGIN',
    'the page with its token is behind the guard too',
  );
});

t.test('auth.8 a verifier of the cron fire webhook that refuses or crashes yields 401', async (t) => {
  using home = testHome();
  const verifiers = [
    {
      name: 'refuses',
      verify: () => {
        throw new AgentError('UNAUTHENTICATED', 'no');
      },
    },
    {
      name: 'crashes',
      verify: () => {
        (undefined as unknown as { key: string }).key.length.toFixed();
      },
    },
    {
      name: 'crashes later',
      verify: async () => {
        await Promise.reject(new TypeError('boom'));
      },
    },
  ];
  for (const { name, verify } of verifiers) {
    const app = fastify().setErrorHandler((thrown, _request, reply) => sendProblem(reply, thrown));
    addCronFireRoute(app, { context: { home } } as unknown as Dashboard, verify);
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    t.equal((await fetch(`${address}/api/cron/fire`, { method: 'POST', body: '{}' })).status, 401, name);
    await app.close();
  }
  await using dashboard = await startDashboard(home);
  t.equal((await dashboard.ask('/api/cron/fire', { method: 'POST', body: '{}' })).status, 401, 'no secret is configured: nobody is let in');
});
