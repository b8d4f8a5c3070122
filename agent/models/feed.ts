/**
 * Values that come by themselves, for one taker who waits for them. By hand and not by generators: a token passes here,
 * and each generator on its way costs three turns of the microtask queue (docs/adr/0028).
 */

export interface FeedHooks {
  /** The taker has gone before the end. */
  onLeft?(): void;
  /** Everything that waited was taken. */
  onEmpty?(): void;
}

export class Feed<T> implements AsyncIterableIterator<T> {
  #hooks: FeedHooks;
  #waiting: T[] = [];
  #taker: PromiseWithResolvers<IteratorResult<T>> | undefined;
  #end: { thrown?: unknown } | undefined;

  constructor(hooks: FeedHooks = {}) {
    this.#hooks = hooks;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** How many wait to be taken. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Dropped after the end. */
  push(value: T): void {
    if (this.#end) return;
    if (!this.#taker) return void this.#waiting.push(value);
    this.#taker.resolve({ value, done: false });
    this.#taker = undefined;
  }

  /** What waits is still given; the first end counts. */
  end(): void {
    this.#finish({});
  }

  fail(thrown: unknown): void {
    this.#finish({ thrown });
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#waiting.length > 0) {
      const value = this.#waiting.shift()!;
      if (this.#waiting.length === 0) this.#hooks.onEmpty?.();
      return Promise.resolve({ value, done: false });
    }
    if (this.#end) return 'thrown' in this.#end ? Promise.reject(this.#end.thrown) : Promise.resolve({ value: undefined, done: true });
    this.#taker = Promise.withResolvers();
    return this.#taker.promise;
  }

  return(): Promise<IteratorResult<T>> {
    const early = !this.#end;
    this.#finish({});
    this.#waiting = [];
    if (early) this.#hooks.onLeft?.();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(how: { thrown?: unknown }): void {
    if (this.#end) return;
    this.#end = how;
    const taker = this.#taker;
    this.#taker = undefined;
    if (!taker) return;
    if ('thrown' in how) taker.reject(how.thrown);
    else taker.resolve({ value: undefined, done: true });
  }
}

/** What `work` pushes, until it is done. It starts when somebody takes; its signal aborts when the taker leaves early. */
export function fed<T>(signal: AbortSignal, work: (push: (value: T) => void, signal: AbortSignal) => Promise<void>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const left = new AbortController();
      const feed = new Feed<T>({ onLeft: () => left.abort() });
      work((value) => feed.push(value), AbortSignal.any([signal, left.signal])).then(
        () => feed.end(),
        (thrown: unknown) => feed.fail(thrown),
      );
      return feed;
    },
  };
}
