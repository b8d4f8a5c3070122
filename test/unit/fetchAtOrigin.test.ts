/** Requests that carry a key wait as long as their caller says, not as long as Node's fetch does. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { fetchAtOrigin } from '../../base/fetchAtOrigin.ts';

/** What Node shares its dispatcher under, once fetch was used. */
const SHARED = Symbol.for('undici.globalDispatcher.1');

t.test('the limits of Node for the head of an answer and for a pause in it do not end a POST', async (t) => {
  await fetch('data:,');
  const shared = globalThis as unknown as Record<symbol, object>;
  const before = shared[SHARED]!;
  const Kind = before.constructor as new (options: object) => object;
  shared[SHARED] = new Kind({ headersTimeout: 100, bodyTimeout: 100 });
  t.teardown(() => void (shared[SHARED] = before));

  const waiting = new Map<string, ServerResponse>();
  const server = createServer((request, response) => {
    waiting.set(request.url!, response);
    if (request.url === '/pause' || request.url === '/pause-plain') response.write('one ');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const post = { method: 'POST', body: '{}' };

  const late = fetchAtOrigin(`${address}/late`, post);
  const paused = fetchAtOrigin(`${address}/pause`, post).then((answer) => answer.text());
  await t.rejects(fetch(`${address}/late-plain`, post), { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }, 'this fetch is impatient');
  const plain = await fetch(`${address}/pause-plain`, post);
  await t.rejects(plain.text(), { cause: { code: 'UND_ERR_BODY_TIMEOUT' } });

  waiting.get('/late')!.end('at last');
  waiting.get('/pause')!.end('two');
  t.equal(await (await late).text(), 'at last');
  t.equal(await paused, 'one two');
});

t.test('the signal of the caller ends it', async (t) => {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const asked = fetchAtOrigin(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
    method: 'POST',
    signal: AbortSignal.timeout(200),
  });
  await t.rejects(asked, { name: 'TimeoutError' });
});
