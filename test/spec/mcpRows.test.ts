import t from 'tap';
import { everything, node, startHttpServer, startTestBroker } from '../harness/mcp.ts';

t.test('svc.7 MCP client: connects to configured MCP servers', async (t) => {
  await using http = await startHttpServer('streamableHttp');
  await using broker = await startTestBroker({
    local: node(everything, { args: [everything, 'stdio'] }),
    remote: { url: `http://127.0.0.1:${http.port}/mcp`, headers: { 'X-Key': '${REMOTE_KEY}' } },
    off: node(everything, { enabled: false }),
  });
  const tools = await broker.tools();
  t.same(
    ['mcp__local__echo', 'mcp__remote__echo', 'mcp__off__echo'].map((name) => tools.includes(name)),
    [true, true, false],
  );
  for (const server of ['local', 'remote'])
    t.match(await broker.call({ name: `mcp__${server}__echo`, args: { message: 'hi' } }), { text: 'Echo: hi' });
});
