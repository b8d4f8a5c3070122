/** Signing in to an IRC server: passwords, accounts, certificates, and rooms with a key. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import type { AgentError } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { readSecrets } from '../../state/env.ts';
import type { AdapterHost } from '../../services/gateway/adapter.ts';
import { createIrcAdapter } from '../../services/gateway/adapters/irc.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { makeCertificates } from '../harness/certificates.ts';
import { testHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

interface ServerOptions {
  /** Offers SASL PLAIN and lets this account in; every other password is refused, and the client let in without an account. */
  account?: [name: string, password: string];
  tls?: { key: Buffer; cert: Buffer };
}

interface FakeServer extends AsyncDisposable {
  port: number;
  /** Lines of the clients. */
  lines: string[];
}

/** The part of an IRC server that lets clients in. */
async function signInServer({ account, tls }: ServerOptions): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const lines: string[] = [];
  const onSocket = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    const write = (line: string) => void socket.write(`:irc.test ${line}\r\n`);
    let rest = '';
    socket.on('data', (chunk) => {
      const received = (rest + String(chunk)).split('\r\n');
      rest = received.pop()!;
      lines.push(...received);
      for (const line of received) {
        if (line.startsWith('CAP LS')) write(`CAP * LS :${account ? 'sasl=PLAIN' : 'multi-prefix'}`);
        else if (line.startsWith('CAP REQ')) write(`CAP * ACK ${line.slice(line.indexOf(':'))}`);
        else if (line === 'AUTHENTICATE PLAIN') socket.write('AUTHENTICATE +\r\n');
        else if (line.startsWith('AUTHENTICATE')) {
          const [name, , password] = Buffer.from(line.slice(13), 'base64').toString().split('\0');
          const isRight = account && name === account[0] && password === account[1];
          write(isRight ? '903 agent :SASL authentication successful' : '904 agent :SASL authentication failed');
        } else if (line === 'CAP END') write('001 agent :Welcome');
      }
    });
  };
  const server = tls ? createTlsServer(tls, onSocket) : createServer(onSocket);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lines,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What becomes of a connection with these settings: the error, or the warnings of one that works. */
async function connectWith({ port }: FakeServer, settings: object, env: Record<string, string> = {}) {
  const warnings: string[] = [];
  const log = createLogger({ sink: { write: (line) => void warnings.push(line), close() {} }, component: 'test', level: 'warn' });
  const adapter = createIrcAdapter({ log, readinessChanged() {} } as unknown as AdapterHost);
  try {
    adapter.provision({ settings: { host: '127.0.0.1', port, ...settings }, secrets: readSecrets('/nowhere/.env', env) });
    adapter.validate();
    await adapter.connect(AbortSignal.timeout(10_000));
    return { ok: true, warnings: warnings.length };
  } catch (thrown) {
    const { code, fix = '' } = thrown as AgentError;
    return { ok: false, code, fix };
  } finally {
    await adapter.cleanup();
  }
}

const [account, password] = ['keeper', 'account-password'] as const;
const both = { IRC_PASSWORD: 'of-the-server', IRC_ACCOUNT_PASSWORD: password };
const offered = `AUTHENTICATE ${btoa(`${account}\0${account}\0${password}`)}`;
const wrong = (fix: RegExp) => ({ ok: false, code: 'CONFIG_INVALID', fix });

t.test('a server with SASL: the password of the account, of the server, or both', async (t) => {
  await using irc = await signInServer({ account: [account, password] });
  t.match(await connectWith(irc, { nick: account }, { IRC_PASSWORD: 'guess-guess' }), wrong(/IRC_PASSWORD.*platforms\.irc\.sasl/));
  t.match(await connectWith(irc, { sasl: false }, { IRC_PASSWORD: 'of-the-server' }), { ok: true, warnings: 0 });
  t.notOk(irc.lines.includes(offered));
  t.match(await connectWith(irc, { nick: account }, { IRC_PASSWORD: password }), { ok: true, warnings: 0 });
  t.ok(irc.lines.includes(offered));
  irc.lines.length = 0;
  t.match(await connectWith(irc, { account }, both), { ok: true });
  t.ok(irc.lines.includes(offered) && irc.lines.includes('PASS of-the-server'));
  t.match(await connectWith(irc, { account: 'other' }, both), wrong(/IRC_ACCOUNT_PASSWORD/));
});

t.test('a server without SASL: no password is unused in silence', async (t) => {
  await using irc = await signInServer({});
  t.match(await connectWith(irc, {}, { IRC_PASSWORD: 'of-the-server' }), { ok: true, warnings: 1 });
  t.match(await connectWith(irc, { sasl: false }, { IRC_PASSWORD: 'of-the-server' }), { ok: true, warnings: 0 });
  t.match(await connectWith(irc, { sasl: 'required' }, { IRC_PASSWORD: password }), wrong(/sasl/));
  t.match(await connectWith(irc, { account }, both), wrong(/sasl/));
  t.match(await connectWith(irc, { sasl: 'required' }), wrong(/IRC_ACCOUNT_PASSWORD/));
  t.match(await connectWith(irc, { sasl: false, account }, both), wrong(/platforms\.irc\.sasl/));
});

t.test('the certificate of the server is proved by an authority or by its fingerprint', async (t) => {
  using certificates = makeCertificates();
  await using irc = await signInServer({ tls: { key: certificates.read('server.key'), cert: certificates.read('server.pem') } });
  const { fingerprint256 } = new X509Certificate(certificates.read('server.pem'));
  const other = new X509Certificate(certificates.read('client.pem')).fingerprint256;
  const env = { IRC_PASSWORD: 'of-the-server' };
  const refused = (fix: RegExp) => ({ ok: false, code: 'PLATFORM_DOWN', fix });

  t.match(await connectWith(irc, { tls: true }, env), refused(/tls_ca.*tls_fingerprint/));
  t.match(await connectWith(irc, { tls: true, tls_fingerprint: other }, env), refused(/tls_fingerprint/));
  t.match(await connectWith(irc, { tls: true, tls_ca: '/nowhere.pem' }, env), wrong(/PEM/));
  t.strictSame(irc.lines, [], 'nothing was said to a server that is not proved');
  t.match(await connectWith(irc, { tls: true, tls_ca: certificates.path('ca.pem') }, env), { ok: true });
  t.match(await connectWith(irc, { tls: true, tls_fingerprint: fingerprint256 }, env), { ok: true });
  const lower = fingerprint256.replaceAll(':', '').toLowerCase();
  t.match(await connectWith(irc, { tls: true, tls_fingerprint: lower }, env), { ok: true });
});

t.test('a wrong password of the account is an error of the settings, not a connection without it', async (t) => {
  await using irc = await signInServer({ account: [account, password] });
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
