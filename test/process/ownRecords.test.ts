/** What the supervisor writes of itself in `run/`: damaged, removed, or not to be written. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { cli } from '../harness/cli.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

/** The pulse follows the heartbeat, and that follows these. */
const QUICK = { 'config.yaml': 'supervisor: { liveness: { suspect_ms: 1000, kill_ms: 20000 } }\n' };

function parsed(path: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

const isWhole = (home: TestHome, pid: number): boolean =>
  (parsed(home.run.slots)?.slots as { pid: number }[] | undefined)?.[0]?.pid === pid && parsed(home.run.status)?.workers !== undefined;

t.test('slots.json and status.json that were damaged or removed are written again while nothing changes', async () => {
  using home = testHome(QUICK);
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  const pid = service.pid('a');
  await until('they stand there', () => isWhole(home, pid));
  const paths = [home.run.slots, home.run.status];
  for (const path of paths) writeFileSync(path, '{"version":1,"slo');
  await until('both are whole again', () => isWhole(home, pid));
  for (const path of paths) rmSync(path);
  await until('both are there again', () => isWhole(home, pid));
});

t.test('one that cannot be written is a problem until it can; status asks the supervisor meanwhile', async (t) => {
  using home = testHome(QUICK);
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  await until('they stand there', () => isWhole(home, service.pid('a')));
  const paths = [home.run.slots, home.run.status];
  for (const path of paths) {
    rmSync(path);
    mkdirSync(path);
  }
  const whats = () => service.supervisor.status().problems.map(({ what }) => what);
  await until('both are told', () => whats().length === 2);
  t.match(whats().toSorted(), [/^slots\.json was not written/, /^status\.json was not written/]);
  const asked = await cli(['status', '--json'], { home });
  t.equal(asked.code, 0, 'from the supervisor itself');
  t.match(JSON.parse(asked.stdout) as Status, { workers: [{ slot: 'a', state: 'ready' }], problems: { length: 2 } });
  for (const path of paths) rmSync(path, { recursive: true });
  await until('both are whole again', () => isWhole(home, service.pid('a')));
  await until('nothing is left to complain of', () => whats().length === 0);
  await until('nor has the file', () => (parsed(home.run.status)?.problems as unknown[] | undefined)?.length === 0);
});
