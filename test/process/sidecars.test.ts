/** Programs of the user's as slots: `services:` of config.yaml, from start to reload (contract §12). */
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { sidecarSpecs } from '../../bin/sidecarSpecs.ts';
import { manifest } from '../../services/manifest.ts';
import { Config } from '../../state/config/schema.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { superviseFixtures, type TestSupervisor } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

const shell = (script: string, more: Record<string, unknown> = {}) => ({ command: '/bin/sh', args: ['-c', script], ...more });

/** JSON is YAML. */
const configure = (home: TestHome, services: Record<string, unknown>): string => home.write('config.yaml', JSON.stringify({ services }));

const supervise = (home: TestHome): Promise<TestSupervisor> =>
  superviseFixtures(home, [], { specs: (config) => sidecarSpecs(home, config) });

const slotOf = ({ supervisor }: TestSupervisor, slot: string) => supervisor.slots.get(slot)!;

t.test('each kind of readiness is seen from outside', async (t) => {
  using home = testHome();
  const port = await freePort();
  const listen = `require('node:http').createServer((q, a) => a.end('ok')).listen(${port}, '127.0.0.1')`;
  configure(home, {
    none: shell('exec sleep 1000'),
    log: shell('echo warming up; echo now listening on 1; exec sleep 1000', { ready: { log: 'listening on \\d' } }),
    file: shell('touch started; exec sleep 1000', { ready: { file: 'started' } }),
    tcp: { command: process.execPath, args: ['-e', listen], ready: { tcp: port } },
    http: shell('exec sleep 1000', { ready: { http: `http://127.0.0.1:${port}/` }, after: ['tcp'] }),
  });
  await using service = await supervise(home);
  for (const slot of ['none', 'log', 'file', 'tcp', 'http']) await service.ready(slot);
  t.equal(
    service.supervisor.status().workers.every(({ kind, state }) => kind === 'sidecar' && state === 'ready'),
    true,
  );
  await until('output stands in the log of the slot', () => /now listening on 1/.test(readFileSync(join(home.logs, 'log.log'), 'utf8')));
});

t.test('a sidecar that does not become ready in time is ended and told why', async (t) => {
  using home = testHome();
  configure(home, { mute: shell('exec sleep 1000', { ready: { log: 'never said' }, start_timeout_seconds: 0.3 }) });
  await using service = await supervise(home);
  await until('it has failed', () => slotOf(service, 'mute').restarts > 0);
  t.match(slotOf(service, 'mute').lastExit?.summary, /mute was killed by the supervisor because it was not ready within/);
});

t.test('a slot starts after the ones it names; a name that does not exist is told and holds nobody up', async (t) => {
  using home = testHome();
  configure(home, {
    first: shell('sleep 0.3; touch first-is-up; exec sleep 1000', { ready: { file: 'first-is-up' } }),
    second: shell('test -e first-is-up && exec sleep 1000', { after: ['first'] }),
    third: shell('exec sleep 1000', { after: ['second', 'nobody'] }),
  });
  await using service = await supervise(home);
  t.equal(await service.supervisor.waitReady(20_000), true);
  t.equal(slotOf(service, 'second').restarts, 0);
  t.match(service.supervisor.status().problems, [{ what: /services.third: it is to start after "nobody"/ }]);
});

t.test('restart: always, on-failure and never mean what they say', async (t) => {
  using home = testHome();
  const count = (name: string, code: number) => shell(`echo x >> ${name}.count; exit ${code}`, { restart: name.split('_')[0] });
  configure(home, {
    'on-failure_0': count('on-failure_0', 0),
    'on-failure_1': count('on-failure_1', 1),
    never_1: count('never_1', 1),
    always_0: count('always_0', 0),
  });
  await using service = await supervise(home);
  const runs = (name: string): number => readFileSync(join(home.root, `${name}.count`), 'utf8').length / 2;
  await until('the failing and the eternal one came back', () => runs('on-failure_1') > 1 && runs('always_0') > 1);
  await until('the others rest', () => ['on-failure_0', 'never_1'].every((slot) => slotOf(service, slot).state === 'down'));
  t.equal(runs('on-failure_0'), 1);
  t.equal(runs('never_1'), 1);
  t.match(slotOf(service, 'on-failure_0'), { state: 'down', desired: 'down', lastExit: null });
  t.match(slotOf(service, 'never_1').lastExit?.summary, /never_1 crashed with code 1/);
});

