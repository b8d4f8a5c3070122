/** A shortage is not a verdict: a slot waits for the end of its cause, is never parked by it, and starts when it is gone. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { ShortageKind } from '../../ipc/contracts/supervisor.ts';
import { lasts } from '../../supervisor/shortage.ts';
import type { SlotRunner } from '../../supervisor/slotRunner.ts';
import { testHome } from '../harness/home.ts';
import { mounts, onTmpfs } from '../harness/smallDisk.ts';
import { fixtureSlot, superviseFixtures, type TestSupervisor } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

t.setTimeout(120_000);

/** Contract: within two checks. */
const BACK_MS = 10_000;

async function waitsFor(service: TestSupervisor, kind: ShortageKind): Promise<SlotRunner> {
  const runner = service.supervisor.slots.get('a')!;
  await until(`it waits for ${kind}`, () => runner.shortage === kind);
  return runner;
}

t.test('a program that is missing for a moment is started when it is there', async (t) => {
  using home = testHome();
  const program = join(home.root, 'program');
  await using service = await superviseFixtures(home, [
    fixtureSlot(home, 'a', '', { command: [program], readiness: 'none', kind: 'sidecar' }),
  ]);
  const runner = await waitsFor(service, 'program');
  t.match(service.supervisor.status().workers[0], { state: 'backoff', shortage: 'program', reason: /program .*\/program does not exist/ });
  writeFileSync(`${program}.new`, '#!/bin/sh\nexec sleep 1000\n');
  chmodSync(`${program}.new`, 0o755);
  renameSync(`${program}.new`, program);
  await until('it runs', () => runner.state === 'ready', BACK_MS);
});

t.test('a missing working directory and a missing interpreter are named as what they are', async (t) => {
  using home = testHome();
  const folder = join(home.root, 'folder');
  const script = join(home.root, 'script');
  writeFileSync(script, '#!/no/such/python\n');
  chmodSync(script, 0o755);
  await using service = await superviseFixtures(home, [
    fixtureSlot(home, 'a', '', { command: ['/bin/sleep', '1000'], cwd: folder, readiness: 'none', kind: 'sidecar' }),
    fixtureSlot(home, 'b', '', { command: [script], readiness: 'none', kind: 'sidecar' }),
  ]);
  const runner = await waitsFor(service, 'program');
  t.match(runner.lastReport, { fix: `create ${folder}, or configure another working directory (services.a.cwd in config.yaml)` });
  const other = service.supervisor.slots.get('b')!;
  await until('the other waits too', () => other.shortage === 'program');
  t.match(other.lastReport?.last_exit.summary, /interpreter \/no\/such\/python/);
  mkdirSync(folder);
  await until('it runs', () => runner.state === 'ready', BACK_MS);
});

t.test('a worker of which a module is missing waits for it and says so', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'missingModule')]);
  const runner = await waitsFor(service, 'program');
  t.match(runner.reason, /a module is missing.*reinstall/);
});

t.test('a port that another program holds for a while: the slot starts when it is free, and up does not wait for it', async (t) => {
  using home = testHome();
  const stranger = createServer().listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const { port } = stranger.address() as { port: number };
  const program = `require('http').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`;
  const sidecar = fixtureSlot(home, 'a', '', {
    command: [process.execPath, '-e', program],
    readiness: { log: 'listening$' },
    kind: 'sidecar',
  });
  await using service = await superviseFixtures(home, [sidecar]);
  const runner = service.supervisor.slots.get('a')!;
  await until('it waits for the port', () => runner.shortage === 'port');
  t.equal(await service.supervisor.waitReady(20_000), false);
  t.equal(runner.state, 'backoff', 'never parked');
  stranger.close();
  await until('it runs', () => runner.state === 'ready', BACK_MS);
});

t.test('numbers beside EADDRINUSE that are not a port do not end the supervisor; a program that waits is reported at once', async (t) => {
  using home = testHome();
  const script = `console.error('{"code":"EADDRINUSE","port":8080,"time":1700000000000}'); process.exit(1)`;
  const command: [string, ...string[]] = [process.execPath, '-e', script];
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', '', { command, readiness: 'none', kind: 'sidecar' })]);
  const runner = await waitsFor(service, 'port');
  await t.rejects(runner.ensure(), { code: 'START_FAILED' });
  t.equal(await lasts({ kind: 'port', at: '"port":8080,"time":1700000000000' }, home.root), false);
});

t.test('a full disk that has room again', mounts, async (t) => {
  using home = testHome();
  using disk = onTmpfs(home, 1_024);
  const dir = join(disk.path, '..');
  disk.fill();
  t.equal(await lasts({ kind: 'space' }, dir), true);
  disk.empty();
  t.equal(await lasts({ kind: 'space' }, dir), false);
});
