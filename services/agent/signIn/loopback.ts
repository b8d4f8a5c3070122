/** Where a browser comes back to after a sign-in: a port of the loopback address, open for one flow alone (RFC 8252). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoopbackReturn extends Disposable {
  /** To be registered with the provider as `http://127.0.0.1/callback`, of any port. */
  redirectUri: string;
}

const PATH = '/callback';

/** `arrived` gets the query of the return once it carries this `state`; anything else is answered 404. */
export async function listenForReturn(state: string, arrived: (query: URLSearchParams) => void): Promise<LoopbackReturn> {
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const mine = request.method === 'GET' && url.pathname === PATH && url.searchParams.get('state') === state;
    response
      .writeHead(mine ? 200 : 404, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-store',
        Connection: 'close',
      })
      .end(mine ? page('Back at the agent', 'You can close this window: the sign-in goes on where it began.') : page('Nothing here', ''));
    if (mine) arrived(url.searchParams);
  });
  server.maxConnections = 16;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    redirectUri: `http://127.0.0.1:${port}${PATH}`,
    [Symbol.dispose]() {
      // The last answer leaves first.
      server.close();
      server.closeIdleConnections();
    },
  };
}

const page = (title: string, text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>` +
  '<style>:root{color-scheme:light dark}body{font:1rem/1.6 system-ui,sans-serif;display:grid;place-content:center;min-height:90vh;text-align:center}</style>' +
  `<h1>${title}</h1><p>${text}</p></html>`;
