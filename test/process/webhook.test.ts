import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { liftPause, engagePause } from '../../state/pause.ts';
import { openReadOnly } from '../../state/db/open.ts';
import type { Home } from '../../state/home.ts';
import { limits } from '../../base/limits.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

/** Each waits more than it works: they run side by side. */
t.jobs = 4;
const beside = () => ({ buffered: true });

const SECRET = 'webhook-secret-of-the-test';
const config = (port: number, routes: string, more = '') =>
  `platforms:\n  irc: { host: 127.0.0.1, port: 9, nick: agent, channels: ["#room"] }\n  webhook: { host: 127.0.0.1, port: ${port}${more}, routes: { ${routes} } }\n`;
const sign = (body: string, secret = SECRET) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

function post(port: number, path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': sign(body), ...headers },
  });
}

async function stateOf(worker: TestWorker, platform: string): Promise<gateway.PlatformState | undefined> {
  using link = await worker.dial();
  return (await link.call(gateway.platforms, {})).platforms.find((state) => state.platform === platform);
}

const connected = (worker: TestWorker) =>
  until('webhooks are taken', async () => (await stateOf(worker, 'webhook'))?.state === 'connected');

function outbox(home: Home): { chat: string; text: string }[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return db.prepare('SELECT chat, text FROM outbox ORDER BY id').all() as { chat: string; text: string }[];
  } finally {
    db.close();
  }
}

