/** When memory and disk run short, at the borders that reference/clients §1.3 gives. */
import { tmpdir } from 'node:os';
import t from 'tap';
import { createHostFigures, diskPressure, memoryPressure } from '../../services/dashboard/hostFigures.ts';

const MiB = 2 ** 20;

t.test('memory is short by what is left or by its share, whichever is worse', async (t) => {
  for (const [available, total, want] of [
    [8_000, 16_000, 'ok'],
    [2_400, 16_000, 'ok'],
    [2_399, 16_000, 'elevated'],
    [127, 512, 'elevated'],
    [799, 16_000, 'critical'],
    [63, 256, 'critical'],
    [1, 0, 'unknown'],
  ] as const) {
    t.equal(memoryPressure(available * MiB, total * MiB), want, `${available} of ${total}`);
  }
});

t.test('the disk is short below half a gigabyte, and critically below a quarter', async (t) => {
  for (const [free, want] of [
    [512, 'ok'],
    [511, 'elevated'],
    [256, 'elevated'],
    [255, 'critical'],
  ] as const) {
    t.equal(diskPressure(free * MiB), want, `${free} MiB`);
  }
});

t.test('figures are looked at once in a while, and a missing folder is said, not thrown', async (t) => {
  const look = createHostFigures(tmpdir());
  t.equal(look(), look());
  t.match(look(), { memory: { total_mb: Number }, disk: { total_mb: Number, used_percent: Number } });
  t.match(createHostFigures('/nowhere/at/all')().disk, { pressure: 'unknown', total_mb: null });
});
