/**
 * The signs of life of one incarnation over time: takes its beats, looks at the process when they stay away,
 * and remembers how the word changed. Decides nothing by itself: `liveness.ts` judges.
 */
import { limits } from '../base/limits.ts';
import type { Liveness } from '../ipc/contracts/supervisor.ts';
import { afterBeat, isSuspicious, judge, newSigns, type Beat, type Bounds, type Signs, type Verdict } from './liveness.ts';
import { lookAtMain, type MainLook } from './procFacts.ts';

export class Vitals {
  /** Changes of the word, oldest first; bounded. */
  readonly history: { at: string; word: Liveness; why: string }[] = [];
  #word: Liveness = 'ok';
  #signs: Signs;
  #look: MainLook | undefined;
  /** This silence has been too long once: only a beat changes that, not a clock read a moment later. */
  #isTooLong = false;

  constructor(nowMs: number) {
    this.#signs = newSigns(nowMs);
  }

  get word(): Liveness {
    return this.#word;
  }

  beat(beat: Beat, nowMs: number): void {
    this.#signs = afterBeat(this.#signs, beat, nowMs);
    this.#look = undefined;
    this.#isTooLong = false;
  }

  /** At every pulse while it is ready. Reads /proc only of a process that has been silent for too long. */
  check(pid: number, nowMs: number, bounds: Bounds): Verdict {
    if (isSuspicious(this.#signs, nowMs, bounds)) this.#look = lookAtMain(pid, nowMs, this.#look);
    const judged = judge(this.#signs, nowMs, bounds, this.#look?.signs);
    this.#isTooLong ||= judged.kill;
    const verdict = { ...judged, kill: this.#isTooLong };
    if (verdict.word !== this.#word) {
      this.#word = verdict.word;
      this.history.push({ at: new Date().toISOString(), word: verdict.word, why: verdict.why });
      if (this.history.length > limits.supervisor.livenessHistoryMax) this.history.shift();
    }
    return verdict;
  }
}
