/** A stranger at the door of a real dashboard, byte by byte: spellings of paths, methods, hosts, cookies, tickets. */
import { connect } from 'node:net';
import t from 'tap';
import { limits } from '../../base/limits.ts';

import * as contracts from '../../ipc/contracts/http/table.ts';
import { ensurePage } from '../harness/browser.ts';
import { closed, startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { CLIENT_ID, startIdentityProvider } from '../harness/identityProvider.ts';
import { startGated, ticketOf } from '../harness/signIn.ts';
import { until } from '../harness/until.ts';
import { WebClient } from '../harness/webClient.ts';

await ensurePage();
t.setTimeout(240_000);

const PUBLIC = 'https://agent.example.org';
const HOST = 'Host: agent.example.org';

interface Raw {
  status: number;
  location: string;
  /** Of the header section, and of the body. */
  text: string;
}

/** The bytes as they stand; the answer until the server closes. */
function send(port: number, bytes: string): Promise<Raw> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => {});
    socket.on('close', () => {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
      resolve({ status, location: /^location: (.*)\r$/im.exec(text)?.[1] ?? '', text });
    });
  });
}

const get = (port: number, path: string, headers = HOST, method = 'GET') =>
  send(port, `${method} ${path} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);

/** One path, spelled in ways that a router might take for the same. */
const spellings = (path: string): string[] => [
  path,
  path.replace('/api', '/%61pi'),
  path.replace('/api', '/a%70%69'),
  path.replace('/api', '/API'),
  path.replace('/api', '/%41PI'),
  path.replace('/api', '//api'),
  path.replace('/api', '/./api'),
  path.replace('/api', '/x/../api'),
  path.replace('/api', '/%2e/api'),
  path.replace('/api', '/login/..%2fapi'),
  path.replace('/api', '/login/../api'),
  path.replace('/api', '/api/status/..'),
  path.replace('/api', '/api;x'),
  path.replace('/api', '\\api'),
  path.replace('/api/', '/api%2f'),
  `${path}/`,
  `${path};a=b`,
  `${path}%00`,
  `${path}?token=x`,
];

t.test('however a path is spelled, no route of the API answers somebody who is not signed in', async (t) => {
  await using s = await startGated({ env: { AGENT_DASHBOARD_PUBLIC_URL: PUBLIC } });
  using home = testHome();
  await using alone = await startDashboard(home);
  const routes = contracts.httpRoutes.filter(({ access }) => access === 'signedIn');
  t.ok(routes.length > 50, `${routes.length} routes`);
  const paths = routes.map(({ method, path }) => ({ method, path: path.replaceAll(/:\w+/g, 'x') }));
  for (const [gate, port, head] of [
    ['the sign-in', s.dashboard.port, HOST],
    ['the session token', alone.port, `Host: 127.0.0.1:${alone.port}`],
  ] as const) {
    // With the header that a script adds, so that nothing but the gate stands in the way.
    const ask = (method: string, path: string) => get(port, path, `${head}\r\nX-Agent-Requested-With: x\r\nContent-Length: 0`, method);
    const letIn: string[] = [];
    for (const { method, path } of paths) {
      const answers = await Promise.all([path, path.replace('/api', '/%61p%69')].map((spelled) => ask(method, spelled)));
      if (answers.some(({ status }) => status !== 401)) letIn.push(`${method} ${path}: ${answers.map(({ status }) => status).join(', ')}`);
    }
    const spelled = [
      ...spellings('/api/sessions').map((path) => ['GET', path]),
      ...spellings('/api/workers/agent/restart').map((path) => ['POST', path]),
    ];
    for (const [method = '', path = ''] of spelled) {
      const { status, text } = await ask(method, path);
      const isPage = status === 200 && /^content-type: text\/html/im.test(text);
      if (![401, 404, 302, 400].includes(status) && !isPage) letIn.push(`${method} ${path}: ${status}`);
    }
    t.same(letIn, [], gate);
  }
});

t.test(
  'methods and hosts that no browser of ours uses get nothing, and bytes that two readers could read in two ways end the connection',
  async (t) => {
    await using s = await startGated({ env: { AGENT_DASHBOARD_PUBLIC_URL: PUBLIC } });
    const { port } = s.dashboard;
    for (const method of ['OPTIONS', 'TRACE', 'PUT', 'PROPFIND', 'QUERY', 'M-SEARCH', 'get'])
      for (const path of ['/api/sessions', '/api/status', '/auth/logout']) {
        const { status, text } = await get(port, path, HOST, method);
        t.ok(status >= 400, `${method} ${path}: ${status}`);
        t.notMatch(text, /access-control-allow|TRACE \/api/i);
      }
    const hosts: [string, number][] = [
      ['AGENT.example.ORG', 200],
      ['agent.example.org:443', 200],
      ['[::1]:9', 200],
      ['agent.example.org.', 403],
      ['agent.example.org:80:80', 403],
      ['evil@agent.example.org', 403],
      ['agent.example.org@evil.example', 403],
      ['agent.example.org,evil.example', 403],
      ['evil.example/agent.example.org', 403],
      ['127.1', 403],
      ['2130706433', 403],
      ['localhost.', 403],
      ['', 403],
    ];
    for (const [host, want] of hosts) t.equal((await get(port, '/api/status', `Host: ${host}`)).status, want, `Host: ${host}`);
    const post = `POST /auth/password-login HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n`;
    const twofold = {
      'a length and chunks': `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'two lengths': `${post}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`,
      'an unknown coding': `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
      'a blank before the colon': `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
      'a header over two lines': `${post}X: a\r\n b\r\n\r\n`,
      'line feeds alone': `GET /api/status HTTP/1.1\n${HOST}\n\n`,
    };
    for (const [name, bytes] of Object.entries(twofold)) t.equal((await send(port, bytes)).status, 400, name);
  },
);

t.test('who is led to the provider again and again keeps few cookies of it, and is not locked out by their size', async (t) => {
  await using provider = await startIdentityProvider();
  await using s = await startGated({
    password: false,
    env: { AGENT_DASHBOARD_OIDC_ISSUER: provider.issuer, AGENT_DASHBOARD_OIDC_CLIENT_ID: CLIENT_ID },
  });
  const web = new WebClient();
  const next = encodeURIComponent(`/files?path=${'x'.repeat(1_900)}`);
  for (let round = 0; round < 20; round++) {
    const { status } = await web.get(`${s.address}/auth/login?provider=self-hosted&next=${next}`);
    t.equal(status, 302);
  }
  const cookies = web.cookieHeader(s.address);
  t.equal(cookies.split('; ').length, limits.signIn.flowsMax);
  t.ok(cookies.length < 3_000, `${cookies.length} bytes`);
});

t.test('one ticket that twenty bring at the same moment opens one socket', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  const ticket = await ticketOf(web, s.address);
  const sockets = Array.from({ length: 20 }, () => s.dashboard.socket(`/api/ws?ticket=${ticket}`, { token: false }));
  const refused: number[] = [];
  const ends = sockets.map(async (socket) => void refused.push((await closed(socket)).code));
  await until('nineteen are turned away', () => refused.length === 19);
  t.same(new Set(refused), new Set([4401]));
  t.equal(sockets.filter((socket) => socket.readyState === socket.OPEN).length, 1);
  for (const socket of sockets) socket.terminate();
  await Promise.all(ends);
});
