/**
 * Asking another worker for accepted work until it answers, over restarts, stops and full disks: an error that
 * `mustWait` names is tried again with a growing pause, for as long as it takes; the start of the worker ends a pause
 * early. Never cancels a turn by leaving: the next incarnation of the caller asks again with the same key.
 */
import { mustWait, type AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { jitteredDelayMs, sleep } from '../base/time.ts';
import type { Client } from './client.ts';
import { runTurn, type TurnOutcome } from './contracts/agent.ts';
import type { InputOf } from './method.ts';
import { watchFile } from './watchFile.ts';

export interface Asking {
  /** Aborts when the asking worker leaves; what it asked for continues without it. */
  leaving: AbortSignal;
  /** Cancels the work itself. */
  cancel?: AbortSignal | undefined;
  /** Socket file of the worker that is asked: its change ends a pause. */
  socket: string;
  /** A try failed and is repeated; `sinceMs` (performance clock) is the first failure in a row. */
  onWaiting?(cause: AgentError, sinceMs: number): void;
  /** The worker can be reached: resolves when the work may be asked of it. */
  admitted?: (() => Promise<void>) | undefined;
  /** It waits no longer: the worker has taken the work. Also called when nothing had to wait. */
  onTaken?(): void;
}

/** A call that lasts this long was taken: an answer that refuses work comes at once. */
const TAKEN_MS = 1_000;

/** The outcome, or undefined when the asking worker is leaving. Errors: those of `turn.run` that end accepted work. */
export const askTurn = (agent: Client, question: InputOf<typeof runTurn>, asking: Asking): Promise<TurnOutcome | undefined> =>
  keepAsking(agent, () => agent.call(runTurn, question, { timeoutMs: 0, signal: asking.cancel }), asking);

/** The answer of `call`, or undefined when the asking worker is leaving. Errors: those that end accepted work. */
export async function keepAsking<T>(worker: Client, call: () => Promise<T>, asking: Asking): Promise<T | undefined> {
  const { leaving, cancel } = asking;
  const left = Promise.withResolvers<undefined>();
  const onLeaving = () => left.resolve(undefined);
  leaving.addEventListener('abort', onLeaving, { once: true });
  try {
    let failedSince: number | undefined;
    for (let attempt = 0; !leaving.aborted; attempt++) {
      const onTaken = () => {
        [failedSince, attempt] = [undefined, 0];
        asking.onTaken?.();
      };
      try {
        return await Promise.race([once(worker, call, { cancel, onTaken, admitted: asking.admitted }), left.promise]);
      } catch (thrown) {
        if (leaving.aborted) return undefined;
        if (!mustWait(thrown) || cancel?.aborted) throw thrown;
        failedSince ??= performance.now();
        asking.onWaiting?.(thrown as AgentError, failedSince);
        await pause(attempt, asking);
      }
    }
    return undefined;
  } finally {
    leaving.removeEventListener('abort', onLeaving);
  }
}

async function once<T>(
  worker: Client,
  call: () => Promise<T>,
  { cancel, onTaken, admitted }: Pick<Asking, 'cancel' | 'admitted'> & { onTaken: () => void },
): Promise<T> {
  // First the connection: a hello that times out has reached nothing.
  await worker.link(cancel);
  await admitted?.();
  const timer = setTimeout(onTaken, TAKEN_MS);
  try {
    const answer = await call();
    onTaken();
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

async function pause(attempt: number, { leaving, cancel, socket }: Asking): Promise<void> {
  const over = new AbortController();
  const ends = AbortSignal.any([over.signal, leaving, ...(cancel ? [cancel] : [])]);
  using _watch = watchFile(socket, () => over.abort());
  const ms = jitteredDelayMs(attempt, { baseMs: limits.gateway.turnRetryMinMs, maxMs: limits.gateway.turnRetryMaxMs });
  await sleep(ms, ends).catch(() => {});
}
