/** Sending to a slow browser: the source is held, then goes on; one that cannot be held loses its tab. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { limits } from '../../base/limits.ts';
import { createOutlet } from '../../services/dashboard/sockets/outlet.ts';
import { until } from '../harness/until.ts';

async function connected(): Promise<{ server: WebSocket; browser: WebSocket; [Symbol.dispose](): void }> {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(wss, 'listening');
  const browser = new WebSocket(`ws://127.0.0.1:${(wss.address() as AddressInfo).port}`);
  const [server] = (await once(wss, 'connection')) as [WebSocket];
  await until('open', () => browser.readyState === browser.OPEN);
  return {
    server,
    browser,
    [Symbol.dispose]() {
      browser.terminate();
      server.terminate();
      wss.close();
    },
  };
}

const frame = Buffer.alloc(64 * 1024, 'x');

t.test('a source is held while the tab does not read, little waits meanwhile, and everything arrives in the end', async (t) => {
  using pair = await connected();
  let received = 0;
  pair.browser.on('message', (data: Buffer) => (received += data.length));
  pair.browser.pause();
  let sent = 0;
  let held = false;
  const wanted = 1_000 * frame.length;
  const outlet = createOutlet(pair.server, { pause: () => (held = true), resume: () => ((held = false), produce()) });
  const produce = () => {
    while (!held && sent < wanted) {
      sent += frame.length;
      outlet.send(frame, { binary: true });
    }
  };
  produce();
  await until('the source is held for good', () => held && pair.server.bufferedAmount >= limits.dashboard.socketPauseBytes);
  t.ok(pair.server.bufferedAmount <= limits.dashboard.socketPauseBytes + 2 * frame.length, 'no more than the limit and a frame');
  t.ok(sent < wanted);
  pair.browser.resume();
  await until('all of it', () => received === wanted);
});

t.test('a source that cannot be held costs the tab its connection, with a code of its own', async (t) => {
  using pair = await connected();
  pair.browser.pause();
  const outlet = createOutlet(pair.server, { pause: () => {}, resume: () => {} });
  for (let sent = 0; sent < 8 * limits.dashboard.socketQueueMaxBytes && pair.server.readyState === pair.server.OPEN; sent += frame.length)
    outlet.send(frame, { binary: true });
  t.not(pair.server.readyState, pair.server.OPEN);
  const end = once(pair.browser, 'close');
  pair.browser.resume();
  t.equal((await end)[0], 4408);
});
