/**
 * What a child prints, kept through everything: a named pipe whose both ends are open for reading and
 * writing, so neither the child's end nor ours breaks it. While no supervisor reads, the pipe holds what
 * fits and the next supervisor reads it (stack §4). Lines go to the slot's log and to a bounded tail.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, fstatSync, lstatSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';

export interface Output extends Disposable {
  /** Descriptor for the child's stdout and stderr; open until disposed. */
  readonly writeFd: number;
  /** The last lines of the current incarnation, oldest first. */
  tail(): string[];
  /** Starts a new tail: called at each spawn. */
  reset(): void;
  /** Tells every line from now on; answers how to stop. Only while somebody waits for one: it costs. */
  onLine(listener: (line: string) => void): () => void;
}

/** Opens (and makes, if need be) the pipe of a slot. Errors: HOME_UNUSABLE. */
export function openOutput(path: string, onLine: (line: string) => void): Output {
  makePipe(path);
  const writeFd = openSync(path, constants.O_RDWR);
  const readFd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const reader = new Socket({ fd: readFd, readable: true, writable: false });
  reader.unref();
  reader.on('error', () => {});
  let tail: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const take = (line: string) => {
    const kept = line.length > limits.supervisor.tailLineMaxChars ? `${line.slice(0, limits.supervisor.tailLineMaxChars)}…` : line;
    tail.push(kept);
    if (tail.length > limits.supervisor.tailLinesMax) tail.shift();
    onLine(kept);
    for (const listener of listeners) listener(kept);
  };
  const lines = splitLines(take);
  reader.on('data', lines);
  return {
    writeFd,
    tail: () => [...tail],
    reset: () => (tail = []),
    onLine(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.dispose]() {
      reader.destroy();
      closeSync(writeFd);
    },
  };
}

/** Cuts a byte stream into lines; a line longer than the limit is passed on in pieces rather than held. */
function splitLines(take: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (chunk) => {
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = parts.pop()!;
    for (const line of parts) take(line);
    if (rest.length > limits.logs.lineMaxBytes) {
      take(rest);
      rest = '';
    }
  };
}

function makePipe(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFIFO()) return;
  if (found) rmSync(path, { recursive: true, force: true });
  try {
    execFileSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' });
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFIFO()) throw new Error('it is not a pipe');
    closeSync(fd);
  } catch (cause) {
    throw new AgentError('HOME_UNUSABLE', `cannot make the pipe ${path}`, {
      cause,
      fix: 'use a home on a local file system that allows named pipes',
    });
  }
}
