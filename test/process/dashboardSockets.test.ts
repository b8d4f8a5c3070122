/** The WebSockets of the dashboard against real agent and terminal workers: relay, loss of a peer, slow readers, guard. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { WebSocket } from 'ws';
import { errorTable } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sessionCreate } from '../../ipc/contracts/rpc.ts';
import { clarifyRequest } from '../../ipc/contracts/rpcRequests.ts';
import { handle } from '../../ipc/link.ts';
import { serve } from '../../ipc/serve.ts';
import { ensureToken } from '../../state/home.ts';
import { closed, refused, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

interface Frame {
  id?: number | null;
  method?: string;
  params?: { type: string; session_id: string | null; seq: number | null; payload: Record<string, unknown> };
  result?: Record<string, unknown>;
  error?: { code: number; data: { code: string; retry: boolean } };
}

/** A page without a browser. */
interface Tab {
  socket: WebSocket;
  frames: Frame[];
  send(id: number, method: string, params: Record<string, unknown>): void;
  answer(id: number): Promise<Frame>;
  event(type: string, from?: number): Promise<NonNullable<Frame['params']>>;
}

function openTab(dashboard: TestDashboard): Tab {
  const socket = dashboard.socket('/api/ws');
  const frames: Frame[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as Frame));
  socket.on('error', () => {});
  return {
    socket,
    frames,
    send: (id, method, params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
    answer: (id) => until(`the answer ${id}`, () => frames.find((frame) => frame.id === id && frame.method === undefined)),
    event: (type, from = 0) => until(`event ${type}`, () => frames.slice(from).find((frame) => frame.params?.type === type)?.params),
  };
}

t.test('frames go through unread: a turn runs over the relay, and errors keep their code', async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  const tab = openTab(dashboard);
  t.match(await tab.event('gateway.ready'), { payload: { epoch: String, heartbeat_ms: Number } });
  tab.send(1, 'session.create', { source: 'api' });
  const { session_id } = (await tab.answer(1)).result!;
  tab.send(2, 'prompt.submit', { session_id, text: 'say: 4 words', idempotency_key: 'a' });
  t.match((await tab.answer(2)).result, { status: 'streaming' });
  t.match(await tab.event('message.complete'), { session_id, payload: { status: 'complete', text: 'alpha bravo charlie delta' } });
  tab.send(3, 'session.create', { nonsense: 1 });
  t.match((await tab.answer(3)).error, { code: 4000, data: { code: 'BAD_REQUEST' } });
  tab.send(4, 'worker.stop', {});
  t.match((await tab.answer(4)).error, { code: -32601 }, 'methods between workers are closed to a browser');
  tab.socket.close();
});

t.test('a call of the agent under the number of a call of the page is not taken for its answer', async (t) => {
  using home = testHome();
  const token = ensureToken(home);
  const answered = Promise.withResolvers<unknown>();
  // It asks as soon as it is called, and does not answer the call.
  const asksBack = handle(sessionCreate, (_params, { link }) => {
    const question = { session_id: 's', request_id: 'r', questions: [{ qid: 'q', question: '?' }] };
    void link.call(clarifyRequest, question).then(answered.resolve);
    return new Promise<never>(() => {});
  });
  const agent = await serve({
    path: home.run.socket('agent'),
    slot: 'agent',
    token,
    code: '',
    nonce: 'n',
    handlers: [asksBack],
    relayMethods: new Set([sessionCreate.name]),
  });
  await using dashboard = await startDashboard(home);
  const tab = openTab(dashboard);
  await new Promise((resolve) => tab.socket.once('open', resolve));
  tab.send(0, 'session.create', {});
  const asked = await until('the question', () => tab.frames.find(({ method }) => method === 'clarify'));
  t.equal(asked.id, 0, 'both count from zero');
  tab.socket.send(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: { answers: { q: 'yes' } } }));
  t.same(await answered.promise, { answers: { q: 'yes' } }, 'the answer of the page reaches the agent');
  await agent[Symbol.asyncDispose]();
  t.match((await tab.answer(Number(asked.id))).error, { data: { code: 'PEER_GONE' } }, 'its own call was open all the time');
  tab.socket.close();
});

