/** A stop under way that somebody wants shorter: a second signal, a second `down` or `stop` without draining. */
import t from 'tap';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { readBoxes } from '../../ipc/blackBoxes.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { testHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

/** A stopped process answers no drain and takes no SIGTERM. */
const FOREVER = { drainMs: 50_000, termMs: 50_000 };

t.test(
  'a second signal kills what drains at once; what has its turn later is stopped with it, not started again and no crash',
  async (t) => {
    using home = testHome();
    const slots = [
      fixtureSlot(home, 'late', 'plainWorker', { tier: 0 }),
      fixtureSlot(home, 'early', 'plainWorker', { tier: 1, ...FOREVER }),
    ];
    await using service = await superviseFixtures(home, slots);
    await service.ready('late');
    await service.ready('early');
    const [late, early] = [service.pid('late'), service.pid('early')];
    process.kill(early, 'SIGSTOP');
    const down = service.supervisor.down({ actor: 'test', drain: true });
    await until('it drains', () => service.supervisor.slots.get('early')!.state === 'draining');
    t.equal(service.supervisor.slots.get('late')!.state, 'ready', 'its turn comes later');
    service.supervisor.hurry();
    const receipts = await down;
    t.same(
      receipts.map(({ slot, ok, old_pid }: Receipt) => ({ slot, ok, old_pid })),
      [
        { slot: 'early', ok: true, old_pid: early },
        { slot: 'late', ok: true, old_pid: late },
      ],
    );
    await service.supervisor.ended;
    t.same([groupAlive(late), groupAlive(early)], [false, false]);
    t.equal(service.supervisor.slots.get('late')!.restarts, 0);
    t.same(readBoxes(home.crash, 'late'), []);
  },
);

t.test('down without draining shortens the one that waits for running work', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker', { drainMs: 50_000, termMs: 200 })]);
  await service.ready('a');
  process.kill(service.pid('a'), 'SIGSTOP');
  const first = service.supervisor.down({ actor: 'test', drain: true });
  await until('it drains', () => service.supervisor.slots.get('a')!.state === 'draining');
  const second = service.supervisor.down({ actor: 'test', drain: false });
  t.match(await first, [{ slot: 'a', ok: true }]);
  t.same(await second, await first);
});

t.test('stop without draining shortens the stop under way, and both are answered', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker', { drainMs: 50_000, termMs: 200 })]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  process.kill(service.pid('a'), 'SIGSTOP');
  const first = service.supervisor.command('stop', runner, { actor: 'one', cause: 'test', drain: true });
  await until('it drains', () => runner.state === 'draining');
  const second = service.supervisor.command('stop', runner, { actor: 'two', cause: 'test', drain: false });
  await t.rejects(first, { code: 'SUPERSEDED' });
  t.match(await second, { ok: true, action: 'stop' });
  t.equal(runner.state, 'down');
});