t.test('a delivery is answered by what is wrong with it, and only a right one becomes a turn', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({
    'config.yaml': config(
      port,
      'build: { prompt: "Build {status} of {repo.name}", deliver: "irc:#Room" }, quiet: { secret: "${QUIET_SECRET}" }, open: { secret: INSECURE_NO_AUTH }',
    ),
    '.env': `WEBHOOK_SECRET=${SECRET}\nQUIET_SECRET=quiet-secret\n`,
  });
  await using agent = await fakeAgent(home, ({ text }) => `looked at: ${text}`);
  await using worker = await startWorker(home, 'gateway');
  await connected(worker);
  const body = JSON.stringify({ status: 'red', repo: { name: 'x' } });
  const large = 'x'.repeat(limits.gateway.webhookBodyMaxBytes + 1);
  const table: { name: string; given: Promise<Response>; want: number }[] = [
    { name: 'signed', given: post(port, '/webhooks/build', body), want: 202 },
    { name: 'unknown route, like a wrong signature', given: post(port, '/webhooks/nope', body), want: 401 },
    { name: 'unknown route, not a POST', given: fetch(`http://127.0.0.1:${port}/webhooks/nope`), want: 405 },
    { name: 'outside', given: post(port, '/', body), want: 404 },
    { name: 'a way out of the route', given: post(port, '/webhooks/../webhooks/build%2f..', body), want: 404 },
    { name: 'not a POST', given: fetch(`http://127.0.0.1:${port}/webhooks/build`), want: 405 },
    { name: 'unsigned', given: post(port, '/webhooks/build', body, { 'x-hub-signature-256': '' }), want: 401 },
    {
      name: 'signed with another secret',
      given: post(port, '/webhooks/build', body, { 'x-hub-signature-256': sign(body, 'guess') }),
      want: 401,
    },
    { name: 'signed, then changed', given: post(port, '/webhooks/build', `${body} `, { 'x-hub-signature-256': sign(body) }), want: 401 },
    { name: 'too large', given: post(port, '/webhooks/build', large), want: 413 },
    { name: 'not JSON', given: post(port, '/webhooks/build', '{"a":'), want: 400 },
    { name: 'the secret of another route', given: post(port, '/webhooks/quiet', body), want: 401 },
    ...[{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }].map((headers) => ({
      name: `open on purpose, from a web page with ${JSON.stringify(headers)}`,
      given: post(port, '/webhooks/open', body, { 'content-type': 'text/plain', ...headers }),
      want: 403,
    })),
    {
      name: 'open on purpose',
      given: fetch(`http://127.0.0.1:${port}/webhooks/open`, {
        method: 'POST',
        body: 'a=1&b=2',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      want: 202,
    },
  ];
  for (const { name, given, want } of table) {
    const response = await given;
    t.equal(response.status, want, name);
    const answer = (await response.json()) as Record<string, unknown>;
    if (want < 300) t.match(answer, { status: 'accepted', delivery_id: /.+/ }, name);
    else
      t.match(
        { type: response.headers.get('content-type'), answer },
        { type: 'application/problem+json', answer: { status: want, title: /.+/, detail: /.+/ } },
        name,
      );
  }
  const token = await fetch(`http://127.0.0.1:${port}/webhooks/quiet`, {
    method: 'POST',
    body: 'plain words',
    headers: { 'content-type': 'text/plain', 'x-gitlab-token': 'quiet-secret' },
  });
  t.equal(token.status, 202, 'a plain token, a plain text');
  await until('the turns are done', () => agent.turns.length === 3 && outbox(home).length === 1);
  t.strictSame(outbox(home), [{ chat: '#room', text: 'looked at: Build red of x' }], 'only the route with a chat delivers');
  t.match(agent.turns[0], { text: 'Build red of x', session_key: null, surface: 'gateway', platform: 'webhook', user: 'build' });
  t.strictSame(agent.turns.map((turn) => turn.text).toSorted(), ['Build red of x', 'a=1&b=2', 'plain words']);
  t.notMatch(worker.output(), SECRET);
});

t.test('the same delivery id is one turn, also over a kill of the gateway', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({ 'config.yaml': config(port, 'build: { prompt: "Build {status}" }'), '.env': `WEBHOOK_SECRET=${SECRET}\n` });
  await using agent = await fakeAgent(home, () => 'ok');
  const first = await startWorker(home, 'gateway');
  await connected(first);
  const send = async (id: string) => {
    const response = await post(port, '/webhooks/build', '{"status":"red"}', { 'x-github-delivery': id });
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  t.strictSame(await send('d1'), [202, 'accepted']);
  t.strictSame(await send('d1'), [200, 'duplicate']);
  await first[Symbol.asyncDispose]();
  await using second = await startWorker(home, 'gateway');
  await connected(second);
  t.strictSame(await send('d1'), [200, 'duplicate']);
  t.strictSame(await send('d2'), [202, 'accepted']);
  await until('both are answered', () => agent.turns.length >= 2);
  t.strictSame(
    agent.turns.map((turn) => turn.idempotency_key),
    ['gateway:1', 'gateway:2'],
  );
});

t.test('a route takes thirty deliveries a minute, and as many wrong guesses', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({ 'config.yaml': config(port, 'build: {}, other: {}'), '.env': `WEBHOOK_SECRET=${SECRET}\n` });
  await using agent = await fakeAgent(home, () => 'ok');
  await using worker = await startWorker(home, 'gateway');
  await connected(worker);
  const codes: number[] = [];
  for (let n = 0; n < limits.gateway.webhookPerMinute + 1; n++) codes.push((await post(port, '/webhooks/build', '{}')).status);
  t.strictSame([codes.filter((code) => code === 202).length, codes.at(-1)], [limits.gateway.webhookPerMinute, 429]);
  const refused = await post(port, '/webhooks/build', '{}');
  t.ok(Number(refused.headers.get('retry-after')) > 0, 'it says when to come back');
  for (let n = 0; n < limits.gateway.webhookPerMinute; n++)
    await post(port, '/webhooks/other', '{}', { 'x-hub-signature-256': 'sha256=00' });
  t.equal((await post(port, '/webhooks/other', '{}', { 'x-hub-signature-256': 'sha256=00' })).status, 429, 'guessing is bounded');
  t.equal(agent.turns.length > 0, true);
});

t.test('who guesses at a route is held up, and nobody else; guesses from everywhere hold up strangers alone', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({ 'config.yaml': config(port, 'build: {}'), '.env': `WEBHOOK_SECRET=${SECRET}\n` });
  await using _agent = await fakeAgent(home, () => 'ok');
  await using worker = await startWorker(home, 'gateway');
  await connected(worker);
  const { webhookPerMinute, webhookGuessesPerMinute } = limits.gateway;
  // As a proxy on this machine writes it: what the sender wrote first, then its address.
  const from = (address: string, wrong: boolean) =>
    post(port, '/webhooks/build', '{}', {
      'x-forwarded-for': `192.0.2.99, ${address}`,
      ...(wrong ? { 'x-hub-signature-256': 'sha256=00' } : {}),
    });
  t.equal((await from('192.0.2.1', false)).status, 202);
  for (let n = 0; n < webhookPerMinute; n++) t.equal((await from('2001:db8::1', true)).status, 401);
  const held = await from('2001:db8::2', true);
  t.equal(held.status, 429, 'another address of the same /64 is the same');
  t.ok(Number(held.headers.get('retry-after')) > 0);
  t.equal((await from('2001:db8::1', false)).status, 429, 'a right guess is not heard either');
  t.equal((await from('192.0.2.1', false)).status, 202, 'the real sender is');
  t.equal((await from('192.0.2.2', false)).status, 202, 'so is one that was never heard');
  for (let n = webhookPerMinute; n < webhookGuessesPerMinute; n++) await from(`198.51.100.${n % 250}`, true);
  t.equal((await from('203.0.113.7', true)).status, 429, 'guesses from everywhere have a bound together');
  t.equal((await from('203.0.113.8', false)).status, 429);
  t.equal((await from('192.0.2.1', false)).status, 202, 'who was right before is still heard');
});