t.test('what is no JSON-RPC object is refused without losing the connection to the agent', async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  const tab = openTab(dashboard);
  await tab.event('gateway.ready');
  const junk = ['not json', '[]', 'null', '7', '{"id":8}', '{"id":9,"method":5}', '{"method":7}', '{"id":{"a":1},"method":"client.ping"}'];
  for (const text of junk) tab.socket.send(text);
  tab.socket.send(Buffer.from([1, 2, 3]), { binary: true });
  const refusals = await until('all refusals', () => {
    const found = tab.frames.filter(({ error }) => error);
    return found.length === junk.length + 1 && found;
  });
  t.strictSame(
    refusals.map(({ id, error }) => [id, error!.code]),
    [
      [null, -32_700],
      [null, -32_600],
      [null, -32_600],
      [null, -32_600],
      [8, -32_600],
      [9, -32_600],
      [null, -32_600],
      [null, -32_600],
      [null, errorTable.FRAME_MALFORMED.rpc],
    ],
  );
  tab.send(1, 'client.ping', {});
  t.ok((await tab.answer(1)).result);
  t.equal(tab.frames.filter(({ params }) => params?.type === 'gateway.ready').length, 1, 'still the first connection');
  tab.socket.close();
});

t.test(
  'the agent is killed: the socket stays, open calls are answered PEER_GONE, the next agent is announced and replays',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome();
    await using first = await startWorker(home, 'agent', { demo: true });
    await using dashboard = await startDashboard(home);
    const tab = openTab(dashboard);
    await tab.event('gateway.ready');
    tab.send(1, 'session.create', { source: 'api' });
    const { session_id } = (await tab.answer(1)).result!;
    tab.send(2, 'prompt.submit', { session_id, text: 'say: 5000 words', idempotency_key: 'one' });
    await tab.answer(2);
    await tab.event('message.delta');
    // A frozen agent answers nothing: this call is in flight when it dies.
    process.kill(-first.child.pid!, 'SIGSTOP');
    tab.send(3, 'session.list', {});
    tab.send(4, 'prompt.submit', { session_id, text: 'say: 2 words', idempotency_key: 'two' });
    await first.kill('SIGKILL');
    for (const id of [3, 4]) t.match((await tab.answer(id)).error, { data: { code: 'PEER_GONE', retry: true } });
    await tab.event('gateway.away');
    tab.send(5, 'client.ping', {});
    t.match((await tab.answer(5)).error, { data: { code: 'PEER_GONE' } }, 'and so is what is asked meanwhile');

    const known = Math.max(...tab.frames.map(({ params }) => params?.seq ?? 0));
    const from = tab.frames.length;
    await using _second = await startWorker(home, 'agent', { demo: true });
    await tab.event('gateway.ready', from);
    tab.send(6, 'session.events.since', { session_id, last_seen: known });
    const replay = (await tab.answer(6)).result as { truncated: boolean; events: { type: string; payload: { status?: string } }[] };
    t.equal(replay.truncated, false);
    t.match(
      replay.events.find(({ type }) => type === 'message.complete'),
      { payload: { status: 'interrupted', error: { code: 'TURN_CUT' } } },
    );
    tab.send(7, 'prompt.submit', { session_id, text: 'say: 2 words', idempotency_key: 'two' });
    tab.send(8, 'prompt.submit', { session_id, text: 'say: 2 words', idempotency_key: 'two' });
    const [once, twice] = [(await tab.answer(7)).result, (await tab.answer(8)).result];
    t.equal(once!.message_id, twice!.message_id, 'sent again with its key it is one message');
    tab.socket.close();
  },
);

