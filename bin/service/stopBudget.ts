/** How long a stop in good order can take: the one number that systemd and launchd have to outlast. */
import { limits } from '../../base/limits.ts';

export interface Stoppable {
  drainMs: number;
  termMs: number;
  tier: number;
}

/** What `Incarnation.stop` gives the drain call beyond its deadline. */
const DRAIN_ANSWER_MS = 2_000;

/** Slots of one tier stop together, tiers one after the other; each takes its drain, its SIGTERM and its SIGKILL. */
export function stopBudgetMs(slots: readonly Stoppable[]): number {
  const longest = new Map<number, number>();
  for (const { drainMs, termMs, tier } of slots) {
    const ladderMs = drainMs + DRAIN_ANSWER_MS + termMs + limits.worker.killMs;
    longest.set(tier, Math.max(longest.get(tier) ?? 0, ladderMs));
  }
  const sum = [...longest.values()].reduce((total, ms) => total + ms, 0);
  return Math.max(limits.service.stopMinMs, sum + limits.service.stopMarginMs);
}
