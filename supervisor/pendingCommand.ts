/** An operator's command on a slot until its result is known, and the receipt it is answered with (contract §4). */
import { AgentError } from '../base/errors.ts';
import { deferred } from '../base/time.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';

/** Where the slot stands when the result is known. */
export interface Outcome {
  ok: boolean;
  error?: string;
  isUp: boolean;
  newPid: number | null;
  readyMs: number | null;
  /** Clock that never jumps, and epoch. */
  nowMs: number;
  atMs: number;
}

export class PendingCommand {
  readonly slot: string;
  readonly action: Receipt['action'];
  readonly actor: string;
  readonly cause: string;
  readonly oldPid: number | null;
  #downSinceMs: number | undefined;
  #drainedMs: number | null = null;
  #interrupted = 0;
  #answer = deferred<Receipt>();

  constructor(slot: string, { action, actor, cause, oldPid }: Pick<PendingCommand, 'action' | 'actor' | 'cause' | 'oldPid'>) {
    this.slot = slot;
    this.action = action;
    this.actor = actor;
    this.cause = cause;
    this.oldPid = oldPid;
    // Whoever asked may have gone.
    this.#answer.promise.catch(() => {});
  }

  get answer(): Promise<Receipt> {
    return this.#answer.promise;
  }

  /** The old process has left. `downSinceMs` undefined = another one served already. */
  drained({ drainedMs, interrupted }: { drainedMs: number | null; interrupted: number }, downSinceMs: number | undefined): void {
    this.#drainedMs = drainedMs;
    this.#interrupted = interrupted;
    this.#downSinceMs = downSinceMs;
  }

  superseded(by: { action: string; actor: string }): void {
    this.#answer.reject(new AgentError('SUPERSEDED', `a newer ${by.action} of ${this.slot} by ${by.actor} took over`));
  }

  resolve(outcome: Outcome): void {
    this.#answer.resolve(this.receipt(outcome));
  }

  receipt({ ok, error, isUp, newPid, readyMs, nowMs, atMs }: Outcome): Receipt {
    return {
      slot: this.slot,
      action: this.action,
      cause: this.cause,
      actor: this.actor,
      old_pid: this.oldPid,
      new_pid: newPid,
      ready_ms: isUp ? readyMs : null,
      downtime_ms: isUp ? this.#downtimeMs(newPid, nowMs) : null,
      drained_ms: this.#drainedMs,
      interrupted_turns: this.#interrupted,
      at: new Date(atMs).toISOString(),
      ok,
      ...(error === undefined ? {} : { error }),
    };
  }

  #downtimeMs(newPid: number | null, nowMs: number): number | null {
    if (this.#downSinceMs !== undefined) return Math.round(nowMs - this.#downSinceMs);
    // A successor that served before the old one drained leaves no gap.
    return this.action === 'restart' && this.oldPid !== null && this.oldPid !== newPid ? 0 : null;
  }
}
