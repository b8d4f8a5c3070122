/** Streams of an MCP server over HTTP that end early: a call is resumed or fails, and never runs twice; notices keep coming. */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { startTestBroker } from '../harness/mcp.ts';
import { startMcpOverHttp, type HttpServer } from '../harness/mcpOverHttp.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

const callsSeen = (server: HttpServer): number => server.seen.filter(({ message }) => message.method === 'tools/call').length;
const stream = (response: ServerResponse, body: string): ServerResponse => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(body);
  return response;
};

for (const status of [404, 405, 503]) {
  t.test(`a call whose stream breaks and is resumed with HTTP ${status} fails and is not repeated`, async (t) => {
    await using server = await startMcpOverHttp({
      calls: { work: (_request, response) => void stream(response, 'id: 1\nretry: 10\ndata:\n\n').end() },
      first({ method }, response, raw) {
        if (method !== 'GET' || raw.headers['last-event-id'] === undefined) return false;
        response.writeHead(status).end();
        return true;
      },
    });
    await using broker = await startTestBroker({ s: { url: server.url } });
    await t.rejects(broker.call({ server: 's', tool: 'work' }), { code: 'MCP_FAILED', message: /was not repeated/ });
    t.equal(callsSeen(server), 1);
  });
}

t.test('a server that ends during a call and comes back: the call fails and is not repeated, the next one works', async (t) => {
  const delivered = Promise.withResolvers<void>();
  const first = await startMcpOverHttp({
    calls: {
      work: (_request, response) => {
        stream(response, 'id: 1\nretry: 10\ndata:\n\n');
        delivered.resolve();
      },
    },
  });
  await using broker = await startTestBroker({ s: { url: first.url } });
  const call = broker.call({ server: 's', tool: 'work' });
  const failure = t.rejects(call, { code: 'MCP_FAILED', message: /was not repeated/ });
  await delivered.promise;
  await first[Symbol.asyncDispose]();
  await failure;
  await using second = await startMcpOverHttp({ tools: ['work'], port: Number(new URL(first.url).port) });
  t.match(await broker.call({ server: 's', tool: 'work' }), { is_error: false });
  t.same([callsSeen(first), callsSeen(second)], [1, 1]);
});

t.test('the stream of notices is opened again however often it ended', async (t) => {
  let streams = 0;
  await using server = await startMcpOverHttp({
    tools: ['before'],
    list: () => ({ tools: [{ name: streams > 6 ? 'after' : 'before', inputSchema: { type: 'object' } }] }),
    first({ method }, response) {
      if (method !== 'GET') return false;
      streams++;
      const notice = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
      stream(response, `retry: 10\n\n${streams === 7 ? `data: ${JSON.stringify(notice)}\n\n` : ''}`).end();
      return true;
    },
  });
  await using broker = await startTestBroker({ s: { url: server.url } });
  await broker.tools();
  await until('the list is read again', async () => (await broker.tools()).some((name) => name.endsWith('after')), 60_000);
  t.equal((await broker.state('s')).state, 'connected');
});
