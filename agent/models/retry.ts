/** When and how long to wait before a provider is asked again. Our own rule, so that retries are counted and interruptible. */
import { limits } from '../../base/limits.ts';
import { jitteredDelayMs } from '../../base/time.ts';

const { providerRetryBaseMs, providerRetryMaxMs, providerRetryAfterMaxMs } = limits.turn;

/** `Retry-After` in seconds or as a date, or `retry-after-ms`. Undefined when absent or unreadable. */
export function retryAfterMs(headers: Record<string, string> | undefined, nowMs: number = Date.now()): number | undefined {
  const exact = Number(headers?.['retry-after-ms'] ?? Number.NaN);
  if (exact >= 0) return exact;
  const text = headers?.['retry-after'];
  if (!text) return undefined;
  const seconds = Number(text);
  if (seconds >= 0) return seconds * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** Pause before try number `attempt` (from 0); undefined = the provider asks for more patience than a turn has. */
export function pauseMs(attempt: number, askedMs: number | undefined, random: () => number = Math.random): number | undefined {
  if (askedMs !== undefined) return askedMs > providerRetryAfterMaxMs ? undefined : askedMs;
  return jitteredDelayMs(attempt, { baseMs: providerRetryBaseMs, maxMs: providerRetryMaxMs, random });
}
