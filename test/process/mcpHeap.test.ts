/** Calls must not fill the broker's memory, however many: nothing is kept of a call that has ended. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const CALLS = 1_500;
/** The code that V8 makes of what is hot grows the heap at first; a leak of 2 KB a call is four times this. */
const BYTES_PER_CALL_MAX = 512;

t.test('the live heap does not grow with the number of calls', async (t) => {
  const args = ['--expose-gc', join(projectRoot, 'test/fixtures/mcpHeap.ts'), String(CALLS)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 200_000 });
  const [, second, third] = stdout.trim().split('\n').map(Number) as [number, number, number];
  const perCall = Math.round((third - second) / CALLS);
  t.ok(perCall < BYTES_PER_CALL_MAX, `${perCall} bytes a call`);
});
