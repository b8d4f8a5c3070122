/**
 * Whether the serving incarnation is alive, and what is done when it is not: the signs are taken, judged at
 * every pulse, and before a hung one is killed what can be seen of it is kept.
 */
import type { Logger } from '../base/log.ts';
import type { Redactor } from '../base/redact.ts';
import type { Evidence } from '../ipc/contracts/blackBox.ts';
import type { Liveness } from '../ipc/contracts/supervisor.ts';
import { collectEvidence } from './evidence.ts';
import type { Incarnation } from './incarnation.ts';
import type { Beat, Bounds, Verdict } from './liveness.ts';
import { Vitals } from './vitals.ts';

export interface HealthHost {
  slot: string;
  log: Logger;
  redact: Redactor;
  /** The last raw lines that the process printed. */
  lines(): string[];
  /** The word has changed. */
  changed(): void;
  /** Is it still the one that serves? */
  serves(incarnation: Incarnation): boolean;
  /** It hangs and is to be killed. */
  condemned(why: string): void;
  monotonic(): number;
}

export class Health {
  /** What was seen of a hung incarnation; it is being killed. */
  evidence: Evidence | undefined;
  #host: HealthHost;
  #vitals: Vitals;
  #isCondemned = false;

  constructor(host: HealthHost) {
    this.#host = host;
    this.#vitals = new Vitals(host.monotonic());
  }

  get word(): Liveness {
    return this.#vitals.word;
  }

  get history(): Vitals['history'] {
    return this.#vitals.history;
  }

  /** Another incarnation serves from now on. */
  reset(): void {
    this.evidence = undefined;
    this.#isCondemned = false;
    this.#vitals = new Vitals(this.#host.monotonic());
  }

  beat(beat: Beat): void {
    this.#vitals.beat(beat, this.#host.monotonic());
  }

  /** At every pulse. One that hangs for too long is condemned. */
  check(incarnation: Incarnation, nowMs: number, bounds: Bounds): void {
    const { slot, log } = this.#host;
    const before = this.word;
    const verdict = this.#vitals.check(incarnation.pid, nowMs, bounds);
    if (verdict.word !== before) {
      log.warn(`${slot} is ${verdict.word}${verdict.why ? `: it ${verdict.why}` : ' again'}`, { worker: slot });
      this.#host.changed();
    }
    if (verdict.kill && !this.#isCondemned) void this.#condemn(incarnation, verdict, bounds);
  }

  /** Evidence first, then the kill; unless it comes back to life meanwhile. */
  async #condemn(incarnation: Incarnation, verdict: Verdict, bounds: Bounds): Promise<void> {
    const { redact, lines, monotonic } = this.#host;
    this.#isCondemned = true;
    // Without a free descriptor Node aborts when its inspector is to open.
    const answers = incarnation.record.watchdog === true && verdict.word !== 'exhausted';
    const evidence = await collectEvidence({ pid: incarnation.pid, answers, verdict, lines, redact });
    if (!this.#host.serves(incarnation)) return;
    if (!this.#vitals.check(incarnation.pid, monotonic(), bounds).kill) {
      this.#isCondemned = false;
      return;
    }
    this.evidence = evidence;
    this.#host.condemned(evidence.why);
  }
}
