/** `agent why` on real ends: the sentence first, then the evidence, with everything down. */
import t from 'tap';
import { cli } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';
import type { Why } from '../../ipc/blackBoxes.ts';

t.setTimeout(240_000);

t.test('a parked slot: the sentence and the fix first, how often, the last lines; the same with everything down', async (t) => {
  using home = testHome({ 'config.yaml': 'supervisor: { restart: { base_ms: 5, max_ms: 10 } }\n' });
  {
    await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'crashesAtStart'), fixtureSlot(home, 'b', 'plainWorker')]);
    const runner = service.supervisor.slots.get('a')!;
    await until('it is parked', () => runner.state === 'parked');
    await service.ready('b');
    const { code, stdout, stderr } = await cli(['why', 'a'], { home });
    t.same({ code, stderr }, { code: 0, stderr: '' });
    t.match(stdout, /^parked: 5 failed starts within 10 minutes.*the flux capacitor is missing/);
    t.match(stdout, /5 times on record, first 20\S+ [\d:]{8}\)  signature [0-9a-f]{12}$/m);
    t.match(stdout, /^Last lines it printed\n  Error: the flux capacitor is missing$/m);
    t.match(stdout, /^Around it\n  process \d+, version 0\.0\.0, code source$/m);
    t.match(await cli(['why', 'b'], { home }), {
      code: 0,
      stdout: /^b has no abnormal end on record; the supervisor watches it since 20\S+ [\d:]{8} \(.* ago\)\. It is ready since /,
    });
    const list = await cli(['why', 'a', '--last', '3'], { home });
    t.match(list.stdout, /^Ends on record\n(?:  20\S+ [\d:]{8}  [0-9a-f]{12}  a crashed with code 1 .*\n){3}/m);
    t.match(await cli(['why', 'a', '--last', 'x'], { home }), { code: 2, stderr: /--last takes a number/ });
    t.match(await cli(['why', 'b', '--receipts'], { home }), { code: 0, stdout: '', stderr: /nobody has started/ });
    const all = await cli(['why'], { home });
    t.same({ code: all.code, stderr: all.stderr }, { code: 0, stderr: '' });
    t.match(
      all.stdout,
      /^SLOT +STATE +ENDED +WHY\na +parked +.* ago +5 failed starts within 10 minutes\. a crashed with code 1 .*\n\nNo abnormal end on record: b\.\nagent why a shows/,
    );
    t.match(await cli(['why', '--last', '2'], { home }), { code: 2, stderr: /--last is about one slot/ });
    t.equal((await cli(['restart', 'b'], { home })).code, 0);
    t.equal((await cli(['stop', 'b'], { home })).code, 0);
  }
  const receipts = await cli(['why', 'b', '--receipts', '--last', '2'], { home });
  t.match(
    receipts.stdout,
    /^20\S+ [\d:]{8} \(.* ago\) {2}b stopped \(process \d+\).*\n20\S+ [\d:]{8} \(.* ago\) {2}b restarted \(process \d+ → \d+\): .*away for .* {2}\(cli: .+\)$/m,
  );
  const everybody = await cli(['why', '--receipts', '--json'], { home });
  t.match(JSON.parse(everybody.stdout), {
    slot: null,
    receipts: [
      { slot: 'a', action: 'stop' },
      { slot: 'b', action: 'stop' },
    ],
  });
  const overview = await cli(['why', '--json'], { home });
  t.equal(overview.code, 0);
  t.match(JSON.parse(overview.stdout), {
    slots: [
      { slot: 'a', times: 5, last_exit: { at: /^20\S+Z$/ } },
      { slot: 'b', last_exit: null },
    ],
  });
  t.match(await cli(['why', 'nobody', '--receipts'], { home }), { code: 2, stderr: /nobody/ });
  const down = await cli(['why', 'a', '--json'], { home });
  t.equal(down.code, 0);
  const why = JSON.parse(down.stdout) as Why;
  t.match(why, {
    slot: 'a',
    times: 5,
    sentence: /flux capacitor/,
    tail: ['Error: the flux capacitor is missing'],
    ends: [{ code: 'source' }],
  });
});

t.test('a blocked loop: where it stood, and what its signs of life were', async (t) => {
  using home = testHome({ 'config.yaml': 'supervisor: { liveness: { suspect_ms: 400, kill_ms: 1200 } }\n' });
  const slot = fixtureSlot(home, 'a', 'hangs');
  await using service = await superviseFixtures(home, [{ ...slot, env: { ...slot.env, HANG: 'loop' } }]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  process.kill(service.pid('a'), 'SIGUSR2');
  await until('it is replaced', () => runner.restarts === 1 && runner.state === 'ready');
  const { stdout } = await until('its box is there', async () => {
    const result = await cli(['why', 'a'], { home });
    return /killed by the supervisor/.test(result.stdout) && result;
  });
  t.match(
    stdout,
    /^a was killed by the supervisor because it blocked its main loop: it computed for .*\nFix: the stack below shows where it stood/,
  );
  t.match(stdout, /^Where its main loop stood\n  at endlessLoop \(\S+hangs\.ts:8:\d+\)$/m);
  t.match(stdout, /^Signs of life\n  \S+ \S+  blocked: it blocked its main loop/m);
  t.match(stdout, /^What it held\n  state R \(running\), \d+ kB resident, \d+ threads$/m);
});
