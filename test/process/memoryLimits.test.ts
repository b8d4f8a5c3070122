/** Memory limits of a running slot, seen by the supervisor on its own pulse. */
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { resources } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import { readToken } from '../../state/home.ts';
import { testHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

const MB = 1024 * 1024;
/** Holds 200 MB outside the JavaScript heap, which a look at the heap would not see. */
const HOARDS = 'globalThis.hoard = Buffer.alloc(200e6, 1); setInterval(() => {}, 1e6)';
const command: [string, ...string[]] = [process.execPath, '-e', HOARDS];

t.test('lesson 30: a slot over its soft limit is started again with a receipt, one over its hard limit killed with a reason', async (t) => {
  using home = testHome();
  const sidecar = { kind: 'sidecar', readiness: 'none', command } as const;
  await using service = await superviseFixtures(home, [
    fixtureSlot(home, 'soft', 'plainWorker', { ...sidecar, memorySoftBytes: 150 * MB }),
    fixtureSlot(home, 'hard', 'plainWorker', { ...sidecar, memorySoftBytes: 100 * MB, memoryHardBytes: 150 * MB }),
    fixtureSlot(home, 'free', 'plainWorker', sidecar),
  ]);
  const { supervisor } = service;
  for (const slot of ['soft', 'hard', 'free']) await service.ready(slot);
  const before = { soft: service.pid('soft'), hard: service.pid('hard'), free: service.pid('free') };
  const { upkeep } = supervisor;
  await until('it hoards', async () => {
    const sample = await upkeep.resources.sample(Object.entries(before).map(([slot, pid]) => ({ slot, pid, lagMs: null })));
    return [...sample.values()].every(({ rssBytes }) => rssBytes > 200e6);
  });
  // The pulse of half a minute later, and of a minute later.
  const nowMs = performance.now();
  upkeep.pulse(nowMs + limits.supervisor.sampleMs);
  upkeep.pulse(nowMs + 2 * limits.supervisor.sampleMs);
  await until(
    'the soft one is another process',
    () => supervisor.slots.get('soft')!.incarnation?.pid !== before.soft && supervisor.receipts('soft', 1).length === 1,
  );
  t.match(supervisor.receipts('soft', 1), [
    { action: 'restart', actor: 'supervisor', ok: true, cause: /^soft used \d{3} MB of memory, more than its soft limit of 150 MB$/ },
  ]);
  await until('the hard one ended', () => supervisor.slots.get('hard')!.lastReport !== undefined);
  t.match(
    supervisor.slots.get('hard')!.lastReport?.last_exit.summary,
    /^hard was killed by the supervisor because it used \d{3} MB of memory, more than its hard limit of 150 MB/,
  );
  t.equal(service.pid('free'), before.free, 'no limit, no end');

  using link = await dial(home.run.supervisorSocket, { token: readToken(home)!, slot: 'test' });
  const { samples } = await link.call(resources, { slot: 'free' });
  t.ok(samples.length >= 2);
  t.match(samples.at(-1), { rss_bytes: Number, cpu_percent: Number, fds: Number, lag_ms: null });
  await t.rejects(link.call(resources, { slot: 'nobody' }), { code: 'UNKNOWN_SLOT' });
});
