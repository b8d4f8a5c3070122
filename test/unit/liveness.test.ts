/** What the signs of life say: every word, when it kills, and what is left alone. */
import { spawn } from 'node:child_process';
import t from 'tap';
import type { Liveness } from '../../ipc/contracts/supervisor.ts';
import { afterBeat, boundsOf, judge, newSigns, sidecarWord, type Beat, type ProcessSigns } from '../../supervisor/liveness.ts';
import { lookAtMain } from '../../supervisor/procFacts.ts';
import { until } from '../harness/until.ts';

const bounds = boundsOf();

const at = (state: string, mainShare?: number, waitsIn?: string): ProcessSigns => ({ state, mainShare, waitsIn });

const starved = (inLineMs: number): ProcessSigns => ({ ...at('R', 0.99), inLineMs });

t.test('silence is judged by what the process does', async (t) => {
  const rows: { name: string; silentMs: number; process?: ProcessSigns; word: Liveness; kill: boolean; why?: RegExp }[] = [
    { name: 'a beat just now', silentMs: 0, word: 'ok', kill: false },
    { name: 'just under the limit', silentMs: 9_999, word: 'ok', kill: false },
    { name: 'too long, nothing known', silentMs: 10_000, word: 'suspect', kill: false },
    { name: 'far too long, nothing known', silentMs: 30_000, word: 'silent', kill: true, why: /no sign of life for 30 s/ },
    { name: 'stopped', silentMs: 12_000, process: at('T'), word: 'stopped', kill: false, why: /SIGSTOP/ },
    { name: 'stopped for too long', silentMs: 30_000, process: at('T'), word: 'stopped', kill: true },
    { name: 'in a debugger, for ever', silentMs: 3_600_000, process: at('t'), word: 'stopped', kill: false, why: /debugger/ },
    { name: 'running, first look', silentMs: 11_000, process: at('R'), word: 'blocked', kill: false },
    { name: 'busy', silentMs: 31_000, process: at('R', 0.99), word: 'blocked', kill: true, why: /computed for 31 s/ },
    { name: 'starved: in line for a processor', silentMs: 31_000, process: starved(20_000), word: 'blocked', kill: false },
    { name: 'starved, and silent by itself too', silentMs: 51_000, process: starved(20_000), word: 'blocked', kill: true },
    { name: 'starved for ever', silentMs: 120_000, process: starved(119_000), word: 'blocked', kill: true },
    { name: 'busy, caught asleep', silentMs: 31_000, process: at('S', 0.8), word: 'blocked', kill: true },
    {
      name: 'busy, caught in a wait',
      silentMs: 31_000,
      process: at('S', 0.3, 'futex_do_wait'),
      word: 'blocked',
      kill: true,
      why: /computed/,
    },
    { name: 'in a lock', silentMs: 31_000, process: at('S', 0, 'futex_do_wait'), word: 'blocked', kill: true, why: /futex_do_wait/ },
    { name: 'resting, without a beat', silentMs: 31_000, process: at('S', 0, 'do_epoll_wait'), word: 'silent', kill: true },
    { name: 'stuck in the kernel', silentMs: 31_000, process: at('D', 0), word: 'silent', kill: true },
  ];
  for (const { name, silentMs, process, word, kill, why } of rows) {
    const verdict = judge(newSigns(0), silentMs, bounds, process);
    t.match(verdict, { word, kill, ...(why ? { why } : {}) }, name);
  }
});

t.test('time in line for a processor is told from time on it', async (t) => {
  const spin = () => spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' });
  const [one, other] = [spin(), spin()];
  t.teardown(() => [one, other].forEach((child) => child.kill('SIGKILL')));
  let look = lookAtMain(one.pid!, performance.now());
  t.equal(look?.signs.inLineMs, 0, 'at the first look nothing is known');
  await until('half of the time is spent in line', () => {
    const before = look;
    look = lookAtMain(one.pid!, performance.now(), before);
    return (look?.signs.inLineMs ?? 0) > 100;
  });
});

