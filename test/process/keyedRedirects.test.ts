/** Requests that carry keys, through servers that send them on: two real origins on loopback. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { ProviderKind } from '../../agent/models/kinds.ts';
import { fetchAtOrigin } from '../../base/fetchAtOrigin.ts';
import { startTestBroker } from '../harness/mcp.ts';
import { chain, received, settingsFor } from '../harness/modelChain.ts';

interface Origin extends AsyncDisposable {
  url: string;
  seen: { method: string; path: string; headers: IncomingHttpHeaders; body: string }[];
}

/** Answers a redirect where `location` says so, else 200 and nothing. */
async function origin(location: (path: string) => { status: number; to: string } | undefined = () => undefined): Promise<Origin> {
  const seen: Origin['seen'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      seen.push({ method: request.method!, path: request.url!, headers: request.headers, body });
      const next = location(request.url!);
      response.writeHead(next?.status ?? 200, next ? { location: next.to } : {}).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const kinds: { kind: ProviderKind; model?: string }[] = [
  { kind: 'openai-compatible' },
  { kind: 'openai' },
  { kind: 'openai-chat', model: 'gpt-5' },
  { kind: 'anthropic' },
  { kind: 'google' },
];
for (const { kind, model } of kinds) {
  t.test(`${kind}: a redirect to another origin is refused with what to do, and nothing of the request arrives there`, async (t) => {
    await using elsewhere = await origin();
    await using provider = await origin((path) => ({ status: 307, to: `${elsewhere.url}${path}` }));
    const settings = settingsFor(kind, `${provider.url}/v1`, { headers: { 'X-Api-Key': 'of the gateway' }, ...(model ? { model } : {}) });
    const { error } = await received(await chain(settings));
    t.match(error, {
      code: 'PROVIDER_FAILED',
      message: new RegExp(`redirects to ${elsewhere.url}; keys and messages are not sent there`),
      fix: new RegExp(`write ${elsewhere.url}/v1/.* as its address`),
    });
    t.notMatch((error as Error).message, 'value-of-KEY');
    // The quick client of the chat stream sees the redirect first and hands it on.
    t.ok(provider.seen.length <= 2, 'it is not tried again: the next try would end the same');
    t.same(elsewhere.seen, []);
  });
}

t.test('openai-compatible: a redirect within the origin is followed with the key and the same body', async (t) => {
  await using provider = await origin((path) => (path.startsWith('/old') ? { status: 308, to: '/v1/chat/completions' } : undefined));
  await received(await chain(settingsFor('openai-compatible', `${provider.url}/old`)));
  t.match(
    provider.seen.find(({ path }) => path.startsWith('/v1')),
    {
      method: 'POST',
      headers: { authorization: 'Bearer value-of-KEY' },
      body: /"model":"tiny-1"/,
    },
  );
});

t.test('within its origin a request goes on with its key: 307 and 308 as it is, the others as GET, and not for ever', async (t) => {
  await using server = await origin((path) => {
    const [, status, left = '0'] = /^\/(\d{3})\/(\d+)/.exec(path) ?? [];
    return status && left !== '0' ? { status: Number(status), to: `/${status}/${Number(left) - 1}` } : undefined;
  });
  const send = (path: string, method = 'POST') =>
    fetchAtOrigin(`${server.url}${path}`, {
      method,
      headers: { 'x-api-key': 'key', 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
  for (const status of [301, 302, 303, 307, 308]) {
    server.seen.length = 0;
    t.equal((await send(`/${status}/2`)).status, 200);
    const kept = status >= 307;
    const want = { method: kept ? 'POST' : 'GET', path: `/${status}/0`, headers: { 'x-api-key': 'key' }, body: kept ? '{}' : '' };
    t.match(server.seen[2], want, `POST ${status}`);
    t.equal('content-type' in server.seen[2]!.headers, kept);
  }
  await t.rejects(send('/307/6', 'GET'), { code: 'REDIRECT_REFUSED', message: /more than 5 times/ });
});

t.test('an MCP server with headers of its own: they are not sent on to another origin', async (t) => {
  for (const transport of ['http', 'sse']) {
    await using elsewhere = await origin();
    await using server = await origin((path) => ({ status: 307, to: `${elsewhere.url}${path}` }));
    await using broker = await startTestBroker(
      { s: { url: `${server.url}/mcp`, transport, headers: { 'X-Key': '${REMOTE_KEY}' } } },
      { env: 'REMOTE_KEY=mcp-secret-value\n' },
    );
    t.match(await broker.test('s'), { ok: false, error: new RegExp(`redirects to ${elsewhere.url}`) }, transport);
    t.match(server.seen[0], { headers: { 'x-key': 'mcp-secret-value' } });
    t.same(elsewhere.seen, []);
  }
});