t.test('a stop sends the signal that was asked for, then SIGKILL after the grace', async (t) => {
  using home = testHome();
  configure(home, {
    polite: shell("trap 'echo got INT > polite.txt; exit 0' INT; echo up; while :; do sleep 0.05; done", {
      stop_signal: 'SIGINT',
      ready: { log: 'up' },
    }),
    deaf: shell("trap '' TERM; echo up; while :; do sleep 0.05; done", { stop_grace_seconds: 0.2, ready: { log: 'up' } }),
  });
  await using service = await supervise(home);
  for (const slot of ['polite', 'deaf']) await service.ready(slot);
  for (const slot of ['polite', 'deaf']) {
    const receipt = await service.supervisor.command('stop', slotOf(service, slot), { actor: 'test', cause: 'test', drain: true });
    t.match(receipt, { ok: true, new_pid: null });
  }
  t.equal(readFileSync(join(home.root, 'polite.txt'), 'utf8'), 'got INT\n');
});

t.test('a sidecar gets its own environment and secrets from .env, and nothing of the service', async (t) => {
  using home = testHome({ '.env': 'BRIDGE_KEY=s3cret-value-77\n' });
  configure(home, {
    bridge: shell('env > env.tmp; mv env.tmp env.txt; exec sleep 1000', {
      env: { KEY: '${BRIDGE_KEY}', LEVEL: '3' },
      ready: { file: 'env.txt' },
    }),
  });
  process.env.OPENAI_API_KEY = 'must-not-be-seen';
  t.teardown(() => delete process.env.OPENAI_API_KEY);
  await using service = await supervise(home);
  await service.ready('bridge');
  const seen = readFileSync(join(home.root, 'env.txt'), 'utf8');
  t.match(seen, /^KEY=s3cret-value-77$/m);
  t.match(seen, /^LEVEL=3$/m);
  t.notMatch(seen, /must-not-be-seen|AGENT_HOME|AGENT_LISTEN/);
});

t.test('what a sidecar prints is redacted before it reaches the disk', async (t) => {
  using home = testHome({ '.env': 'BRIDGE_KEY=s3cret-value-77\n' });
  configure(home, { loud: shell('echo my key is s3cret-value-77; echo done; exec sleep 1000', { ready: { log: 'done' } }) });
  await using service = await supervise(home);
  await service.ready('loud');
  const log = () => readFileSync(join(home.logs, 'loud.log'), 'utf8');
  await until('it is written', () => log().includes('done'));
  t.match(log(), /my key is/);
  t.notMatch(log(), /s3cret-value-77/);
});

t.test('a changed configuration touches only the slots whose settings changed', async (t) => {
  using home = testHome();
  const before = { kept: shell('exec sleep 1000'), changed: shell('exec sleep 1001'), removed: shell('exec sleep 1002') };
  configure(home, before);
  await using service = await supervise(home);
  t.equal(await service.supervisor.waitReady(20_000), true);
  const pids = Object.fromEntries(Object.keys(before).map((slot) => [slot, service.pid(slot)]));
  configure(home, { kept: { ...before.kept, stop_grace_seconds: 3 }, changed: shell('exec sleep 2001'), added: shell('exec sleep 1003') });
  await until('the added one runs', () => service.supervisor.slots.get('added')?.state === 'ready');
  await until(
    'the changed one is replaced',
    () => slotOf(service, 'changed').incarnation?.pid !== pids.changed && slotOf(service, 'changed').state === 'ready',
  );
  await until('the removed one is gone', () => !service.supervisor.slots.has('removed'));
  t.equal(service.pid('kept'), pids.kept);
  t.equal(slotOf(service, 'kept').spec.termMs, 3_000, 'limits are taken over without a restart');
  t.equal(slotOf(service, 'changed').restarts, 0, 'a planned restart counts for nothing');
  t.match(service.supervisor.receipts('changed', 1), [{ cause: 'the configuration changed', actor: 'supervisor', ok: true }]);
});

