/** Single steps of the slot table that the simulator's invariants do not spell out. */
import t from 'tap';
import type { End } from '../../supervisor/backoff.ts';
import { newSlot, nextSlot, type Effect, type Slot, type SlotEvent } from '../../supervisor/slot.ts';

const atMs = 1_000_000;
const end = (code: number | null, more: Partial<End> = {}): SlotEvent => ({
  type: 'ended',
  end: { atMs, livedMs: 5_000, readyMs: 4_000, code, signature: String(code), permanent: code === 78, ...more },
});

/** Feeds events one after the other; answers the last state and the names of all effects. */
function walk(from: Slot, ...events: SlotEvent[]): { slot: Slot; effects: Effect['type'][] } {
  return events.reduce<{ slot: Slot; effects: Effect['type'][] }>(
    ({ slot, effects }, event) => {
      const step = nextSlot(slot, event);
      return { slot: step.state, effects: [...effects, ...step.effects.map(({ type }) => type)] };
    },
    { slot: from, effects: [] },
  );
}

const start: SlotEvent = { type: 'start', atMs };
const attached: SlotEvent = { type: 'attached', atMs };
const gone: SlotEvent = { type: 'gone', atMs };
const restart: SlotEvent = { type: 'restart', drain: true, atMs };
const serving = (rules: Parameters<typeof newSlot>[1] = {}): Slot => walk(newSlot('down', rules), start, attached).slot;

t.test('an on-demand slot that leaves with 0 goes down and stays on demand', async (t) => {
  const { slot } = walk(newSlot('demand'), { ...start, desired: 'demand' }, attached, end(0), gone);
  t.match(slot, { phase: 'down', desired: 'demand' });
});

t.test('starting a parked slot by hand gives it a clean slate', async (t) => {
  const { slot: parked } = walk(serving(), end(78), gone);
  t.equal(parked.phase, 'parked');
  t.match(walk(parked, start).slot, { phase: 'starting', history: { attempt: 0, failedAtMs: [], immediateAtMs: [] } });
});

t.test('a sidecar that is restarted on failure rests after code 0 and comes back after a crash; one that never is, rests', async (t) => {
  const cases = [
    { rule: 'on-failure', code: 0, want: 'down' },
    { rule: 'on-failure', code: 1, want: 'starting' },
    { rule: 'never', code: 1, want: 'down' },
    { rule: 'always', code: 0, want: 'starting' },
  ] as const;
  for (const { rule, code, want } of cases) t.equal(walk(serving({ rule }), end(code), gone).slot.phase, want, `${rule}, code ${code}`);
});

t.test('an overlapping hand-over promotes the successor first and retires the old one after', async (t) => {
  const { slot, effects } = walk(serving({ handover: 'overlap' }), restart, { type: 'successorReady', atMs });
  t.equal(slot.phase, 'retiring');
  t.strictSame(effects, ['disarm', 'spawnSuccessor', 'armSuccessor', 'disarm', 'promote']);
  t.equal(walk(slot, { type: 'formerGone' }).slot.phase, 'ready');
});

t.test('a standby hand-over calls the successor up only when the old one is gone', async (t) => {
  const waiting = walk(serving({ handover: 'standby' }), restart, { type: 'successorReady', atMs });
  t.match(waiting.slot, { phase: 'draining', then: 'takeover' });
  t.notOk(waiting.effects.includes('activate'));
  const { slot, effects } = walk(waiting.slot, gone);
  t.equal(slot.phase, 'starting');
  t.strictSame(effects, ['disarm', 'activate', 'armStartup']);
});

t.test('a successor that does not come up leaves the old one serving', async (t) => {
  const before = serving({ handover: 'standby' });
  const { slot } = walk(before, restart, { type: 'successorFailed' }, { type: 'successorGone' });
  t.match(slot, { phase: 'ready', sinceMs: atMs });
});

t.test('an event that a phase does not know is an IllegalTransition', async (t) => {
  t.throws(() => nextSlot(newSlot('down'), attached), { name: 'IllegalTransition', machine: 'slot', phase: 'down', event: 'attached' });
});
