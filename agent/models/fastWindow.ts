/** The bounded fast window (interface spec, Limits): when a request asks for the provider's fast tier. */
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';

export const serviceTiers = ['normal', 'fast', 'auto', 'cold'] as const;
export type ServiceTier = (typeof serviceTiers)[number];

export interface FastWindow {
  tier: string | null | undefined;
  /** `agent.fast_auto_seconds`. */
  seconds?: number | undefined;
  /** The session has had no turn before this one. */
  firstTurn: boolean;
}

/**
 * Answers for each model call of a turn whether it asks for the fast tier. `fast`: always; `auto`: in the first
 * seconds of each turn; `cold`: in those of the session's first turn alone. The window opens when this is called.
 */
export function fastWindow(
  { tier, seconds = limits.models.fastAutoSeconds, firstTurn }: FastWindow,
  clock: Pick<Clock, 'monotonic'>,
): () => boolean {
  const startedAt = clock.monotonic();
  const open = () => clock.monotonic() - startedAt < seconds * 1_000;
  switch (tier) {
    case 'fast':
      return () => true;
    case 'auto':
      return open;
    case 'cold':
      return firstTurn ? open : () => false;
    default:
      return () => false;
  }
}
