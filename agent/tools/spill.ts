/**
 * The full text of long outputs, in files the model can read: a private folder that is bounded in bytes,
 * files and age. A full disk costs the file, never the command.
 */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { CappedText } from './outputCap.ts';

const { spillFileMaxBytes, spillFilesMax, spillFolderMaxBytes, spillKeepMs } = limits.tools;

export class SpillFolder {
  readonly dir: string;
  readonly #now: () => number;

  constructor(dir: string, now: () => number = Date.now) {
    this.dir = dir;
    this.#now = now;
  }

  open(name: string): SpillFile {
    return new SpillFile(this.dir, `${name.replace(/[^a-z0-9_-]/gi, '-').slice(0, 40)}-${hexId(8)}.txt`, () => this.#prune());
  }

  /** Oldest first, until the folder is within its bounds with one more file in it. */
  #prune(): void {
    const files = readdirSync(this.dir)
      .flatMap((name) => {
        const stat = statSync(join(this.dir, name), { throwIfNoEntry: false });
        return stat?.isFile() ? [{ path: join(this.dir, name), bytes: stat.size, at: stat.mtimeMs }] : [];
      })
      .toSorted((a, b) => b.at - a.at);
    let bytes = spillFileMaxBytes;
    const nowMs = this.#now();
    for (const [index, file] of files.entries()) {
      bytes += file.bytes;
      if (index < spillFilesMax - 1 && bytes <= spillFolderMaxBytes && nowMs - file.at <= spillKeepMs) continue;
      rmSync(file.path, { force: true });
    }
  }
}

/** Made with its first text. Never throws: `problem` says why there is no file, or only its beginning. */
export class SpillFile {
  readonly path: string;
  problem: string | undefined;
  #dir: string;
  #prune: () => void;
  #fd: number | undefined;
  #bytes = 0;

  constructor(dir: string, name: string, prune: () => void) {
    this.#dir = dir;
    this.path = join(dir, name);
    this.#prune = prune;
  }

  write(text: string): void {
    if (this.problem) return;
    try {
      this.#fd ??= this.#create();
      const bytes = Buffer.from(text);
      const room = Math.min(bytes.length, spillFileMaxBytes - this.#bytes);
      for (let at = 0; at < room;) at += writeSync(this.#fd, bytes, at, room - at);
      this.#bytes += room;
      if (room < bytes.length) this.problem = `only its first ${spillFileMaxBytes} bytes`;
    } catch (thrown) {
      this.problem = this.#bytes > 0 ? 'only its beginning' : `not kept: ${errnoOf(thrown) ?? String(thrown)}`;
    }
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.problem ??= 'closed';
  }

  #create(): number {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    this.#prune();
    return openSync(this.path, 'wx', 0o600);
  }
}

/** A stream's text: what the model is shown is bounded, the rest goes to a file once there is more than that. */
export class SpilledText {
  #shown: CappedText;
  #held: string[] = [];
  #heldChars = 0;
  #max: number;
  #folder: SpillFolder | undefined;
  #name: string;
  #file: SpillFile | undefined;
  #problem: string | undefined;

  constructor(max: number, name: string, folder?: SpillFolder) {
    this.#max = max;
    this.#shown = new CappedText(max);
    this.#folder = folder;
    this.#name = name;
  }

  push(text: string): void {
    this.#shown.push(text);
    if (this.#file) return this.#file.write(text);
    if (!this.#folder) return;
    this.#held.push(text);
    this.#heldChars += text.length;
    if (this.#heldChars > this.#max) this.#spill();
  }

  /** Everything in the file from now on. */
  #spill(): void {
    this.#file = this.#folder!.open(this.#name);
    this.#file.write(this.#held.join(''));
    this.#held = [];
  }

  get isCut(): boolean {
    return this.#shown.isCut;
  }

  /** Path of the full text; null while all of it is shown, or when there is no file. */
  get path(): string | null {
    return this.#file && !this.#file.isEmpty ? this.#file.path : null;
  }

  /** What to tell the model about the part it does not see; empty when it sees all. */
  get note(): string {
    if (!this.isCut || !this.#file) return '';
    const problem = this.#problem ?? this.#file.problem;
    if (this.path === null) return `[the full output was ${problem ?? 'not kept'}]`;
    return `[full output${problem && problem !== 'closed' ? ` (${problem})` : ''}: ${this.path}]`;
  }

  close(): void {
    this.#problem = this.#file?.problem;
    this.#file?.close();
    this.#held = [];
    this.#folder = undefined;
  }

  toString(): string {
    return this.#shown.toString();
  }
}
