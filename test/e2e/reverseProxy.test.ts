/**
 * docs/reverse-proxy.md, block by block: the real proxy with the block as it stands there, in front of the real
 * service, and what a person and a stranger can do through it.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { restartSlot } from '../../ipc/contracts/supervisor.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { closed } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { makeCertificate, PROXY_NAME, startReverseProxy, type ProxyKind } from '../harness/reverseProxy.ts';
import { startService } from '../harness/service.ts';
import { cheapHash, PASSWORD, ticketOf, USERNAME } from '../harness/signIn.ts';
import { until } from '../harness/until.ts';
import { onThisMachine, WebClient, type WebAnswer } from '../harness/webClient.ts';

await ensurePage();
t.setTimeout(240_000);

const MB = 1_000_000;
const kinds: ProxyKind[] = ['nginx', 'caddy', 'apache', 'haproxy'];

const port = await freePort();
const address = `https://${PROXY_NAME}:${port}`;
const certificate = makeCertificate();
const home = testHome({
  'config.yaml': `dashboard:\n  public_url: ${address}\n  trusted_proxies: [127.0.0.1]\n`,
  '.env': `AGENT_DASHBOARD_BASIC_AUTH_USERNAME=${USERNAME}\nAGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH='${cheapHash(PASSWORD)}'\n`,
});
const service = await startService(home);
await service.ready();
const direct = `http://127.0.0.1:${service.port}`;
t.teardown(async () => {
  await service[Symbol.asyncDispose]();
  home[Symbol.dispose]();
  certificate[Symbol.dispose]();
});

const start = (kind: ProxyKind) => startReverseProxy(kind, { port, upstream: service.port, certificate });
const browserFrom = (from = '127.0.0.1') => new WebClient({ ca: certificate.ca, from });
const tryPassword = (web: WebClient, password: string, headers: Record<string, string> = {}) =>
  web.form(`${address}/auth/password-login`, { username: USERNAME, password }, { headers });

async function signedIn(from?: string): Promise<WebClient> {
  const web = browserFrom(from);
  const answer = await tryPassword(web, PASSWORD);
  if (answer.status !== 303) throw new Error(`the sign-in answered ${answer.status}: ${answer.text}`);
  return web;
}

interface Frame {
  id?: number;
  method?: string;
  params?: { type: string; payload: Record<string, unknown> };
  result?: Record<string, unknown>;
}

/** A WebSocket as the page opens one. */
async function openSocket(web: WebClient, path: string): Promise<{ socket: WebSocket; frames: Frame[]; output(): string }> {
  const url = new URL(path, address.replace('https', 'wss'));
  url.searchParams.set('ticket', await ticketOf(web, address));
  const socket = new WebSocket(url, {
    ca: certificate.ca,
    lookup: onThisMachine,
    origin: address,
    headers: { Cookie: web.cookieHeader(address) },
  });
  const frames: Frame[] = [];
  let output = '';
  socket.on('message', (data: Buffer, binary) =>
    binary ? (output += data.toString()) : frames.push(JSON.parse(data.toString()) as Frame),
  );
  socket.on('error', () => {});
  return { socket, frames, output: () => output };
}

const event = ({ frames }: { frames: Frame[] }, type: string) =>
  until(`event ${type}`, () => frames.find(({ params }) => params?.type === type)?.params);