t.test('while automation is paused deliveries are taken and kept, and go on in order after it', beside(), async (t) => {
  const port = await freePort();
  using home = testHome({ 'config.yaml': config(port, 'build: { prompt: "n {n}" }'), '.env': `WEBHOOK_SECRET=${SECRET}\n` });
  await using agent = await fakeAgent(home, () => 'ok');
  engagePause(home.estop, { reason: 'test' });
  const first = await startWorker(home, 'gateway');
  await connected(first);
  for (const n of [1, 2, 3]) t.equal((await post(port, '/webhooks/build', JSON.stringify({ n }))).status, 202);
  using link = await first.dial();
  t.equal((await link.call(gateway.platforms, {})).held, 3);
  await first[Symbol.asyncDispose]();
  await using second = await startWorker(home, 'gateway');
  using again = await second.dial();
  await until('they are still held', async () => (await again.call(gateway.platforms, {})).held === 3);
  t.equal(agent.turns.length, 0);
  const liftedAt = performance.now();
  liftPause([home.estop]);
  await until('all are released', () => agent.turns.length === 3);
  t.strictSame(
    agent.turns.map((turn) => turn.text),
    ['n 1', 'n 2', 'n 3'],
  );
  t.ok(performance.now() - liftedAt >= 2 * limits.gateway.releaseMs - 50, 'one by one, at the pace of release');
  t.equal((await again.call(gateway.platforms, {})).held, 0);
});

t.test('settings that cannot work are named with their remedy, and the gateway stays up', beside(), async (t) => {
  const port = await freePort();
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const table = [
    {
      name: 'no secret',
      config: config(port, 'build: {}'),
      env: '',
      want: { state: 'fatal', error_code: 'CONFIG_INVALID', error_message: /routes\.build has no secret — set WEBHOOK_SECRET in \.env/ },
    },
    {
      name: 'a secret that is not set',
      config: config(port, 'build: { secret: "${NOPE}" }'),
      env: '',
      want: { state: 'fatal', error_message: /no secret/ },
    },
    {
      name: 'open to the world',
      config: config(port, 'build: { secret: INSECURE_NO_AUTH }').replace('webhook: { host: 127.0.0.1', 'webhook: { host: 0.0.0.0'),
      env: '',
      want: { state: 'fatal', error_message: /0\.0\.0\.0 is no loopback address/ },
    },
    {
      name: 'delivers to nobody',
      config: config(port, 'build: { deliver: "pigeon:x" }'),
      env: `WEBHOOK_SECRET=${SECRET}\n`,
      want: { state: 'fatal', error_message: /nothing answers to "pigeon:x"/ },
    },
    {
      name: 'wrong type',
      config: config(port, 'build: { prompt: 5 }'),
      env: '',
      want: { state: 'fatal', error_message: /platforms\.webhook at routes\.build\.prompt/ },
    },
    {
      name: 'port taken',
      config: config(port, 'build: {}'),
      env: `WEBHOOK_SECRET=${SECRET}\n`,
      want: { state: 'retrying', error_code: 'PORT_IN_USE', error_message: new RegExp(`port ${port} on 127.0.0.1 is taken`) },
    },
  ];
  await Promise.all(
    table.map(async ({ name, config: text, env, want }) => {
      using home = testHome({ 'config.yaml': text, '.env': env });
      await using worker = await startWorker(home, 'gateway');
      const state = await until(name, async () => {
        const now = await stateOf(worker, 'webhook');
        return now?.state === 'connecting' ? undefined : now;
      });
      t.match(state, want, name);
      t.equal(worker.child.exitCode, null, `${name}: the process is up`);
    }),
  );
});
