/**
 * `npm run soak [-- --minutes N] [--kills N] [--seed N] [--steps N]`: the supervision simulator with many more steps, then
 * ten minutes of chaos on a real service. Prints the seed that repeats it and what was found; leaves with 1
 * when anything was.
 */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';
import { missingForClock } from './steppedClock.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    kills: { type: 'string' },
    /** Milliseconds between two faults: `from-to`. */
    pause: { type: 'string', default: '1500-5000' },
    seed: { type: 'string' },
    steps: { type: 'string', default: '5000000' },
    quiet: { type: 'boolean' },
  },
});
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

say(`seed ${seed}; ${values.minutes} min of chaos; ${Number(values.steps).toLocaleString('en')} steps of the simulator`);
const simulated = Number(values.steps) > 0 ? simulate() : true;
const missing = missingForClock();
if (missing.length > 0) say(`the clock is not stepped: ${missing.join(' and ')} not installed`);
const evidence = join(tmpdir(), `agent-chaos-${seed}`);
const early = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => early.abort());
const { problems, figures } = await runChaos({
  signal: early.signal,
  ms: Number(values.minutes) * 60_000,
  seed,
  pauseMs: values.pause.split('-').map(Number) as [number, number],
  freezeMaxMs: 40_000,
  clock: missing.length === 0,
  evidence,
  ...(values.kills === undefined ? {} : { kills: Number(values.kills) }),
  say: values.quiet ? () => {} : say,
});
for (const [name, figure] of Object.entries(figures)) say(`${name.padEnd(20)} ${figure}`);
for (const problem of problems) say(`PROBLEM: ${problem}`);
if (problems.length > 0) say(`the home of the service is kept in ${evidence}`);
say(problems.length === 0 && simulated ? 'PASS: nothing lost, nothing doubled, nothing left behind' : `FAIL (repeat with --seed ${seed})`);
process.exit(problems.length === 0 && simulated ? 0 : 1);

function simulate(): boolean {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../unit/simulator.test.ts')], {
    env: { ...process.env, AGENT_SIMULATOR_STEPS: values.steps, TAP_TIMEOUT: '0' },
    stdio: ['ignore', values.quiet ? 'ignore' : 'inherit', 'inherit'],
  });
  say(status === 0 ? 'simulator: no invariant broken' : 'simulator: FAILED, see above');
  return status === 0;
}
