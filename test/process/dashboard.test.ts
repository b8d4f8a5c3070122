/** The dashboard worker as a program: where it listens, who gets the page with the token, how it refuses and leaves. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import t from 'tap';
import { exitCodes } from '../../base/exitCodes.ts';
import { testHome } from '../harness/home.ts';
import { ensurePage } from '../harness/browser.ts';
import { closed, pageToken, startDashboard } from '../harness/dashboard.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.test('the page of a proved browser holds the token, is stored nowhere, and runs only what it came with', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const proof = { Cookie: await dashboard.provedCookie() };
  const { status, headers, text } = await dashboard.ask('/', { token: false, headers: proof });
  t.equal(status, 200);
  t.equal(pageToken(text), dashboard.token);
  t.match(headers, {
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  const policy = String(headers['content-security-policy']);
  const nonce = /script-src 'self' 'nonce-([^']+)'/.exec(policy)![1]!;
  t.match(policy, /default-src 'none'/);
  t.notMatch(policy, /script-src[^;]*unsafe/);
  const inline = [...text.matchAll(/<script(?![^>]*\bsrc=)([^>]*)>/g)].map(([, attributes]) => attributes);
  t.ok(
    inline.length > 0 && inline.every((attributes) => attributes!.includes(`nonce="${nonce}"`)),
    'every inline script has the nonce of this answer',
  );
  const again = await dashboard.ask('/workers', { token: false, headers: proof });
  t.notMatch(again.text, nonce, 'and no two answers share one');
  t.equal(again.status, 200, 'a place of the page is the page');
});

t.test('the token stands in a private file while the dashboard runs, and in no log or status', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.equal(statSync(home.run.dashboardToken).mode & 0o777, 0o600);
  await dashboard.ask(`/?token=${dashboard.token}`);
  await dashboard.ask(`/api/nothing?token=${dashboard.token}`);
  await dashboard.worker.kill('SIGTERM');
  t.notOk(existsSync(home.run.dashboardToken), 'removed when it leaves');
  t.notMatch(readFileSync(`${home.logs}/gui.log`, 'utf8') + dashboard.worker.output(), dashboard.token);
  t.match(readFileSync(`${home.logs}/gui.log`, 'utf8'), /api\/nothing/, 'though the request itself is there');
});

t.test('built files are served compressed, for ever, and only they', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec((await dashboard.ask('/')).text)![1]!;
  const plain = await dashboard.ask(script);
  t.match(plain.headers, { 'content-type': /javascript/, 'cache-control': /immutable/, etag: /^"/ });
  const raw = (encoding: string) => fetch(new URL(script, dashboard.address), { headers: { 'Accept-Encoding': encoding } });
  t.equal((await raw('br')).headers.get('content-encoding'), 'br');
  t.equal(await (await raw('gzip')).text(), plain.text);
  t.equal((await dashboard.ask(script, { headers: { 'If-None-Match': String(plain.headers.etag) } })).status, 304);
  for (const path of ['/assets/../../package.json', '/assets/%2e%2e/%2e%2e/package.json', '/package.json', '/index.html'])
    t.equal((await dashboard.ask(path)).status, 404, path);
});

t.test('a port that is taken: the message names the process that holds it, exit 1', async (t) => {
  using home = testHome();
  const holder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => holder.once('listening', resolve));
  const { port } = holder.address() as { port: number };
  await using worker = await startWorker(home, 'dashboard', { ready: false, env: { AGENT_DASHBOARD_PORT: String(port) } });
  const code = await until('it ended', () => worker.child.exitCode);
  t.equal(code, exitCodes.failed);
  t.match(worker.output(), new RegExp(`PORT_IN_USE: 127\\.0\\.0\\.1:${port} is taken by process ${process.pid} \\(`));
  t.notOk(existsSync(home.run.dashboardToken));
  holder.close();
});

t.test('lesson 38: an address that others can reach is refused as a configuration error that says what to do', async (t) => {
  using home = testHome({ 'config.yaml': 'dashboard: { host: 0.0.0.0, port: 0 }\n' });
  await using worker = await startWorker(home, 'dashboard', { ready: false });
  t.equal(await until('it ended', () => worker.child.exitCode), exitCodes.config);
  t.match(worker.output(), /CONFIG_INVALID.*0\.0\.0\.0.*--insecure/);
});

t.test('a port that is none is refused as a configuration error', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'dashboard', { ready: false, env: { AGENT_DASHBOARD_PORT: '99999' } });
  t.equal(await until('it ended', () => worker.child.exitCode), exitCodes.config);
  t.match(worker.output(), /"99999" is not a TCP port/);
});

t.test('--insecure serves others, tells the operator what that exposes, and gives strangers no token', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home, { env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1' } });
  t.match(readFileSync(`${home.logs}/gui.log`, 'utf8'), /--insecure: anyone who can reach 0\.0\.0\.0/);
  t.equal(pageToken((await dashboard.ask('/', { token: false })).text), null);
  t.notMatch((await dashboard.ask('/api/status', { token: false })).text, home.root, 'strangers learn no path');
  t.match((await dashboard.ask('/api/status')).text, home.root);
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
  for (const [host, status] of [
    ['evil.example', 403],
    [outside ?? '192.0.2.1', 200],
    ['localhost', 200],
  ] as const) {
    t.equal((await dashboard.ask('/api/status', { headers: { Host: `${host}:9119` } })).status, status, host);
  }
});

t.test('asked to leave, it tells its pages to dial again and ends with 0', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const page = dashboard.socket('/api/ws');
  const end = closed(page);
  await new Promise((resolve) => page.once('open', resolve));
  const { code } = await dashboard.worker.kill('SIGTERM');
  t.equal((await end).code, 1012);
  t.equal(code, exitCodes.ok);
});
