/** A writer in another process that rotates its log many times while a reader follows it. */
import { spawn } from 'node:child_process';
import type { Test } from 'tap';
import { until } from './until.ts';

const BURST_LINES = 30;
const program = `
  import { LogFile } from ${JSON.stringify(new URL('../../base/logFile.ts', import.meta.url).href)};
  const writer = new LogFile(process.argv[1], { maxBytes: 300, keep: 9, shared: true });
  let i = 0;
  process.on('message', () => {
    for (const end = i + ${BURST_LINES}; i < end; i++) writer.append('line ' + i + ' ' + 'x'.repeat(40));
  });`;

/**
 * So many bursts of `line <n> …`, n from 0, each written when all before it was seen: a burst is five rotations,
 * fewer than are kept, so however late the reader is, nothing is deleted yet. The numbers that should have been seen.
 */
export async function rotateWhileFollowed(
  t: Pick<Test, 'teardown'>,
  { log, bursts, seen }: { log: string; bursts: number; seen: () => number },
): Promise<number[]> {
  const writer = spawn(process.execPath, ['--input-type=module', '--eval', program, log], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  t.teardown(() => writer.kill('SIGKILL'));
  for (let burst = 1; burst <= bursts; burst++) {
    writer.send('go');
    await until(`burst ${burst} is seen`, () => seen() >= burst * BURST_LINES);
  }
  return Array.from({ length: bursts * BURST_LINES }, (_, n) => n);
}
