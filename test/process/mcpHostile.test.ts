/** Servers that answer oddly, without end or not at all: the call fails, says why, and nothing else is lost. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { fixture, node, startTestBroker, type TestBroker } from '../harness/mcp.ts';
import { startMcpOverHttp, type HttpServer } from '../harness/mcpOverHttp.ts';
import { until } from '../harness/until.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

const http = async (server: HttpServer, more: object = {}) => startTestBroker({ s: { url: server.url, ...more } });
const failure = (broker: TestBroker, tool: string) =>
  broker.call({ server: 's', tool }).then(
    () => t.fail(`${tool} should fail`),
    (thrown: unknown) => thrown,
  );
/** Peak of its resident memory, in MiB. */
const peakMiB = (pid: number) => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

t.test('results that no schema allows are handed on or fail alone; the server keeps its process', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('oddResults'), { timeout: 20 }) });
  const pid = (await broker.call({ server: 's', tool: 'pid' })).text;
  const text = async (tool: string) => (await broker.call({ server: 's', tool })).text;
  t.match(await text('unknown'), /hologram.*7/, 'a block of an unknown type is kept');
  t.match(await text('bad_image'), /image/);
  t.equal(await text('bad_date'), 'dated');
  t.equal(await text('no_content'), '');
  t.equal(await text('number'), '5');
  for (const tool of ['nothing', 'list', 'no_id']) t.match(await failure(broker, tool), { code: 'MCP_FAILED' }, tool);
  t.equal(await text('pid'), pid);
});

