/** What clients without proof get from the dashboard: no page with the token, no hold on its connections. */
import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { ensurePage } from '../harness/browser.ts';
import { pageToken, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

await ensurePage();
const run = promisify(execFile);
t.setTimeout(200_000);

/** Writes to a fresh connection; answers what came back, and whether the server has closed it. */
function talk(port: number, text: string): { socket: Socket; answer(): string; closed(): boolean } {
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  let answer = '';
  let closed = false;
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.on('error', () => {}).on('close', () => (closed = true));
  return { socket, answer: () => answer, closed: () => closed };
}

const uploadHead =
  'POST /api/files/upload-stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n';

t.test('the page holds the token only for a browser that has shown a code, on a direct connection', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const Cookie = await dashboard.provedCookie();
  const tokenWith = async (headers: Record<string, string>) => pageToken((await dashboard.ask('/', { token: false, headers })).text);
  t.equal(await tokenWith({}), null, 'an address alone proves nothing');
  t.equal(await tokenWith({ Cookie }), dashboard.token);
  t.equal(await tokenWith({ Cookie: Cookie.replace(/.$/, '_') }), null, 'a changed cookie');
  for (const name of [
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Server',
    'Forwarded',
    'Via',
    'X-Real-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'True-Client-IP',
  ])
    t.equal(await tokenWith({ Cookie, [name]: 'x' }), null, name);
  const old = talk(dashboard.port, `GET / HTTP/1.0\r\nHost: localhost\r\nCookie: ${Cookie}\r\n\r\n`);
  await until('HTTP/1.0 is answered', old.closed);
  t.equal(pageToken(old.answer()), null, 'HTTP/1.0 is a proxy');
});

t.test('the cookie is for this browser alone, survives a crash of the dashboard, and a code is good once', async (t) => {
  using home = testHome();
  const pinned = { AGENT_DASHBOARD_PORT: '0' };
  let cookie = '';
  let port = 0;
  {
    await using dashboard = await startDashboard(home, { env: pinned });
    cookie = await dashboard.provedCookie();
    port = dashboard.port;
    const answer = await dashboard.ask('/', { token: false, headers: { Cookie: cookie } });
    t.match(String(answer.headers['set-cookie']), /HttpOnly; SameSite=Strict/);
    const again = await dashboard.ask('/auth/code', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"code":"x"}',
    });
    t.equal(again.status, 401);
    await dashboard.worker.kill();
  }
  await using next = await startDashboard(home, { env: { AGENT_DASHBOARD_PORT: String(port) } });
  t.equal(pageToken((await next.ask('/', { token: false, headers: { Cookie: cookie } })).text), next.token);
});

t.test('another user of this machine gets the page without the token', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const cookie = await dashboard.provedCookie();
  const asked = `exec 3<>/dev/tcp/127.0.0.1/${dashboard.port}; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nCookie: ${cookie}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3`;
  const own = process.getuid!();
  // Root alone can become another user.
  const users = [{ uid: own, want: true }, ...(own === 0 ? [{ uid: 65_534, want: false }] : [])];
  for (const { uid, want } of users) {
    const { stdout } = await run('bash', ['-c', asked], { uid, cwd: '/' });
    t.match(stdout, '__AGENT_SESSION_TOKEN__=');
    t.equal(stdout.includes(dashboard.token), want, `user ${uid}`);
  }
});

t.test('a refused upload is closed although its body never ends', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const upload = talk(dashboard.port, uploadHead);
  await until('it is answered', () => upload.answer().includes('\r\n\r\n'));
  t.match(upload.answer(), /^HTTP\/1\.1 401 /);
  await until('it is closed', upload.closed, limits.dashboard.unreadMs + 5_000);
});

t.test('a head that never ends is closed within ten seconds, and says so', { timeout: 60_000 }, async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const slow = talk(dashboard.port, 'GET /api/status HTTP/1.1\r\nHost: loc');
  const silent = talk(dashboard.port, '');
  const begun = performance.now();
  await until('both are closed', () => slow.closed() && silent.closed(), 20_000);
  t.ok(performance.now() - begun < 15_000);
  t.match(slow.answer(), /^HTTP\/1\.1 408 [\s\S]*application\/problem\+json/);
});

t.test('clients that only hold connections cannot keep out a user', { timeout: 120_000 }, async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const page = dashboard.socket('/api/logs/follow');
  await new Promise((resolve) => page.once('open', resolve));
  const idle = Array.from({ length: limits.dashboard.connectionsMax + 100 }, () => talk(dashboard.port, ''));
  t.teardown(() => idle.forEach(({ socket }) => socket.destroy()));
  await until('all are connected or closed', () => idle.every(({ socket, closed }) => !socket.connecting || closed()));
  t.equal((await dashboard.ask('/api/logs')).status, 200, 'a request is served');
  t.equal(page.readyState, page.OPEN, 'a proved connection stays');
  page.close();
});

t.test('an offered upgrade to another protocol is ignored', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  for (const upgrade of ['h2c', 'TLS/1.0'])
    t.equal(
      (await dashboard.ask('/api/status', { headers: { Connection: 'Upgrade, HTTP2-Settings', Upgrade: upgrade } })).status,
      200,
      upgrade,
    );
});

t.test('what is not valid HTTP is answered as a problem document', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const answerTo = async (text: string) => {
    const asked = talk(dashboard.port, text);
    await until('it is answered', () => asked.closed() || /\}$/.test(asked.answer()));
    asked.socket.destroy();
    return asked.answer();
  };
  const cases = [
    ['GET /api/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n', 400],
    [
      'GET /api/ws HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      400,
    ],
    ['nonsense\r\n\r\n', 400],
    [`GET /api/status HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ] as const;
  for (const [text, status] of cases)
    t.match(await answerTo(text), new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*application/problem\\+json`, 'i'));
  const wrong = await allowed(dashboard, 'PATCH', '/api/config');
  t.match(wrong, { status: 405, allow: /GET.*PUT|PUT.*GET/ });
  t.equal((await allowed(dashboard, 'GET', '/api/nothing')).status, 404);
});

async function allowed(dashboard: TestDashboard, method: string, path: string) {
  const { status, headers } = await dashboard.ask(path, { method });
  return { status, allow: headers.allow };
}
