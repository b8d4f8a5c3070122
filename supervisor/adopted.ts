/**
 * The end of processes whose parent we are not (taken over from an earlier supervisor): one timer looks at
 * all of them, and a closed connection makes it look at once.
 */
import { limits } from '../base/limits.ts';
import { abortReason, deferred, type Deferred } from '../base/time.ts';
import { isSameProcess } from '../state/processIdentity.ts';
import type { EndWatch, ExitFacts, IncarnationRecord } from './incarnation.ts';

export class AdoptedWatch implements EndWatch {
  #watched = new Map<IncarnationRecord, Deferred<ExitFacts>>();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when the process is seen to be gone; its status only its dead parent could read. Rejects when the watch ends. */
  ended(record: IncarnationRecord): Promise<ExitFacts> {
    const end = deferred<ExitFacts>();
    this.#watched.set(record, end);
    this.#timer ??= setInterval(() => this.look(), limits.supervisor.adoptedLookMs);
    return end.promise;
  }

  /** Looks at all of them now: something says that one may be gone. */
  look(): void {
    for (const [record, end] of this.#watched) {
      if (isSameProcess(record)) continue;
      this.#watched.delete(record);
      end.resolve({ code: null, signal: null });
    }
    if (this.#watched.size === 0) this.#stop();
  }

  /** A connection of a worker closes a moment before its process is gone: looks until it is, or for a little while. */
  lookSoon(): void {
    for (const ms of [0, 2, 10, 50, 200]) setTimeout(() => this.look(), ms).unref();
  }

  [Symbol.dispose](): void {
    this.#stop();
    const over = abortReason(AbortSignal.abort());
    for (const end of this.#watched.values()) {
      end.promise.catch(() => {});
      end.reject(over);
    }
    this.#watched.clear();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
