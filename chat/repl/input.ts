/** Keys from a terminal in raw mode; or lines, where the terminal cannot draw. */
import { createInterface, type Interface } from 'node:readline';
import { KeyReader, type Key } from './keys.ts';

/** Bracketed paste on and off. */
const PASTE_MODE = { on: '\u001b[?2004h', off: '\u001b[?2004l' };

/** What waited in the terminal arrives within this. */
const EARLY_MS = 60;

export interface Input extends Disposable {
  /** Gives the terminal to another program, and takes it back. */
  suspend(): void;
  resume(): void;
}

export function rawInput(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream, handlers: { onKey(key: Key): void; onEnd(): void }): Input {
  const reader = new KeyReader(handlers.onKey);
  const startedAt = performance.now();
  // Typed while the terminal was not raw yet: it made line feeds of Enter.
  const onData = (data: string) => reader.push(performance.now() - startedAt < EARLY_MS ? data.replaceAll('\n', '\r') : data);
  const resume = (): void => {
    stdin.setRawMode(true);
    stdin.setEncoding('utf8');
    stdin.on('data', onData);
    stdin.resume();
    stdout.write(PASTE_MODE.on);
  };
  const suspend = (): void => {
    stdout.write(PASTE_MODE.off);
    stdin.off('data', onData);
    stdin.pause();
    stdin.setRawMode(false);
  };
  // The terminal itself went away.
  stdin.on('end', handlers.onEnd);
  stdin.on('error', handlers.onEnd);
  process.once('SIGHUP', handlers.onEnd);
  process.once('SIGTERM', handlers.onEnd);
  resume();
  return {
    suspend,
    resume,
    [Symbol.dispose]() {
      reader[Symbol.dispose]();
      suspend();
    },
  };
}

export function lineInput(stdin: NodeJS.ReadStream, handlers: { onLine(line: string): void; onInterrupt(): void; onEnd(): void }): Input {
  let lines: Interface;
  const resume = (): void => {
    lines = createInterface({ input: stdin, terminal: false });
    lines.on('line', handlers.onLine);
    lines.on('close', handlers.onEnd);
  };
  process.on('SIGINT', handlers.onInterrupt);
  resume();
  return {
    suspend() {
      lines.off('close', handlers.onEnd);
      lines.close();
    },
    resume,
    [Symbol.dispose]() {
      process.off('SIGINT', handlers.onInterrupt);
      lines.off('close', handlers.onEnd);
      lines.close();
      stdin.pause();
    },
  };
}