t.test('a broken config.yaml changes nothing that runs and shows in status; mended, it counts', async (t) => {
  using home = testHome();
  configure(home, { one: shell('exec sleep 1000') });
  await using service = await supervise(home);
  await service.ready('one');
  const pid = service.pid('one');
  home.write('config.yaml', 'services: { one: { command: 7 }');
  await until('the problem shows', () => service.supervisor.status().problems.length > 0);
  t.match(service.supervisor.status().problems, [{ what: /config.yaml:1:.*the last good configuration is used/ }]);
  t.equal(service.pid('one'), pid);
  configure(home, { one: shell('exec sleep 1000'), two: shell('exec sleep 1001') });
  await until('the mended file is taken over', () => service.supervisor.slots.get('two')?.state === 'ready');
  t.strictSame(service.supervisor.status().problems, []);
  t.equal(service.pid('one'), pid);
});

t.test('a disabled sidecar is registered, down, and starts by hand; enabling it starts it', async (t) => {
  using home = testHome();
  configure(home, { spare: shell('exec sleep 1000', { enabled: false }) });
  await using service = await supervise(home);
  t.equal(await service.supervisor.waitReady(5_000), true);
  t.match(service.supervisor.status().workers, [{ slot: 'spare', state: 'down', desired: 'down' }]);
  configure(home, { spare: shell('exec sleep 1000') });
  await until('it is started', () => slotOf(service, 'spare').state === 'ready');
  configure(home, { spare: shell('exec sleep 1000', { enabled: false }) });
  await until('it is stopped', () => slotOf(service, 'spare').state === 'down');
});

t.test('a name that the service itself uses is refused with the place', async (t) => {
  using home = testHome();
  configure(home, { terminal: shell('exec sleep 1000') });
  await using service = await supervise(home);
  t.match(service.supervisor.status().problems, [{ what: /services.terminal: the service itself uses this name/ }]);
  t.equal(service.supervisor.slots.size, 0);
  for (const { slot } of manifest) t.notOk(Config.safeParse({ services: { [slot]: { command: 'x' } } }).success, slot);
});

t.test('a port that a stranger holds is no listener of ours', async (t) => {
  using home = testHome();
  const stranger = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => stranger.once('listening', resolve));
  t.teardown(() => stranger.close());
  const { port } = stranger.address() as { port: number };
  configure(home, { waits: shell('exec sleep 1000') });
  await using service = await superviseFixtures(home, [], {
    specs: (config) =>
      sidecarSpecs(home, config).map((spec) => ({
        ...spec,
        command: ['/bin/sh', '-c', 'echo "listen=$AGENT_LISTEN."; exec sleep 1000'],
        listeners: [{ name: 'http', host: '127.0.0.1', port }],
      })),
  });
  await service.ready('waits');
  await until('it has printed', () => slotOf(service, 'waits').tail().length > 0);
  t.strictSame(slotOf(service, 'waits').tail(), ['listen=.'], 'the worker binds by itself and says who holds it');
});

t.test('settings that cannot even be listed are told, and end nothing', async (t) => {
  using home = testHome();
  configure(home, { one: shell('exec sleep 1000') });
  await using service = await supervise(home);
  await service.ready('one');
  const pid = service.pid('one');
  // A file where a folder of profiles belongs.
  home.write('profiles', 'not a folder');
  configure(home, { one: shell('exec sleep 1000'), two: shell('exec sleep 1000') });
  await until('the problem shows', () => service.supervisor.status().problems.length > 0);
  t.match(service.supervisor.status().problems, [{ what: /the settings cannot be read: .*profiles/ }]);
  rmSync(join(home.root, 'profiles'));
  configure(home, { one: shell('exec sleep 1000'), two: shell('exec sleep 1001') });
  await until('it is taken over', () => service.supervisor.slots.get('two')?.state === 'ready');
  await until('the problem is gone', () => service.supervisor.status().problems.length === 0);
  t.equal(service.pid('one'), pid);
});
