/** Browser sockets are pinged: the silent ones end, the living ones do not. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { startHeartbeat } from '../../services/dashboard/sockets/heartbeat.ts';
import { until } from '../harness/until.ts';

t.test('a browser that answers no ping is cut after two of them; one that answers stays', async (t) => {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  using heart = startHeartbeat(100);
  wss.on('connection', (socket) => heart.add(socket));
  const address = `ws://127.0.0.1:${(wss.address() as AddressInfo).port}`;
  const silent = new WebSocket(address, { autoPong: false });
  const living = new WebSocket(address);
  let pings = 0;
  silent.on('ping', () => pings++);
  let answered = 0;
  living.on('ping', () => answered++);
  const [code] = (await once(silent, 'close')) as [number];
  t.equal(code, 1006);
  t.equal(pings, 2);
  const before = answered;
  await until('the other lives through four more', () => answered >= before + 4);
  t.equal(living.readyState, living.OPEN);
  living.terminate();
  await until('it is forgotten', () => wss.clients.size === 0);
  wss.close();
});
