/** What the SDK would reject, lose, keep or cancel: the messages of real servers pass it in the form it accepts. */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { fixture, node, startTestBroker } from '../harness/mcp.ts';
import { answerJson, startMcpOverHttp } from '../harness/mcpOverHttp.ts';
import { until } from '../harness/until.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

t.test(
  'fields that the SDK reads for itself do not fail a result; error codes that it uses for itself are those of the server',
  async (t) => {
    await using broker = await startTestBroker({ s: node(fixture('sdkTraps'), { timeout: 20 }) });
    const pid = (await broker.call({ server: 's', tool: 'pid' })).text;
    for (const tool of ['odd_meta', 'as_task', 'extra_field', 'string_id']) {
      t.equal((await broker.call({ server: 's', tool })).text, tool);
    }
    for (const tool of ['code_closed', 'code_timeout', 'code_fraction', 'code_url']) {
      const expected = { code: 'MCP_FAILED', message: `s: ${tool}: the server's own words` };
      await t.rejects(broker.call({ server: 's', tool }), expected, tool);
    }
    t.equal((await broker.call({ server: 's', tool: 'pid' })).text, pid, 'the server keeps its process');
  },
);

t.test('a handshake in the loosest form is enough; an answer may come in a batch', async (t) => {
  const batch = ({ message: { id } }: { message: { id?: number } }, response: ServerResponse) => {
    const notice = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 7 } };
    const result = { content: [{ type: 'text', text: 'of a batch' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([notice, 5, null, { jsonrpc: '2.0', id, result }]));
  };
  await using server = await startMcpOverHttp({
    calls: { batch },
    first({ message }, response) {
      if (message.method !== 'initialize') return false;
      const hello = { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: 'yes' }, logging: [] }, serverInfo: null };
      answerJson(response, message.id, hello);
      return true;
    },
  });
  await using broker = await startTestBroker({ s: { url: server.url, timeout: 20 } });
  t.match(await broker.call({ server: 's', tool: 'batch' }), { text: 'of a batch' });
});

t.test('a version of the protocol that is unknown is a failure without retries, and names the known ones', async (t) => {
  await using server = await startMcpOverHttp({
    first: ({ message }, response) =>
      message.method === 'initialize' && (answerJson(response, message.id, { protocolVersion: '1999-01-01', capabilities: {} }), true),
  });
  await using broker = await startTestBroker({ s: { url: server.url } });
  t.same(await broker.tools(), []);
  t.match(await broker.state('s'), { state: 'failed', error: /1999-01-01.*2025-11-25/ });
  t.same(
    server.seen.map(({ message }) => message.method),
    ['initialize'],
  );
});

t.test('a handshake that times out is not cancelled; its request is ended', async (t) => {
  const ended: string[] = [];
  await using server = await startMcpOverHttp({
    first({ message }, response) {
      if (message.method === 'initialize') response.on('close', () => ended.push(message.method!));
      return message.method === 'initialize';
    },
  });
  await using broker = await startTestBroker({ s: { url: server.url, connect_timeout: 1 } });
  t.match(await broker.test('s'), { ok: false, error: /within 1 s/ });
  await until('the request ended', () => ended.length > 0);
  t.notOk(server.seen.some(({ message }) => message.method === 'notifications/cancelled'));
});

t.test('a call that is cancelled is cancelled once at the server, and its request is ended', async (t) => {
  let ended = false;
  await using server = await startMcpOverHttp({
    calls: { hangs: (_, response) => void response.on('close', () => (ended = true)) },
  });
  await using broker = await startTestBroker({ s: { url: server.url } });
  const stop = new AbortController();
  const call = broker.call({ server: 's', tool: 'hangs' }, stop.signal);
  const request = await until('the call arrived', () => server.seen.find(({ message }) => message.method === 'tools/call'));
  stop.abort(new Error('enough'));
  await t.rejects(call, /enough/);
  await until('the request ended', () => ended);
  const cancellations = () => server.seen.filter(({ message }) => message.method === 'notifications/cancelled');
  await until('the cancellation arrived', () => cancellations().length > 0);
  broker.configure({});
  await broker.reload();
  t.match(cancellations(), [{ message: { params: { requestId: request.message.id } } }]);
  t.equal(cancellations().length, 1);
});
