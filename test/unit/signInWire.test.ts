/** What a provider's endpoints answer, as hostile or careless as they may be. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { askDeviceCode, askTokens, type Client } from '../../services/agent/signIn/wire.ts';

async function provider(answer: object): Promise<Client & AsyncDisposable> {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    provider: 'box',
    oauth: { flow: 'device_code', device_url: url, token_url: url, client_id: 'c' },
    secret: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
const { signal } = new AbortController();
const code = { device_code: 'd', user_code: 'U', verification_uri: 'https://box.example/device' };

t.test('a pause of years between two questions is cut to what a timer can wait', async (t) => {
  await using box = await provider({ ...code, interval: 3_000_000_000 });
  t.equal((await askDeviceCode(box, signal)).intervalMs, limits.providerSignIn.flowMaxMs);
});

t.test('an address that no browser can open is no address of a device page', async (t) => {
  await using box = await provider({ ...code, verification_uri: 'https://' });
  await t.rejects(askDeviceCode(box, signal), { code: 'PROVIDER_SIGN_IN_FAILED' });
});

t.test('a token that lasts longer than a date can say has no end, and is kept', async (t) => {
  await using box = await provider({ access_token: 'a', expires_in: 9_007_199_254_740_991 });
  t.match(await askTokens(box, { grant_type: 'refresh_token', refresh_token: 'r' }, signal), { access_token: 'a', expiresAt: null });
});
