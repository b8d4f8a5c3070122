/** A line on stderr while something takes more than two seconds, on a terminal only. */
import { formatDuration } from '../base/time.ts';
import { painter } from '../base/paint.ts';
import { draw, err } from './terminal.ts';

/** Below this nobody wonders whether it still works. */
const QUIET_MS = 2_000;
const FRAME_MS = 100;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

/** Runs `work`; shows `what` and the time gone by. `what` may change while it runs. */
export async function withProgress<T>(what: string | (() => string), work: () => Promise<T>): Promise<T> {
  if (!err.isTTY) return work();
  const startedAt = performance.now();
  const paint = painter(err);
  let frame = 0;
  let drawn = false;
  const timer = setInterval(() => {
    const goneMs = performance.now() - startedAt;
    if (goneMs < QUIET_MS) return;
    drawn = true;
    const text = typeof what === 'string' ? what : what();
    draw(`\r\u001b[K${paint('cyan', FRAMES[frame++ % FRAMES.length]!)} ${text} ${paint('dim', formatDuration(goneMs))}`);
  }, FRAME_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (drawn) draw('\r\u001b[K');
  }
}
