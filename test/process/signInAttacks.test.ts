/** A stranger at the door of a real dashboard, byte by byte: spellings of paths, methods, hosts, cookies, tickets. */
import { connect } from 'node:net';
import t from 'tap';

import * as contracts from '../../ipc/contracts/http/table.ts';
import { ensurePage } from '../harness/browser.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startGated } from '../harness/signIn.ts';

await ensurePage();
t.setTimeout(110_000);

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
