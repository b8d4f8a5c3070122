/**
 * A file of `run/` that only this process writes, whole each time. Knows whether what lies there is what was
 * written last: somebody else may have changed or removed it, or a full disk kept it from being written.
 */
import { dirname } from 'node:path';
import { stampOf } from '../state/fileStamp.ts';
import { writeFileAtomic } from '../state/atomicFile.ts';

/** What to do about one that cannot be written. */
export const unwritable = (path: string): string =>
  `free some disk space, or see that ${dirname(path)} can be written; it is tried again every few seconds`;

export class OwnFile {
  readonly path: string;
  /** Of what was written last; undefined before the first time, empty when the last time failed. */
  #stamp: string | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Not synced: worth nothing after a power cut. Errors: DISK_FULL, HOME_UNUSABLE. */
  write(content: string): void {
    this.#stamp = '';
    writeFileAtomic(this.path, content, { durable: false });
    this.#stamp = stampOf([this.path]);
  }

  /** It has been written, and what lies there is something else: two system calls to know. */
  get isAmiss(): boolean {
    if (this.#stamp === undefined) return false;
    try {
      return stampOf([this.path]) !== this.#stamp;
    } catch {
      return true;
    }
  }
}
