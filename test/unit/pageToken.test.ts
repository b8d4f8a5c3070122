/** What the page says of a pasted login address, against a real server. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(403).end('{}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const { fetch: request } = globalThis;
Object.assign(globalThis, { window: {}, fetch: (path: string, sent?: RequestInit) => request(new URL(path, origin), sent) });

/** Not imported by type: the page is compiled for a browser. */
interface PageToken {
  keepToken(pasted: string): Promise<string>;
  renewToken(): Promise<boolean>;
}

t.test('a code that is not valid is told apart from a dashboard that cannot be reached', async (t) => {
  const { keepToken, renewToken } = (await import(new URL('../../web/token.ts', import.meta.url).href)) as PageToken;
  t.equal(await keepToken(`${origin}/#code=used`), 'rejected');
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  t.equal(await keepToken(`${origin}/#code=fresh`), 'unreachable');
  t.equal(await renewToken(), false, 'a reconnect goes on with the token it has');
});
