/** Interface spec, "Gateway auto-start", through the real supervisor and the real gateway worker. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { stopSlot, startSlot } from '../../ipc/contracts/supervisor.ts';
import { cli } from '../harness/cli.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startService, type ServiceOptions } from '../harness/service.ts';
import { until } from '../harness/until.ts';

const stateOf = (home: TestHome): Record<string, unknown> => JSON.parse(readFileSync(home.gatewayState, 'utf8')) as Record<string, unknown>;
const only: ServiceOptions = { args: [] };

t.setTimeout(240_000);

t.test('boot.1 first boot with AGENT_GATEWAY_BOOTSTRAP_STATE=running seeds the file and starts the gateway', async (t) => {
  using home = testHome();
  await using service = await startService(home, { env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
  await until('the gateway is ready', async () => (await service.worker('gateway')).state === 'ready');
  t.match(stateOf(home), {
    kind: 'agent-gateway',
    gateway_state: 'running',
    desired_state: 'running',
    pid: (await service.worker('gateway')).pid,
  });
  await until('what the gateway itself sees is there', () => stateOf(home).session_store != null);
  t.match(stateOf(home), { restart_requested: false, active_agents: 0, active_work: [], session_store: { state: 'ok', error: null } });
});

t.test('boot.2 first boot without the variable registers the gateway slot, down, and writes no file', async (t) => {
  using home = testHome();
  await using service = await startService(home, only);
  t.match(await service.worker('gateway'), { desired: 'down', state: 'down', pid: null });
  t.notOk(existsSync(home.gatewayState));
});

t.test('boot.3 a gateway recorded as running is started at later boots; a deliberately stopped one stays stopped', async (t) => {
  using home = testHome({ 'gateway_state.json': '{"gateway_state":"running"}' });
  {
    await using service = await startService(home, only);
    await until('the gateway is ready', async () => (await service.worker('gateway')).state === 'ready');
    await service.down();
  }
  t.match(stateOf(home), { desired_state: 'running', gateway_state: 'stopped' }, 'a clean end of the service keeps the intent');
  {
    await using service = await startService(home, only);
    await until('it is ready again', async () => (await service.worker('gateway')).state === 'ready');
    using link = await service.link();
    t.match(await link.call(stopSlot, { slot: 'gateway', actor: 'test' }), { ok: true });
    t.match(stateOf(home), { desired_state: 'stopped', gateway_state: 'stopped' });
    await service.down();
  }
  await using service = await startService(home, { args: [], env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
  t.match(await service.worker('gateway'), { desired: 'down', state: 'down' });
  using link = await service.link();
  t.match(await link.call(startSlot, { slot: 'gateway', actor: 'test' }), { ok: true, action: 'start' });
});

t.test('env.3 AGENT_GATEWAY_BOOTSTRAP_STATE honours the one value `running`', async (t) => {
  for (const value of ['Running', 'true', '1', '']) {
    using home = testHome();
    await using service = await startService(home, { args: [], env: { AGENT_GATEWAY_BOOTSTRAP_STATE: value } });
    t.match(await service.worker('gateway'), { state: 'down', desired: 'down' }, JSON.stringify(value));
  }
});

t.test(
  'other.4 gateway_state.json is a JSON object with gateway_state; a corrupt one is kept aside, named in status, and fails no boot',
  async (t) => {
    using home = testHome({ 'gateway_state.json': '{"gateway_state": "runn' });
    await using service = await startService(home, { args: [], env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
    t.match(await service.worker('gateway'), { state: 'down' });
    const aside = readdirSync(home.root).find((name) => name.startsWith('gateway_state.json.corrupt-'));
    t.ok(aside);
    t.match((await service.status()).problems, [{ what: new RegExp(aside!), fix: /agent start gateway/ }]);
    await service.down();
    await using again = await startService(home, { args: [], env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
    t.match(await again.worker('gateway'), { state: 'down', desired: 'down' }, 'a later boot does not seed over it');
    t.match(stateOf(home), { gateway_state: 'stopped', desired_state: 'stopped' });
  },
);

t.test('what is not a regular file, and an intent of an unknown word, are down, recorded as stopped, and block nothing', async (t) => {
  const makers: Record<string, (path: string) => void> = {
    'a named pipe': (path) => execFileSync('mkfifo', [path]),
    'a directory': (path) => mkdirSync(path),
    'a link to nothing': (path) => symlinkSync('/nonexistent/x', path),
    'a link to a device': (path) => symlinkSync('/dev/zero', path),
    'an unknown word': (path) => writeFileSync(path, '{"gateway_state":"running","desired_state":"bogus"}'),
  };
  for (const [what, make] of Object.entries(makers)) {
    using home = testHome();
    make(home.gatewayState);
    await using service = await startService(home, { args: [], env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
    t.match(await service.worker('gateway'), { state: 'down', desired: 'down' }, what);
    t.match(stateOf(home), { desired_state: 'stopped' }, what);
  }
});

t.test('the intent survives the removal of the file while the service runs', async (t) => {
  using home = testHome({ 'gateway_state.json': '{"desired_state":"running"}' });
  await using service = await startService(home, only);
  await until('the gateway is ready', async () => (await service.worker('gateway')).state === 'ready');
  rmSync(home.gatewayState);
  await service.down();
  t.match(stateOf(home), { desired_state: 'running', gateway_state: 'stopped' });
});

t.test('named pipes in place of config.yaml and .env block neither the service nor a command', async (t) => {
  using home = testHome();
  await using service = await startService(home, only);
  for (const path of [home.config, home.env, home.profile('default').auth]) execFileSync('mkfifo', [path]);
  await until('the supervisor reports both', async () => (await service.status()).problems.length >= 2);
  t.equal((await cli(['config', 'check'], { home })).code, 1);
  t.equal((await cli(['env', 'list'], { home })).code, 1);
  await service.down();
  await using again = await startService(home, only);
  t.match((await again.status()).problems, [{ what: /config\.yaml/ }, { what: /\.env/ }]);
});