t.test('a tab that does not read holds up nobody else, and gets its answers or is told to ask again', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  const slow = openTab(dashboard);
  const other = openTab(dashboard);
  await Promise.all([slow.event('gateway.ready'), other.event('gateway.ready')]);
  other.send(1, 'session.create', { source: 'api' });
  const { session_id } = (await other.answer(1)).result!;
  other.send(2, 'prompt.submit', { session_id, text: `say: 1 words ${'x'.repeat(400_000)}` });
  await other.event('message.complete');
  slow.socket.pause();
  // Each answer holds the long prompt: 100 of them are some 80 MB that nobody takes.
  for (let id = 10; id < 110; id++) slow.send(id, 'session.history', { session_id });
  other.send(3, 'session.history', { session_id });
  t.ok((await other.answer(3)).result, 'another tab is served meanwhile');
  slow.socket.resume();
  await until(
    'every call has an answer, or the tab was cut and may dial again',
    () =>
      slow.socket.readyState === slow.socket.CLOSED ||
      slow.frames.filter(({ id }) => id !== undefined && id !== null && id >= 10).length === 100,
  );
  slow.socket.terminate();
  other.socket.close();
});

t.test('a terminal opens in the page, takes keys and sizes, and ends with it', async (t) => {
  using home = testHome();
  await using terminal = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  await using dashboard = await startDashboard(home);
  const page = dashboard.socket('/api/pty?cols=90&rows=20');
  let output = '';
  const said: Record<string, unknown>[] = [];
  page.on('message', (data: Buffer, binary) =>
    binary ? (output += data.toString()) : said.push(JSON.parse(data.toString()) as Record<string, unknown>),
  );
  const { pid } = (await until('ready', () => said[0])) as { pid: number };
  page.send(JSON.stringify({ type: 'resize', cols: 100, rows: 30 }));
  page.send(JSON.stringify({ type: 'input', data: 'stty size; echo é$((6 * 7))\r' }));
  await until('the answer', () => output.includes('é42') && output.includes('30 100'));
  page.close();
  await until('the shell is gone', () => !isAlive(pid));

  const quitter = dashboard.socket('/api/pty');
  const end = closed(quitter);
  quitter.on('message', (data: Buffer, binary) => binary || said.push(JSON.parse(data.toString()) as Record<string, unknown>));
  await until('ready', () => said.some(({ type }, index) => index > 0 && type === 'ready'));
  quitter.send(JSON.stringify({ type: 'input', data: 'exit 4\r' }));
  t.equal((await end).code, 1000);
  t.match(said.at(-1), { type: 'exit', code: 4 });

  const junk = dashboard.socket('/api/pty');
  await until('it is open', () => junk.readyState === junk.OPEN);
  junk.send('{"type":"format-disk"}');
  t.equal((await closed(junk)).code, 1008);
  await terminal.kill();
  const nobody = dashboard.socket('/api/pty');
  const answer = new Promise<string>((resolve) => nobody.on('message', (data: Buffer) => resolve(data.toString())));
  t.match(JSON.parse(await answer), { type: 'error', fix: /agent up/ });
});

t.test('a terminal outlives a lost line and the dashboard itself, and the page comes back to it', async (t) => {
  using home = testHome();
  await using _terminal = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  let pid = 0;
  let resume = '';
  {
    await using dashboard = await startDashboard(home);
    const page = await openShell(dashboard, '/api/pty');
    ({ pid, resume } = page.ready as { pid: number; resume: string });
    page.socket.send(JSON.stringify({ type: 'input', data: 'echo kept-$((6 * 7))\r' }));
    await until('the answer', () => page.output().includes('kept-42'));
    page.socket.terminate();
    const back = await openShell(dashboard, `/api/pty?resume=${resume}`);
    t.match(back.ready, { pid, resumed: true });
    await until('its latest output', () => back.output().includes('kept-42'));
    await dashboard.worker.kill();
  }
  await using dashboard = await startDashboard(home);
  const page = await openShell(dashboard, `/api/pty?resume=${resume}&cols=100`);
  t.match(page.ready, { pid, resumed: true });
  page.socket.send(JSON.stringify({ type: 'input', data: 'stty size\r' }));
  await until('it lives on', () => page.output().includes('24 100'));
  page.socket.close();
  await until('a goodbye ends it', () => !isAlive(pid));
  const late = dashboard.socket(`/api/pty?resume=${resume}`);
  const answer = new Promise<string>((resolve) => late.once('message', (data: Buffer) => resolve(data.toString())));
  t.match(JSON.parse(await answer), { type: 'error', code: 'UNKNOWN_TERMINAL' });
  await closed(late);
});

