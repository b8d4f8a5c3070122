/**
 * A time of day that can be stepped under a running service: a copy of this Node that asks a library of ours for it
 * (`steppedClock.c`). The steady clock stays as it is. Linux, with gcc and patchelf.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Programs that it needs and this machine lacks. */
export const missingForClock = (): string[] => ['gcc', 'patchelf'].filter((name) => spawnSync(name, ['--version']).error !== undefined);

export class SteppedClock implements Disposable {
  /** The program to start the service with. */
  readonly node: string;
  readonly #dir = mkdtempSync(join(tmpdir(), 'stepped-clock-'));
  #seconds = 0;

  constructor() {
    const library = join(this.#dir, 'clock.so');
    this.node = join(this.#dir, 'node');
    writeFileSync(join(this.#dir, 'clock'), Buffer.alloc(8));
    execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-o', library, join(import.meta.dirname, 'steppedClock.c')]);
    copyFileSync(process.execPath, this.node);
    execFileSync('patchelf', ['--add-needed', library, this.node]);
  }

  /** How far the service is from this process. */
  get ms(): number {
    return this.#seconds * 1_000;
  }

  set(seconds: number): void {
    this.#seconds = seconds;
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    // Written in place: processes have it mapped.
    const file = openSync(join(this.#dir, 'clock'), 'r+');
    writeSync(file, bytes);
    closeSync(file);
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
