/** Rows of the interface spec about the web, with a search service on loopback. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

/** A search service that always knows fifty places. */
async function startSearch() {
  const server = createServer((request, response) => {
    const query = new URL(request.url!, 'http://x').searchParams.get('q');
    const results = Array.from({ length: 50 }, (_, n) => ({
      title: `${query} ${n}`,
      url: `https://example.org/${n}`,
      content: `text ${n}`,
    }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

t.test('lim.10 a web search gives at most 20 results, whatever is asked and answered', async (t) => {
  using search = await startSearch();
  await using provider = await startOpenAi();
  using home = testHome({
    'config.yaml': `model: { default: tiny-1 }\nproviders: { box: { base_url: "${provider.url}" } }\nweb: { search: { kind: searxng, base_url: "${search.url}" } }\n`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  for (const [limit, given] of [
    [100, 20],
    [20, 20],
    [3, 3],
  ] as const) {
    provider.answer({ toolCalls: [{ name: 'web_search', args: JSON.stringify({ query: 'cats', limit }) }] }, { text: 'found' });
    const { complete, events } = await client.turn(await client.create(), 'look for cats');
    t.match(complete, { status: 'complete', text: 'found' });
    const { payload } = events.find(({ type }) => type === 'tool.complete')!;
    t.match(payload, { name: 'web_search', is_error: false });
    t.equal((payload.result as { results: unknown[] }).results.length, given, `${limit} asked for`);
    t.equal(String(payload.result_text).match(/^\d+\. cats/gm)?.length, given, 'and the model reads as many');
  }
});
