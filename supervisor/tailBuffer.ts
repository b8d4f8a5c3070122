/** The end of a byte stream: at least the last 64 KiB of it, in one buffer that is as small as what came. */

const KEPT_BYTES = 64 * 1024;
const FIRST_BYTES = 512;

export class TailBuffer {
  #bytes: Buffer | undefined;
  #used = 0;

  push(chunk: Buffer): void {
    const fresh = chunk.length > KEPT_BYTES ? chunk.subarray(chunk.length - KEPT_BYTES) : chunk;
    this.#makeRoom(fresh.length);
    this.#used += fresh.copy(this.#bytes!, this.#used);
  }

  clear(): void {
    this.#bytes = undefined;
    this.#used = 0;
  }

  toString(): string {
    return this.#bytes?.toString('utf8', 0, this.#used) ?? '';
  }

  /** Grows by doubling up to twice of what is kept; then the older half makes room. */
  #makeRoom(wanted: number): void {
    const have = this.#bytes?.length ?? 0;
    if (this.#used + wanted <= have) return;
    if (this.#used + wanted > 2 * KEPT_BYTES) {
      const kept = Math.min(this.#used, KEPT_BYTES, 2 * KEPT_BYTES - wanted);
      this.#bytes!.copyWithin(0, this.#used - kept, this.#used);
      this.#used = kept;
      if (this.#used + wanted <= have) return;
    }
    let size = Math.max(have, FIRST_BYTES);
    while (size < this.#used + wanted) size *= 2;
    const larger = Buffer.allocUnsafeSlow(Math.min(size, 2 * KEPT_BYTES));
    this.#bytes?.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}
