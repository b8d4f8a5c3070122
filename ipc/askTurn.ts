/**
 * Asking the agent worker for a turn and waiting as long as it takes: over restarts of the agent
 * worker, because `turn.run` joins or replays by its idempotency key. Never cancels a turn by leaving:
 * the next incarnation of the caller asks again with the same key.
 */
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { jitteredDelayMs, sleep } from '../base/time.ts';
import { isTransport, type Client } from './client.ts';
import { runTurn, type TurnOutcome } from './contracts/agent.ts';
import type { InputOf } from './method.ts';

export interface AskOptions {
  /** Aborts when the asking worker leaves; the turn goes on without it. */
  leaving: AbortSignal;
  /** Cancels the turn itself. */
  cancel?: AbortSignal;
  /** How long the agent worker may stay out of reach before the question is given up. */
  patienceMs: number;
  /** Called once when it has been out of reach for `limits.gateway.waitingNoticeMs`. */
  onWaiting?: () => void;
}

/** Shorter failures than this mean that nothing was reached. */
const REACHED_MS = 1_000;

/** The outcome, or undefined when the asking worker is leaving. Errors: of `turn.run`, PEER_UNREACHABLE when patience ran out. */
export async function askTurn(agent: Client, question: InputOf<typeof runTurn>, options: AskOptions): Promise<TurnOutcome | undefined> {
  const { leaving } = options;
  const left = Promise.withResolvers<undefined>();
  const onLeaving = () => left.resolve(undefined);
  leaving.addEventListener('abort', onLeaving, { once: true });
  try {
    return await askUntilAnswered(agent, question, { ...options, left: left.promise });
  } finally {
    leaving.removeEventListener('abort', onLeaving);
  }
}

async function askUntilAnswered(
  agent: Client,
  question: InputOf<typeof runTurn>,
  { leaving, cancel, patienceMs, onWaiting, left }: AskOptions & { left: Promise<undefined> },
): Promise<TurnOutcome | undefined> {
  let lostSince = performance.now();
  let told = false;
  for (let attempt = 0; !leaving.aborted; attempt++) {
    const askedAt = performance.now();
    try {
      const answer = agent.call(runTurn, question, { timeoutMs: 0, ...(cancel ? { signal: cancel } : {}) });
      // When we leave first, the answer is for the next incarnation.
      answer.catch(() => {});
      return await Promise.race([answer, left]);
    } catch (thrown) {
      if (leaving.aborted) return undefined;
      const passing = isTransport(thrown) || (isAgentError(thrown) && thrown.code === 'BUSY');
      if (!passing || cancel?.aborted) throw thrown;
      const nowMs = performance.now();
      if (nowMs - askedAt > REACHED_MS) [lostSince, attempt] = [nowMs, 0];
      if (nowMs - lostSince > patienceMs) {
        throw new AgentError('PEER_UNREACHABLE', 'the agent worker could not be reached', {
          cause: thrown,
          fix: 'look at `agent why agent`',
        });
      }
      if (!told && nowMs - lostSince > limits.gateway.waitingNoticeMs) {
        told = true;
        onWaiting?.();
      }
      const pauseMs = jitteredDelayMs(attempt, { baseMs: limits.gateway.turnRetryMinMs, maxMs: limits.gateway.turnRetryMaxMs });
      await sleep(pauseMs, leaving).catch(() => {});
    }
  }
  return undefined;
}