async function openShell(dashboard: TestDashboard, path: string) {
  const socket = dashboard.socket(path);
  let output = '';
  const said: Record<string, unknown>[] = [];
  socket.on('error', () => {});
  socket.on('message', (data: Buffer, binary) =>
    binary ? (output += data.toString()) : said.push(JSON.parse(data.toString()) as Record<string, unknown>),
  );
  return { socket, ready: await until('ready', () => said[0]), output: () => output };
}

t.test('unknown paths, profiles and sizes are refused before the handshake', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  t.equal(await refused(dashboard.socket('/api/nothing')), 404);
  t.equal(await refused(dashboard.socket('/api/pty?profile=nobody')), 404);
  t.equal(await refused(dashboard.socket('/api/pty?cols=1')), 422);
  t.equal(await refused(dashboard.socket('/api/logs/follow?file=passwd')), 404);
});

t.test('junk at the door is turned away and ends nothing', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  const knocks = [
    { name: 'an address that is none', request: `GET // HTTP/1.1\r\nHost: 127.0.0.1\r\n${upgrade}\r\n`, want: /^HTTP\/1.1 404/ },
    {
      name: 'a long foreign name in another alphabet',
      request: `GET /api/ws HTTP/1.1\r\nHost: ${'é'.repeat(200)}\r\n${upgrade}\r\n`,
      want: /^HTTP\/1.1 101/,
    },
    {
      name: 'a handshake without a key',
      request: `GET /api/ws?token=${dashboard.token} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      want: /^HTTP\/1.1 4/,
    },
    {
      name: 'percent signs',
      request: 'GET /%E0%A4%A HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
      want: /^HTTP\/1.1 400[\s\S]*problem\+json/,
    },
    { name: 'another protocol', request: '\x16\x03\x01\x02\x00', want: /^HTTP\/1.1 400/ },
    {
      name: 'a target with a name in it',
      request: 'GET http://evil.example/api/workers HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
      want: /^HTTP\/1.1 4/,
    },
  ];
  for (const { name, request, want } of knocks) {
    const socket = connect(dashboard.port, '127.0.0.1');
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    socket.on('error', () => {});
    socket.write(request, 'latin1');
    await until(`an answer to ${name}`, () => want.test(said));
    socket.destroy();
  }
  t.equal((await dashboard.ask('/api/status')).status, 200);
  t.equal(dashboard.worker.child.exitCode, null);
});

t.test('strangers at the door take nobody his place: a few are told why, the rest are refused at once', async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent');
  await using dashboard = await startDashboard(home);
  const refusedAtOnce: number[] = [];
  const strangers = Array.from({ length: limits.dashboard.strangersMax + 40 }, () => {
    const stranger = dashboard.socket('/api/ws', { token: false });
    stranger.on('error', () => {});
    stranger.on('unexpected-response', (_request, response) => {
      refusedAtOnce.push(response.statusCode ?? 0);
      response.destroy();
    });
    // Takes no notice of what it is told.
    stranger.on('open', () => stranger.pause());
    return stranger;
  });
  await until('some are refused without words', () => refusedAtOnce.length > 0);
  t.same(new Set(refusedAtOnce), new Set([401]));
  const tab = openTab(dashboard);
  t.match(await tab.event('gateway.ready'), { session_id: null });
  for (const stranger of strangers) stranger.terminate();
});

t.test('a page of another site, loaded in the same machine, gets neither socket nor answer', async (t) => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  const elsewhere = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => elsewhere.once('listening', resolve));
  const origin = `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}`;
  t.equal((await closed(dashboard.socket('/api/ws', { origin }))).code, 4403, 'not even with the token');
  t.equal((await dashboard.ask('/api/status', { headers: { Origin: origin } })).status, 403);
  elsewhere.close();
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
