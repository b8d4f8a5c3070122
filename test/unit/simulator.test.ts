/** Random schedules of crashes, hangs, commands, hand-overs and supervisor deaths against the pure core. */
import fc from 'fast-check';
import t from 'tap';
import { World } from '../sim/world.ts';

/** More in `npm run soak`. A failure prints the seed and the shrunk tape that replay it. */
const STEPS = Number(process.env.AGENT_SIMULATOR_STEPS ?? 1_000_000);
const TAPE = 500;

t.test('no schedule breaks an invariant of supervision', async (t) => {
  let steps = 0;
  let spawned = 0;
  let claimed = 0;
  const met = new Set<string>();
  const tape = fc.array(fc.nat(), { minLength: TAPE, maxLength: TAPE, size: 'max' });
  fc.assert(
    fc.property(tape, (choices) => {
      const world = new World();
      for (const choice of choices) world.step(choice);
      world.settle();
      steps += world.steps;
      spawned += world.spawned;
      claimed += world.claimed;
      for (const pair of world.met) met.add(pair);
    }),
    { numRuns: Math.ceil(STEPS / TAPE), endOnFailure: false },
  );
  t.ok(steps >= STEPS, `${steps} steps`);
  t.ok(spawned > steps / 100, `${spawned} processes were started on the way`);
  t.ok(claimed > 0, `${claimed} units of work were claimed`);
  t.ok(met.size >= 50, `${met.size} pairs of phase and event were met`);
});
