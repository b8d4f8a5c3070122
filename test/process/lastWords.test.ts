/** What a program printed last is kept, also when it and its supervisor are killed at the same moment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stopOrphans } from '../../bin/stopOrphans.ts';
import { homeIdOf, KEEPER, processesOfHome, slotOfMark, type Marked } from '../../state/marks.ts';
import { taggedProcesses } from '../../state/serviceProcesses.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import type { SlotSpec } from '../../supervisor/spec.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const strays = new Set<number>();
t.teardown(() => {
  for (const pid of strays) kill(pid);
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}

const keepers = (home: TestHome): Marked[] =>
  processesOfHome(homeIdOf(home.root)).filter(({ value, pid }) => slotOfMark(value) === KEEPER && startTimeOf(pid) !== undefined);

/** Which pipes of the home a process holds open. */
const pipesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`)
    .map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
    .filter((path) => path.endsWith('.out'))
    .map((path) => path.slice(path.lastIndexOf('/') + 1, -'.out'.length))
    .toSorted();

const isKept = (home: TestHome, slots: readonly string[]) => () => {
  const found = keepers(home);
  return found.length === 1 && pipesOf(found[0]!.pid).join() === slots.join() && found[0];
};

const program = (home: TestHome, slot: string, text: string): SlotSpec =>
  fixtureSlot(home, slot, '', { kind: 'sidecar', command: [process.execPath, '-e', text], readiness: 'none' });

interface Outside {
  pid: number;
  ended: Promise<unknown>;
}

async function superviseOutside(home: TestHome, slots: SlotSpec[]): Promise<Outside> {
  const child = spawn(process.execPath, [join(projectRoot, 'test/fixtures/superviseFixtures.ts')], {
    env: { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root, SLOTS: JSON.stringify(slots) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  strays.add(child.pid!);
  await once(child.stdout, 'data');
  return { pid: child.pid!, ended: once(child, 'exit') };
}

/** Numbers in the log of a slot, in order. */
const numbers = (home: TestHome, slot: string): number[] =>
  readdirSync(home.logs)
    .filter((name) => name.startsWith(`${slot}.log`))
    .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .flatMap((name) => readFileSync(join(home.logs, name), 'utf8').split('\n'))
    .flatMap((line) => (line === '' ? [] : [Number(/"msg":"number (\d+)"/.exec(line)?.[1] ?? Number.NaN)]));

/** Prints a line, then notes its number: what is noted was printed. Continues where the last incarnation ended. */
const counter = (noted: string) => `
  const fs = require('node:fs');
  const fd = fs.openSync(${JSON.stringify(noted)}, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
  const word = Buffer.alloc(8);
  let n = fs.readSync(fd, word, 0, 8, 0) === 8 ? Number(word.readBigUInt64LE()) : 0;
  setInterval(() => {
    for (let i = 0; i < 10; i++) {
      n++;
      fs.writeSync(1, 'number ' + n + '\\n');
      word.writeBigUInt64LE(BigInt(n));
      fs.writeSync(fd, word, 0, 8, 0);
    }
  }, 5);`;

const notedIn = (path: string): number => Number(readFileSync(path).readBigUInt64LE());

const pidOf = (home: TestHome, slot: string): number => {
  const { slots } = JSON.parse(readFileSync(home.run.slots, 'utf8')) as { slots: { slot: string; pid: number }[] };
  return slots.find((one) => one.slot === slot)!.pid;
};

t.test('lines that no supervisor had read when it and the program were killed are in the log after the next start', async (t) => {
  using home = testHome();
  const noted = join(home.root, 'noted');
  const slots = [program(home, 'counter', counter(noted))];
  const first = await superviseOutside(home, slots);
  await until('a keeper holds the pipe', isKept(home, ['counter']));
  await until('the program prints', () => notedIn(noted) > 0);
  const printer = pidOf(home, 'counter');
  process.kill(first.pid, 'SIGSTOP');
  const before = notedIn(noted);
  await until('lines are printed that nobody reads', () => notedIn(noted) > before + 200);
  for (const pid of [printer, first.pid]) kill(pid);
  await first.ended;
  await until('the program is gone', () => startTimeOf(printer) === undefined);
  const last = notedIn(noted);
  await using _second = await superviseFixtures(home, slots);
  await until('the next line is in the log', () => numbers(home, 'counter').includes(last + 1));
  const seen = new Set(numbers(home, 'counter'));
  t.same(
    Array.from({ length: last }, (_, n) => n + 1).filter((n) => !seen.has(n)),
    [],
  );
});

t.test('one keeper holds all pipes; it is replaced when it is killed, and ends with the service', async (t) => {
  using home = testHome();
  const names = Array.from({ length: 20 }, (_, n) => `s${String(n).padStart(2, '0')}`);
  {
    await using _service = await superviseFixtures(
      home,
      names.map((name) => program(home, name, 'setInterval(() => {}, 1e6)')),
    );
    const keeper = await until('a keeper holds all pipes', isKept(home, names));
    kill(keeper.pid);
    await until('another keeper holds all pipes', () => {
      const next = isKept(home, names)();
      return next && next.pid !== keeper.pid;
    });
  }
  t.same(keepers(home), []);
});

t.test('a keeper that a killed supervisor left behind is replaced by the next one, and ended by `agent down`', async (t) => {
  using home = testHome();
  const slots = [program(home, 'quiet', 'setInterval(() => {}, 1e6)')];
  const first = await superviseOutside(home, slots);
  const keeper = await until('a keeper holds the pipe', isKept(home, ['quiet']));
  kill(first.pid);
  await first.ended;
  t.same(keepers(home), [keeper]);
  const second = await superviseOutside(home, slots);
  const next = await until(
    'the next keeper is alone',
    () => keepers(home).every(({ pid }) => pid !== keeper.pid) && isKept(home, ['quiet'])(),
  );
  kill(second.pid);
  await second.ended;
  t.same(keepers(home), [next]);
  const stopped = await stopOrphans(home, { drain: true, look: taggedProcesses(home, []) });
  t.same(stopped, ['quiet']);
  t.same(keepers(home), []);
});
