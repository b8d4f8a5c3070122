import fc from 'fast-check';
import t from 'tap';
import { nextSlot, newSlot, type Effect, type Slot, type SlotEvent } from '../../supervisor/slot.ts';

/** What the world outside the table can be: at most one process, told of by effects and events. */
interface World {
  slot: Slot;
  process: 'none' | 'alive' | 'dead';
  /** The ladder or the proof of death is under way and will report `gone`. */
  going: boolean;
  timer: 'none' | 'startup' | 'due';
  atMs: number;
}

const commands = ['start', 'stop', 'stopNow', 'restart'] as const;
const happenings = ['attach', 'crash', 'exit0', 'exit78', 'gone', 'timer', 'hung'] as const;
type Act = (typeof commands)[number] | (typeof happenings)[number];

function apply(world: World, event: SlotEvent): World {
  const { state, effects } = nextSlot(world.slot, event);
  return effects.reduce(carryOut, { ...world, slot: state });
}

function carryOut(world: World, effect: Effect): World {
  switch (effect.type) {
    case 'spawn':
      if (world.process !== 'none') throw new Error(`a second incarnation beside one that is ${world.process}`);
      if (world.slot.desired === 'down') throw new Error('spawned although intent says stopped');
      return { ...world, process: 'alive', going: false };
    case 'armStartup':
    case 'armAdoption':
      return { ...world, timer: 'startup' };
    case 'armDue':
      return { ...world, timer: 'due' };
    case 'disarm':
      return { ...world, timer: 'none' };
    case 'stopProcess':
    case 'proveGone':
      return { ...world, going: true };
    case 'killProcess':
      return world.process === 'alive' ? end({ ...world, process: 'dead' }, null, 'SIGKILL') : world;
  }
}

function end(world: World, code: number | null, signature: string): World {
  const readyMs = world.slot.phase === 'ready' ? world.atMs - world.slot.sinceMs : undefined;
  return apply(
    { ...world, process: 'dead' },
    { type: 'ended', end: { atMs: world.atMs, livedMs: 1_000, readyMs, code, signature, permanent: code === 78 } },
  );
}

/** One act of the outside world, or nothing where it cannot happen. */
function act(before: World, what: Act): World {
  const world = { ...before, atMs: before.atMs + 700 };
  const { atMs } = world;
  switch (what) {
    case 'start':
      return apply(world, { type: 'start', atMs });
    case 'restart':
      return apply(world, { type: 'restart', drain: true, atMs });
    case 'stop':
      return apply(world, { type: 'stop', drain: true });
    case 'stopNow':
      return apply(world, { type: 'stop', drain: false });
    case 'attach':
      return world.process === 'alive' ? apply(world, { type: 'attached', atMs }) : world;
    case 'crash':
      return world.process === 'alive' ? end(world, 1, 'crash') : world;
    case 'exit0':
      return world.process === 'alive' ? end(world, 0, 'exit 0') : world;
    case 'exit78':
      return world.process === 'alive' ? end(world, 78, 'exit 78') : world;
    case 'gone':
      // The ladder ends only with every process dead.
      return world.going ? apply({ ...world, process: 'none', going: false }, { type: 'gone', atMs }) : world;
    case 'hung':
      return world.process === 'alive' && world.slot.phase === 'ready' ? apply(world, { type: 'hung' }) : world;
    case 'timer':
      if (world.timer === 'none') return world;
      return apply({ ...world, timer: 'none' }, world.timer === 'due' ? { type: 'due', atMs } : { type: 'hung' });
  }
}

const initial = (): World => ({ slot: newSlot('down'), process: 'none', going: false, timer: 'none', atMs: 1_000_000 });

t.test('no schedule of commands, crashes and timers breaks an invariant of the slot table', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom<Act>(...commands, ...happenings), { maxLength: 120 }), (acts) => {
      let world = initial();
      for (const what of acts) {
        world = act(world, what);
        const { phase, desired } = world.slot;
        // Something is always under way towards what is wanted: never stuck.
        const moving = world.process !== 'none' || world.going || world.timer !== 'none' || phase === 'down';
        if (!moving) throw new Error(`stuck in ${phase}`);
        if (phase === 'down' && desired === 'up') throw new Error('down although wanted up');
        if (phase === 'down' && world.process !== 'none') throw new Error('down with a process');
        if ((phase === 'backoff' || phase === 'parked') && desired === 'down') throw new Error(`${phase} although not wanted`);
      }
      // Left alone, a stopped slot comes to rest without a process.
      world = act(world, 'stop');
      world = act(act(world, 'gone'), 'gone');
      if (world.slot.phase !== 'down' || world.process !== 'none') throw new Error(`does not come to rest: ${world.slot.phase}`);
    }),
    { numRuns: 20_000 },
  );
  t.pass('20,000 schedules');
});

t.test('an on-demand slot that leaves with 0 goes down and stays on demand', async (t) => {
  let world: World = { ...initial(), slot: newSlot('demand') };
  world = apply(world, { type: 'start', atMs: 1, desired: 'demand' });
  world = act(act(act(world, 'attach'), 'exit0'), 'gone');
  t.match(world.slot, { phase: 'down', desired: 'demand' });
});

t.test('starting a parked slot by hand gives it a clean slate', async (t) => {
  let world = act(initial(), 'start');
  world = act(act(world, 'exit78'), 'gone');
  t.equal(world.slot.phase, 'parked');
  world = act(world, 'start');
  t.match(world.slot, { phase: 'starting', history: { attempt: 0, failedAtMs: [], immediateAtMs: [] } });
});

t.test('an event that a phase does not know is an IllegalTransition', async (t) => {
  t.throws(() => nextSlot(newSlot('down'), { type: 'attached', atMs: 0 }), {
    name: 'IllegalTransition',
    machine: 'slot',
    phase: 'down',
    event: 'attached',
  });
});
