/** What a server refuses at the door: a wrong password of an account, a room with a key. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { testHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

/** The part of a server with SASL PLAIN that refuses every password and then lets the client in unidentified. */
async function refusingServer(): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    const say = (line: string) => void socket.write(`:irc.test ${line}\r\n`);
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = (rest + String(chunk)).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith('CAP LS')) say('CAP * LS :sasl=PLAIN');
        else if (line.startsWith('CAP REQ')) say('CAP * ACK :sasl');
        else if (line === 'AUTHENTICATE PLAIN') socket.write('AUTHENTICATE +\r\n');
        else if (line.startsWith('AUTHENTICATE')) say('904 agent :SASL authentication failed');
        else if (line === 'CAP END') say('001 agent :Welcome');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

t.test('a wrong password of the account is an error of the settings, not a connection without it', async (t) => {
  await using irc = await refusingServer();
  using home = testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, channels: [], allowed_users: ["*"] }\n`,
    '.env': 'IRC_PASSWORD=guess-guess\n',
  });
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  const state = await until('it gives up', async () => {
    const [now] = (await link.call(gateway.platforms, {})).platforms;
    return now?.state === 'fatal' ? now : undefined;
  });
  t.match(state, { error_code: 'CONFIG_INVALID', error_message: /IRC_PASSWORD/ });
  t.match(await link.call(gateway.testPlatform, { platform: 'irc' }), { ok: false, state: 'fatal', fix: /IRC_PASSWORD/ });
});

t.test('a room with a key is entered with the key of the settings', async (t) => {
  await using irc = await startNgircd();
  const alice = await irc.join('alice', '#locked');
  alice.client.raw('MODE', '#locked', '+k', 'sesame');
  using home = testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, channels: ["#locked \${ROOM_KEY}"], allowed_users: ["*"] }\n`,
    '.env': 'ROOM_KEY=sesame\n',
  });
  await using _agent = await fakeAgent(home, () => 'I am in');
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  await link.call(gateway.enqueueDelivery, { target: 'irc', text: 'hello', idempotency_key: 'k', origin: 'cli' });
  await until('it speaks in the room', () => alice.said('agent', '#locked').includes('hello'));
  t.strictSame(
    (await link.call(gateway.listTargets, {})).targets.map(({ target }) => target),
    ['irc', 'irc:#locked'],
  );
});