t.test('an HTTP error is reported with its status and what to do, and the session goes on', async (t) => {
  const statuses: Record<string, [number, Record<string, string>, string]> = {
    s500: [500, {}, 'boom'],
    s429: [429, { 'retry-after': '7' }, ''],
    s503: [503, { 'content-type': 'text/html' }, '<html>down</html>'],
    s401: [401, { 'www-authenticate': 'Bearer' }, ''],
    s403: [403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="files:write"' }, ''],
    s307: [307, { location: 'http://127.0.0.1:9/elsewhere' }, ''],
  };
  const calls = Object.fromEntries(
    Object.entries(statuses).map(([name, [status, headers, body]]) => [
      name,
      (_: unknown, response: ServerResponse) => void response.writeHead(status, headers).end(body),
    ]),
  );
  await using server = await startMcpOverHttp({ calls, tools: [...Object.keys(calls), 'ok'] });
  await using broker = await http(server);
  t.match(await failure(broker, 's500'), { code: 'MCP_FAILED', message: /s: s500: HTTP 500.*boom/ });
  t.match(await failure(broker, 's429'), { message: /HTTP 429/, retryAfterMs: 7_000 });
  t.match(await failure(broker, 's503'), { message: /HTTP 503/ });
  t.match(await failure(broker, 's401'), { message: /HTTP 401/, fix: /credentials/ });
  t.match(await failure(broker, 's403'), { message: /HTTP 403/, fix: /files:write/ });
  t.match(await failure(broker, 's307'), { message: /redirects to http:\/\/127.0.0.1:9/ });
  t.match(await broker.call({ server: 's', tool: 'ok' }), { text: 'session session-1' }, 'the session is the first one');
});

t.test('a server that answers 401 needs a sign-in, unless it was given credentials', async (t) => {
  await using server = await startMcpOverHttp({
    first: (_, response) => (response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(), true),
  });
  await using broker = await startTestBroker({
    bare: { url: server.url },
    keyed: { url: server.url, headers: { Authorization: 'Bearer wrong' } },
  });
  await broker.tools();
  t.match(await broker.state('bare'), { state: 'failed', needs_sign_in: true, error: /HTTP 401/ });
  t.match(await broker.state('keyed'), { state: 'failed', needs_sign_in: false, fix: /credentials/ });
});

t.test('answers over HTTP are bounded: JSON without end, a stream line without end', async (t) => {
  const part = 'x'.repeat(1 << 20);
  const pour = (head: Record<string, string>, begin: string) => (_: unknown, response: ServerResponse) => {
    response.writeHead(200, head).write(begin);
    let sent = 0;
    const more = () => {
      while (!response.destroyed && sent < 700) {
        sent++;
        if (!response.write(part)) return;
      }
      response.end();
    };
    response.on('drain', more);
    more();
  };
  await using server = await startMcpOverHttp({
    calls: {
      json: pour({ 'content-type': 'application/json' }, '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"'),
      line: pour({ 'content-type': 'text/event-stream' }, 'data: '),
    },
    tools: ['json', 'line', 'ok'],
  });
  await using broker = await http(server);
  await broker.call({ server: 's', tool: 'ok' });
  const before = peakMiB(broker.worker.child.pid!);
  for (const tool of ['json', 'line']) t.match(await failure(broker, tool), { code: 'MCP_FAILED', message: /over 16 MiB/ }, tool);
  const grown = peakMiB(broker.worker.child.pid!) - before;
  t.ok(grown < 250, `the broker grew by ${Math.round(grown)} MiB`);
  t.match(await broker.call({ server: 's', tool: 'ok' }), { text: 'session session-1' });
});

t.test('a list of tools without end is cut, and its server is usable', async (t) => {
  let pages = 0;
  await using server = await startMcpOverHttp({
    list: () => ({ tools: pages === 0 ? [{ name: 'ok' }] : [], nextCursor: `page-${++pages}` }),
  });
  await using broker = await http(server);
  t.same(await broker.tools(), ['mcp__s__ok']);
  t.equal(pages, 100);
  t.match(await broker.call({ server: 's', tool: 'ok' }), { text: 'session session-1' });
});

t.test('what is finished is not cancelled, and a session is given up once', async (t) => {
  await using server = await startMcpOverHttp({ tools: ['ok'] });
  {
    await using broker = await http(server);
    for (let n = 0; n < 20; n++) await broker.call({ server: 's', tool: 'ok' });
    broker.configure({});
    await broker.reload();
  }
  t.same(
    server.seen.filter(({ message }) => message.method === 'notifications/cancelled'),
    [],
  );
  t.equal(server.seen.filter(({ method }) => method === 'DELETE').length, 1);
});

t.test('an answer that is cut before its result fails at once; one that can be resumed is', async (t) => {
  let resumed: unknown;
  const events = (body: string) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
  await using server = await startMcpOverHttp({
    calls: {
      cut: events('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'),
      resumes: events('id: 41\nretry: 20\ndata:\n\n'),
    },
    first({ method }, response, raw) {
      if (method !== 'GET' || raw.headers['last-event-id'] === undefined) return false;
      resumed = raw.headers['last-event-id'];
      const { id } = server.seen.findLast((each) => each.message.method === 'tools/call')!.message;
      const result = { content: [{ type: 'text', text: 'resumed' }] };
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      return true;
    },
  });
  await using broker = await http(server);
  t.match(await broker.call({ server: 's', tool: 'resumes' }), { text: 'resumed' });
  t.equal(resumed, '41');
  t.match(await failure(broker, 'cut'), { code: 'MCP_FAILED', message: /while cut ran; the call was not repeated/ });
});

t.test('a suspended server is found by a ping and started again: after a call that timed out, and while it is idle', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('progresses'), { timeout: 1, keepalive_interval: 5 }) });
  await broker.tools();
  const isNew = (pid: number) =>
    until('another process serves', async () => {
      const now = await broker.state('s');
      return now.state === 'connected' && now.pid !== pid;
    });
  const first = (await broker.state('s')).pid!;
  process.kill(first, 'SIGSTOP');
  t.match(await failure(broker, 'work'), { code: 'TIMEOUT', message: /nor did the server answer a ping/ });
  await isNew(first);
  const second = (await broker.state('s')).pid!;
  t.match(await failure(broker, 'sleep'), { code: 'TIMEOUT', fix: /raise mcp_servers.s.timeout/ });
  t.equal((await broker.state('s')).pid, second, 'one that is only slow keeps its process');
  process.kill(second, 'SIGSTOP');
  await isNew(second);
});

t.test('progress prolongs a call', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('progresses'), { timeout: 0.8 }) });
  t.match(await broker.call({ server: 's', tool: 'work' }), { text: 'worked' });
});
