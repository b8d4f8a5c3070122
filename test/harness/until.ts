/** Waiting in tests: for a condition, under a limit, with a sentence for when it never comes. */
import { sleep } from '../../base/time.ts';

const SEEN_MAX_CHARS = 2_000;

/** Calls `probe` until it gives something other than undefined, null or false. Throws after `ms`, with what `probe` threw last. */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = 30_000): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + ms;
  let last: unknown;
  for (let pause = 2; performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<Exclude<T, false>>;
    } catch (thrown) {
      last = thrown;
    }
    await sleep(pause);
  }
  const seen = last instanceof Error ? `; last: ${last.message.slice(0, SEEN_MAX_CHARS)}` : '';
  throw new Error(`${what}: not within ${ms} ms${seen}`, { cause: last });
}