/** Beats every five seconds for a while, then the verdict. */
function judgeAfter(seconds: number, beat: (index: number) => Beat): { word: Liveness; kill: boolean } {
  let signs = newSigns(0);
  let nowMs = 0;
  for (let index = 0; nowMs < seconds * 1_000; index++) signs = afterBeat(signs, beat(index), (nowMs += 5_000));
  const { word, kill } = judge(signs, nowMs, bounds);
  return { word, kill };
}

t.test('lesson 12: what beats is judged by the progress of accepted work', async (t) => {
  const rows: { name: string; seconds: number; beat: (index: number) => Beat; word: Liveness; kill: boolean }[] = [
    { name: 'idle', seconds: 600, beat: () => ({ active: 0, progress: 0, utilization: 0 }), word: 'ok', kill: false },
    { name: 'busy with nothing accepted', seconds: 600, beat: () => ({ active: 0, progress: 0, utilization: 1 }), word: 'ok', kill: false },
    {
      name: 'a model call of an hour',
      seconds: 3_600,
      beat: () => ({ active: 1, progress: 7, utilization: 0.01 }),
      word: 'ok',
      kill: false,
    },
    { name: 'busy and moving', seconds: 600, beat: (n) => ({ active: 3, progress: n, utilization: 1 }), word: 'ok', kill: false },
    {
      name: 'spinning for a while',
      seconds: 20,
      beat: () => ({ active: 1, progress: 7, utilization: 0.99 }),
      word: 'livelocked',
      kill: false,
    },
    {
      name: 'spinning for too long',
      seconds: 40,
      beat: () => ({ active: 1, progress: 7, utilization: 0.99 }),
      word: 'livelocked',
      kill: true,
    },
    {
      name: 'spinning with pauses',
      seconds: 600,
      beat: (n) => ({ active: 1, progress: 7, utilization: n % 2 ? 0.99 : 0.5 }),
      word: 'ok',
      kill: false,
    },
    { name: 'an older worker, which does not count', seconds: 600, beat: () => ({ active: 1 }), word: 'ok', kill: false },
  ];
  for (const { name, seconds, beat, word, kill } of rows) t.same(judgeAfter(seconds, beat), { word, kill }, name);
});

t.test('bounds come from the configuration; two beats fit into the time that makes suspect', async (t) => {
  t.same(boundsOf(), { suspectMs: 10_000, killMs: 30_000, heartbeatMs: 5_000 });
  t.same(boundsOf({ suspect_ms: 400, kill_ms: 1_000 }), { suspectMs: 400, killMs: 1_000, heartbeatMs: 200 });
  t.same(boundsOf({ suspect_ms: 60_000 }), { suspectMs: 60_000, killMs: 60_000, heartbeatMs: 5_000 });
});

t.test("a user's own program is only ever seen as stopped", async (t) => {
  t.same(['R', 'S', 'D', 'T', 't'].map(sidecarWord), ['ok', 'ok', 'ok', 'stopped', 'stopped']);
});

t.test('a worker without a free descriptor is exhausted at once and is ended at the limit, unless it gets one back', async (t) => {
  const beat = (descriptors_used_up: boolean): Beat => ({ active: 0, progress: 0, utilization: 0, descriptors_used_up });
  let signs = afterBeat(newSigns(0), beat(true), 5_000);
  t.match(judge(signs, 5_000, bounds), { word: 'exhausted', kill: false });
  for (let nowMs = 10_000; nowMs <= 35_000; nowMs += 5_000) signs = afterBeat(signs, beat(true), nowMs);
  t.match(judge(signs, 34_000, bounds), { word: 'exhausted', kill: false });
  t.match(judge(signs, 35_000, bounds), { word: 'exhausted', kill: true, why: /no free file descriptor for 30 s/ });
  t.match(judge(afterBeat(signs, beat(false), 36_000), 36_000, bounds), { word: 'ok', kill: false });
});
