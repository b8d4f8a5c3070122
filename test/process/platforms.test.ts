/** Chat platforms through the page's API on the real service, with a real IRC server: set up, tried, started, given up. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { startService, type TestService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

const TOKEN = 'pinned-token-of-the-test';

interface Row {
  id: string;
  state: string;
  error_message: string | null;
  env_vars: { key: string; is_set: boolean; redacted_value: string | null }[];
}

async function apiOf(home: TestHome) {
  const service: TestService = await startService(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: TOKEN } });
  await service.ready();
  const call = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: { 'X-Agent-Session-Token': TOKEN, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, ...((await answer.json()) as T) };
  };
  const irc = async () => (await call<{ platforms: Row[] }>('GET', '/api/messaging/platforms')).platforms.find(({ id }) => id === 'irc')!;
  return { service, call, irc };
}

t.test('a platform goes from not set up to connected, each word on the way is true, and a secret is never shown', async (t) => {
  await using server = await startNgircd({ password: 'secret-of-the-irc-server' });
  using home = testHome();
  const { service, call, irc } = await apiOf(home);
  await using _ = service;
  const save = (body: object) => call<{ platform: Row }>('PUT', '/api/messaging/platforms/irc', body);

  t.match(await irc(), { state: 'not_configured' });
  t.match(await call('POST', '/api/messaging/platforms/irc/test', {}), { ok: false, state: 'gateway_stopped', fix: /gateway start/ });
  const settings = { host: '127.0.0.1', port: server.port, channels: ['#room'], allowed_users: ['*'] };
  t.match(await save({ enabled: true, settings }), { status: 200, platform: { state: 'gateway_stopped' } });
  t.match(await service.worker('gateway'), { state: 'down' }, 'looking and saving start no gateway');

  t.match(await call('POST', '/api/gateway/start', {}), { ok: true, action: 'start' });
  await until('the server refuses it', async () => (await irc()).state === 'fatal');
  t.match(await irc(), { error_message: /IRC_PASSWORD/ });

  const { platform } = await save({ env: { IRC_PASSWORD: 'secret-of-the-irc-server' } });
  t.match(platform, { state: 'pending_restart' }, 'the gateway runs with the old secret');
  t.match(platform.env_vars[0], { key: 'IRC_PASSWORD', is_set: true, redacted_value: '••••rver' });
  t.match(readFileSync(home.env, 'utf8'), /IRC_PASSWORD=secret-of-the-irc-server/);
  t.notMatch(readFileSync(home.config, 'utf8'), /secret-of/, 'secrets do not go to config.yaml');
  t.match(
    await call('POST', '/api/messaging/platforms/irc/test', {}),
    { ok: true, state: 'connected' },
    'a trial uses what is written now',
  );
  t.match(await irc(), { state: 'pending_restart' }, 'and changes nothing');

  await call('POST', '/api/gateway/restart', {});
  await until('it is connected', async () => (await irc()).state === 'connected');
  t.match(await call('POST', '/api/messaging/platforms/irc/test', {}), { ok: true, message: /connected since/ });
  for (const nick of ['one', 'two', 'agent']) {
    await save({ settings: { nick } });
    t.match(
      await call('POST', '/api/messaging/platforms/irc/test', {}),
      { ok: true },
      'the restart of the gateway by the save is waited for',
    );
  }
  await until('the gateway is back', async () => (await irc()).state === 'connected');
  await server.kill();
  await until('it is lost', async () => (await irc()).state === 'disconnected');
  const tried = await call<{ ok: boolean; message: string }>('POST', '/api/messaging/platforms/irc/test', {});
  t.match(tried, { ok: false, state: 'disconnected', message: /ECONNREFUSED/ });

  await call('POST', '/api/gateway/stop', {});
  const read = readGatewayState(home.gatewayState);
  t.equal(read.kind === 'present' && read.state.desired_state, 'stopped', 'intent is written down as by the command');
  t.match(await irc(), { state: 'gateway_stopped' });
  t.match(await save({ enabled: false }), { platform: { state: 'disabled' } });
  t.match(await save({ clear_env: ['IRC_PASSWORD'] }), { platform: { env_vars: [{ key: 'IRC_PASSWORD', is_set: false }] } });
});

t.test('what a platform does not take is refused before anything is written', async (t) => {
  using home = testHome({ 'config.yaml': '# mine\nplatforms: { irc: { nick: agent } }\n' });
  const { service, call } = await apiOf(home);
  await using _ = service;
  for (const [body, code] of [
    [{ settings: { nobody: 1 } }, 'BAD_REQUEST'],
    [{ settings: { port: 'six' } }, 'BAD_REQUEST'],
    [{ settings: { port: 700_000 } }, 'CONFIG_INVALID'],
    [{ settings: { host: 'a\nb' } }, 'BAD_REQUEST'],
    [{ env: { PATH: '/tmp' } }, 'BAD_REQUEST'],
    [{ env: { IRC_PASSWORD: 'two\nlines' } }, 'BAD_REQUEST'],
    [{ settings: { port: 700_000 }, env: { IRC_PASSWORD: 'x' } }, 'CONFIG_INVALID'],
  ] as const) {
    const answer = await call('PUT', '/api/messaging/platforms/irc', body);
    t.match(answer, { code }, JSON.stringify(body));
    t.ok(answer.status >= 400);
  }
  t.equal((await call('PUT', '/api/messaging/platforms/nobody', { enabled: true })).status, 404);
  t.equal(readFileSync(home.config, 'utf8'), '# mine\nplatforms: { irc: { nick: agent } }\n');
  t.throws(() => readFileSync(home.env), { code: 'ENOENT' });
});

t.test('a message that was given up is listed, sent again, or discarded', async (t) => {
  await using server = await startNgircd();
  using home = testHome({ 'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${server.port}, channels: ["#room"] }\n` });
  const ids: number[] = [];
  {
    await using first = await startWorker(home, 'gateway');
    using link = await first.dial();
    for (const text of ['one', 'two', 'three'])
      ids.push(
        (await link.call(gateway.enqueueDelivery, { target: 'irc:nobody', text, idempotency_key: text, origin: 'cli' })).delivery_id,
      );
    await until('the server has refused all', async () => {
      const states = await Promise.all(ids.map((id) => link.call(gateway.deliveryStatus, { delivery_id: id })));
      return states.every(({ status }) => status === 'failed');
    });
    await first.kill('SIGTERM');
  }
  const { service, call } = await apiOf(home);
  await using _ = service;
  const listed = async () =>
    (await call<{ undelivered: { id: number; text: string }[] }>('GET', '/api/messaging/undelivered')).undelivered.map(({ text }) => text);
  t.same(await listed(), ['one', 'two', 'three'], 'while the gateway is down');
  t.match(await call('POST', '/api/messaging/undelivered/retry', { ids }), { status: 503, code: 'PLATFORM_DOWN' });

  await call('POST', '/api/gateway/start', {});
  using nobody = await server.join('nobody', '#room');
  t.match(await call('POST', '/api/messaging/undelivered/retry', { ids: [ids[0], 999] }), { done: [ids[0]], failed: [{ id: 999 }] });
  await until('it has arrived', () => nobody.said('agent', 'nobody').length > 0);
  t.same(nobody.said('agent', 'nobody'), ['one'], 'whole, and without a mark');
  t.match(await call('POST', '/api/messaging/undelivered/discard', { ids: [ids[1]] }), { done: [ids[1]], failed: [] });
  t.same(await listed(), ['three']);
  const db = openReadOnly(home.gatewayDb);
  t.teardown(() => db.close());
  const states = () => db.prepare('SELECT state FROM outbox ORDER BY id').pluck().all();
  await until('the server has confirmed it', () => states()[0] === 'delivered');
  t.same(states(), ['delivered', 'discarded', 'failed']);
});