for (const kind of kinds) {
  t.test(`${kind}: a person signs in over https, and the cookie holds for that host and https alone`, async (t) => {
    await using _proxy = await start(kind);
    const web = browserFrom();
    t.match(await web.get(`${address}/workers`), { status: 302, headers: { location: '/login?next=%2Fworkers' } });
    const right = await tryPassword(web, PASSWORD);
    t.match(right, { status: 303, headers: { location: '/' } });
    t.match(
      right.headers['set-cookie']![0],
      /^__Host-agent_session_at=basic~[\w.~-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
    );
    t.match((await web.get(`${address}/`)).text, '__AGENT_AUTH_REQUIRED__=true');
    t.match(await web.api(`${address}/api/status`), { status: 200, text: /"auth_required":true/ });
    t.match((await web.api(`${address}/api/auth/me`)).json(), { user_id: USERNAME });
    const cookie = web.cookieHeader(address);
    const bare = cookie.replaceAll('__Host-', '');
    for (const [way, base, headers] of [
      ['under a name that http could set, through the proxy', address, { Cookie: bare }],
      ['under a name that http could set, past the proxy', direct, { Cookie: bare }],
      ['past the proxy with another Host', direct, { Cookie: cookie, Host: 'evil.example' }],
    ] as const) {
      const stranger = browserFrom();
      const { status } = await stranger.api(`${base}/api/auth/me`, { headers });
      t.ok(status === 401 || status === 403, `${way}: ${status}`);
    }
  });

  t.test(`${kind}: an answer streams word by word, and a terminal takes keys`, async (t) => {
    await using _proxy = await start(kind);
    const web = await signedIn();
    const chat = await openSocket(web, '/api/ws');
    await event(chat, 'gateway.ready');
    const call = async (id: number, method: string, params: Record<string, unknown>) => {
      chat.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      return (await until(`the answer to ${method}`, () => chat.frames.find((frame) => frame.id === id))).result!;
    };
    const { session_id } = await call(1, 'session.create', { source: 'api' });
    await call(2, 'prompt.submit', { session_id, text: 'say: 4000 words', idempotency_key: kind });
    await event(chat, 'message.delta');
    // Held back until it is whole, the answer could not be interrupted any more.
    t.same(await call(3, 'session.interrupt', { session_id }), { status: 'interrupted' });
    const { payload } = await event(chat, 'message.complete');
    t.equal(payload.status, 'interrupted');
    t.ok(String(payload.text).split(' ').length < 4_000);
    chat.socket.close();

    const terminal = await openSocket(web, '/api/pty?cols=90&rows=20');
    await until('the shell is there', () => terminal.frames.some((frame) => (frame as { type?: string }).type === 'ready'));
    terminal.socket.send(JSON.stringify({ type: 'input', data: 'echo $((40+2))-through\r' }));
    await until('the shell answers', () => terminal.output().includes('42-through'));
    terminal.socket.send(JSON.stringify({ type: 'input', data: 'exit\r' }));
    t.equal((await closed(terminal.socket)).code, 1000);

    const stranger = new WebSocket(`wss://${PROXY_NAME}:${port}/api/ws`, { ca: certificate.ca, lookup: onThisMachine, origin: address });
    t.match(await closed(stranger), { code: 4401 }, 'without a ticket');
    const other = new URL(`wss://${PROXY_NAME}:${port}/api/ws`);
    other.searchParams.set('ticket', await ticketOf(web, address));
    const foreign = new WebSocket(other, { ca: certificate.ca, lookup: onThisMachine, origin: 'https://evil.example' });
    t.match(await closed(foreign), { code: 4403 }, 'from another page');
  });

  t.test(`${kind}: a file of 50 MB comes in and goes out as it is`, async (t) => {
    await using _proxy = await start(kind);
    const web = await signedIn();
    const content = Buffer.alloc(50 * MB, randomBytes(4_099));
    const boundary = 'boundary-of-the-test';
    const field = (name: string, more = '') => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
    const body = Buffer.concat([
      Buffer.from(`${field('path')}\r\n${field('overwrite')}true\r\n${field('file', '; filename="fifty.bin"')}`),
      content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
    t.match(await web.api(`${address}/api/files/upload-stream`, { method: 'POST', headers, body }), {
      status: 201,
      text: `"size":${50 * MB}`,
    });
    const { headers: sent, bytes } = await web.api(`${address}/api/files/download?path=fifty.bin`);
    t.equal(sent['content-length'], String(content.length));
    t.equal(digest(bytes), digest(content));
  });

  t.test(`${kind}: the limit of tries counts browsers, not the proxy, and a made-up address is no other browser`, async (t) => {
    await using _proxy = await start(kind);
    const network = `127.0.${10 + kinds.indexOf(kind)}`;
    const first = browserFrom(`${network}.1`);
    const second = browserFrom(`${network}.2`);
    const wear = async (web: WebClient, headers: (round: number) => Record<string, string>) => {
      for (let round = 0; round < limits.signIn.triesPerMinute; round++) await tryPassword(web, 'wrong', headers(round));
    };
    const problem = ({ headers }: WebAnswer) => new URL(headers.location!, address).searchParams.get('problem');
    // What the proxy adds after these is an address of this machine, as that of another proxy in front of it would be.
    const claimed = (round: number) => ({ 'X-Forwarded-For': `198.51.100.${round}, 203.0.113.${kinds.indexOf(kind)}` });
    await wear(first, claimed);
    t.equal(problem(await tryPassword(first, PASSWORD, claimed(99))), 'many', 'whatever it says about itself');
    t.equal(problem(await tryPassword(second, 'wrong')), 'wrong', 'somebody else is heard');
    t.equal((await tryPassword(second, PASSWORD)).headers.location, '/');
    await wear(second, () => ({}));
    t.equal(problem(await tryPassword(second, PASSWORD)), 'many');
    t.equal((await tryPassword(browserFrom(`${network}.3`), PASSWORD)).headers.location, '/');
  });

  t.test(`${kind}: another name than the public one reaches nothing`, async (t) => {
    await using _proxy = await start(kind);
    const web = browserFrom();
    const { status, text } = await web.get(`${address}/api/status`, { headers: { Host: 'evil.example' } });
    t.ok(status >= 400 || text === '', `${status}`);
    t.notMatch(text, 'auth_required');
    const foreign = await web.api(`${address}/api/status`, { headers: { Origin: 'https://evil.example' } });
    t.equal(foreign.status, 403);
    t.match(await web.get(`${direct}/api/status`, { headers: { Host: 'evil.example' } }), { status: 403 }, 'nor past the proxy');
  });

  t.test(`${kind}: a planned restart of the dashboard fails no request`, async (t) => {
    await using _proxy = await start(kind);
    const web = await signedIn();
    using control = await service.link();
    let over = false;
    const answers: string[] = [];
    const ask = async (agent?: Agent) => {
      while (!over) {
        for (const [path, method] of [
          ['/api/sessions', 'GET'],
          ['/api/auth/ws-ticket', 'POST'],
          ['/workers', 'GET'],
        ] as const) {
          const said = await web
            .api(`${address}${path}`, { method, ...(agent ? { agent } : {}) })
            .then(({ status }) => String(status), String);
          answers.push(said === '200' ? said : `${method} ${path}: ${said}`);
        }
      }
    };
    const kept = new Agent({ keepAlive: true, maxSockets: 4, ca: certificate.ca });
    const asking = [ask(), ask(), ask(kept), ask(kept), ask(kept)];
    await until('they are under way', () => answers.length > 30);
    const receipt = await control.call(restartSlot, { slot: 'dashboard', actor: 'test', cause: 'test' });
    const before = answers.length;
    await until('they go on', () => answers.length > before + 60);
    over = true;
    await Promise.all(asking);
    kept.destroy();
    t.match(receipt, { ok: true });
    t.same([...new Set(answers)], ['200']);
  });
}

t.test('Chromium signs in through nginx, over https and HTTP/2, and stays signed in over a restart of the dashboard', async (t) => {
  await using _proxy = await start('nginx');
  await using browser = await startBrowser({ names: [PROXY_NAME] });
  const { page, errors } = await browser.open(`${address}/workers`);
  await page.getByLabel('User name').fill(USERNAME);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Workers' }).waitFor();
  t.equal(await page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"), 'h2');
  const cookies = await browser.context.cookies();
  t.match(cookies, [{ name: '__Host-agent_session_at', secure: true, httpOnly: true, sameSite: 'Lax', path: '/' }]);
  await page.getByRole('link', { name: 'Chat' }).click();
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('say: 3 words');
  await page.getByRole('textbox', { name: 'Message' }).press('Enter');
  await page.locator('[data-role=assistant]').getByText(/alpha/).waitFor();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'behind-nginx');
  using control = await service.link();
  t.match(await control.call(restartSlot, { slot: 'dashboard', actor: 'test', cause: 'test' }), { ok: true });
  await page.getByRole('textbox', { name: 'Message' }).fill('say: 5 words');
  await page.getByRole('textbox', { name: 'Message' }).press('Enter');
  await page.locator('[data-role=assistant]').getByText(/echo/).waitFor();
  t.same(errors, []);
});

t.test('what the page says to check is so', async (t) => {
  await using _proxy = await start('nginx');
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reverse-proxy.md'), 'utf8');
  const commands = /## Check it\n\n```sh\n([\s\S]*?)```/.exec(page)![1]!.trim().split('\n');
  const said = commands.map((line) => {
    const [command = '', comment = ''] = line.split(/\s{2,}# /);
    const here = command
      .replaceAll(`https://${PROXY_NAME}`, address)
      .replaceAll('127.0.0.1:9119', `127.0.0.1:${service.port}`)
      .replace('curl ', `curl --cacert ${certificate.chain} --resolve ${PROXY_NAME}:${port}:127.0.0.1 `);
    return { comment, output: execFileSync('sh', ['-c', here], { encoding: 'utf8' }) };
  });
  t.equal(said.length, 3);
  for (const { comment, output } of said) t.match(output, comment);
});
