/** Interface spec, Command line: row cli.6, from the command to the turn of the profile that the route is bound to. */
import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { readEnvVariables } from '../../state/envFile.ts';
import { engagePause, liftPause } from '../../state/pause.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { cli, errorOf, type CliResult } from '../harness/cli.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

const subscriptions = (dir: string) => JSON.parse(readFileSync(join(dir, 'webhook_subscriptions.json'), 'utf8')) as { routes: object };
const parsed = <T = Record<string, unknown>>({ stdout }: CliResult): T => JSON.parse(stdout) as T;

const post = (url: string, body: string, secret: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    body,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  });

const webhooks = async (home: TestHome): Promise<{ worker: TestWorker; port: number }> => {
  const port = await freePort();
  home.write('config.yaml', `platforms:\n  webhook: { enabled: true, port: ${port}, routes: { fixed: { secret: INSECURE_NO_AUTH } } }\n`);
  const worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  await until('webhooks are taken', async () => (await link.call(gateway.platforms, {})).platforms[0]?.state === 'connected');
  return { worker, port };
};

t.test(
  'cli.6 webhook subscribe: a running gateway takes the route at once; --route-profile binds it to the agent of a profile',
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
    await using mine = await fakeAgent(home, () => 'ok');
    await using works = await fakeAgent(home, () => 'ok', { slot: 'agent@work' });
    const { worker, port } = await webhooks(home);
    await using _gateway = worker;

    const subscribed = await cli(['webhook', 'subscribe', 'build', '--prompt', 'Build {status}', '--route-profile', 'work', '--json'], {
      home,
    });
    t.equal(subscribed.code, 0, subscribed.stderr);
    const { url, secret } = parsed<{ url: string; secret: string }>(subscribed);
    t.equal(url, `http://127.0.0.1:${port}/webhooks/build`);
    t.match(secret, /^[0-9a-f]{48}$/);
    t.notMatch(readFileSync(join(home.root, 'webhook_subscriptions.json'), 'utf8'), secret, 'the secret itself stands in .env alone');
    t.ok(Object.values(readEnvVariables(home.env)).includes(secret));
    for (const file of ['webhook_subscriptions.json', '.env']) t.equal(statSync(join(home.root, file)).mode & 0o777, 0o600, file);

    t.equal((await post(url, '{"status":"green"}', secret)).status, 202);
    await until('the agent of the profile is asked', () => works.turns.length === 1);
    t.match(works.turns, [{ text: 'Build green', profile: 'work', platform: 'webhook', session_key: null }]);
    t.equal((await post(url, '{}', 'guess')).status, 401);

    const again = await cli(['webhook', 'subscribe', 'build', '--prompt', 'Now {status}', '--json'], { home });
    t.match(parsed(again), { secret: null, profile: 'work', prompt: 'Now {status}' }, 'the secret and the profile stay');
    t.match(await cli(['webhook', 'test', 'build', '{"status":"red"}'], { home }), { code: 0, stdout: /202/ });
    await until('it is answered as it is now', () => works.turns.length === 2);
    t.match(works.turns[1], { text: 'Now red' });

    const listed = parsed(await cli(['webhook', 'subscribe', 'build', '--events', 'push, pull_request.opened', '--json'], { home }));
    t.match(listed, { events: ['push', 'pull_request.opened'] });
    const event = async (name: string) => (await post(url, '{}', secret, { 'x-github-event': name })).status;
    t.strictSame([await event('issues'), await event('push')], [200, 202], 'other events make no turn');
    await until('the listed one is answered', () => works.turns.length === 3);
    t.match(parsed(await cli(['webhook', 'subscribe', 'build', '--events', '', '--json'], { home })), { events: null });
    t.equal(await event('issues'), 202, 'without a list every event counts');

    await cli(['webhook', 'subscribe', 'own'], { home });
    t.match(await cli(['webhook', 'test', 'own', '{"a":1}'], { home }), { code: 0 });
    await until('a route without a profile asks the agent of the gateway', () => mine.turns.length === 1);
    t.match(mine.turns, [{ text: '{"a":1}', profile: 'default' }]);

    t.match(parsed(await cli(['webhook', 'list', '--json'], { home })), {
      enabled: true,
      routes: [
        { name: 'fixed', from: 'config.yaml', profile: null },
        { name: 'build', from: 'webhook_subscriptions.json', profile: 'work', deliver: 'none' },
        { name: 'own', profile: null },
      ],
    });
    t.equal((await cli(['webhook', 'remove', 'build'], { home })).code, 0);
    t.equal((await post(url, '{}', secret)).status, 401, 'removed: gone at once');
    t.notOk(Object.values(readEnvVariables(home.env)).includes(secret), 'with its secret');
  },
);

t.test('cli.6 -p chooses whose subscriptions file is written', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': '', 'profiles/play/SOUL.md': '' });
  const bound = await cli(['-p', 'work', 'webhook', 'subscribe', 'build', '--route-profile', 'play', '--json'], { home });
  t.match(parsed(bound), { profile: 'play', enabled: false });
  const { dir } = home.profile('work');
  t.match(subscriptions(dir), { routes: { build: { profile: 'play', secret: '${WEBHOOK_ROUTE_BUILD_SECRET}' } } });
  t.match(await cli(['webhook', 'list', '--json'], { home }), { stdout: /"routes":\[\]/ }, 'the root has no such route');
});

t.test('cli.6 what cannot be a route is refused, and nothing is written', async (t) => {
  using home = testHome({ 'config.yaml': 'platforms: { webhook: { routes: { fixed: {} } } }\n' });
  for (const [words, code, exit] of [
    [['build', '--route-profile', 'nope'], 'UNKNOWN_PROFILE', 2],
    [['a/b'], 'USAGE', 2],
    [['fixed'], 'USAGE', 2],
    [['build', '--deliver', ':x'], 'USAGE', 2],
    [['build', '--prompt', ' '], 'USAGE', 2],
    [[], 'USAGE', 2],
  ] as const) {
    const refused = await cli(['webhook', 'subscribe', ...words, '--json'], { home });
    t.match({ exit: refused.code, ...errorOf(refused) }, { exit, code, fix: String }, words.join(' '));
  }
  t.throws(() => subscriptions(home.root), { code: 'ENOENT' });
  t.match(errorOf(await cli(['webhook', 'remove', 'nope', '--json'], { home })), { code: 'NOT_FOUND' });
});

t.test('cli.6 the pause of a profile holds the routes bound to it and no others', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': '' });
  await using mine = await fakeAgent(home, () => 'ok');
  await using works = await fakeAgent(home, () => 'ok', { slot: 'agent@work' });
  const { worker } = await webhooks(home);
  await using _gateway = worker;
  await cli(['webhook', 'subscribe', 'bound', '--route-profile', 'work'], { home });
  await cli(['webhook', 'subscribe', 'free'], { home });
  const { estop } = home.profile('work');
  engagePause(estop, { reason: 'test' });
  t.equal((await cli(['webhook', 'test', 'bound'], { home })).code, 0, 'taken and kept');
  t.equal((await cli(['webhook', 'test', 'free'], { home })).code, 0);
  await until('the free one goes on', () => mine.turns.length === 1);
  using link = await worker.dial();
  t.equal((await link.call(gateway.platforms, {})).held, 1);
  t.equal(works.turns.length, 0);
  liftPause([estop]);
  await until('the held one goes on after it', () => works.turns.length === 1);
});
