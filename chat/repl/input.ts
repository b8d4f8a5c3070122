/**
 * The line editor of the REPL on node:readline: prompts of several lines (a trailing backslash, or a
 * paste), history, and a prompt that goes away while an answer streams (typing ahead is kept).
 */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

export interface InputOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  prompt: string;
  /** Shown before the second and later lines of one prompt. */
  more: string;
  history: string[];
  complete(line: string): string[];
  /** A whole prompt, its lines joined; `shown` = it stands on the screen as it was typed. */
  onPrompt(text: string, shown: boolean): void;
  /** ctrl-C; `hasText` = a line is being edited. True drops it. */
  onInterrupt(hasText: boolean): boolean;
  onEnd(): void;
}

export class PromptInput implements Disposable {
  readonly #options: InputOptions;
  readonly #lines: Interface;
  #hidden = true;
  #parts: string[] = [];
  /** Lines of one paste arrive in one turn of the loop: they belong together. */
  #burst: string[] = [];
  #closed = false;

  constructor(options: InputOptions) {
    this.#options = options;
    const { stdin, stdout } = options;
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#hidden) stdout.write(chunk as Buffer);
        done();
      },
    });
    Object.defineProperty(output, 'columns', { get: () => stdout.columns });
    this.#lines = createInterface({
      input: stdin,
      output,
      terminal: stdin.isTTY,
      prompt: options.prompt,
      history: options.history.toReversed(),
      historySize: options.history.length + 1_000,
      removeHistoryDuplicates: true,
      completer: (line: string) => [options.complete(line), line],
    });
    this.#lines.on('line', (line) => this.#take(line));
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#lines.on('close', () => {
      this.#closed = true;
      this.#deliver();
      options.onEnd();
    });
  }

  /** Shows the prompt with what has been typed so far. */
  show(): void {
    if (this.#closed) return;
    this.#hidden = false;
    this.#lines.setPrompt(this.#parts.length ? this.#options.more : this.#options.prompt);
    this.#lines.prompt(true);
  }

  /** Takes the prompt off the screen; keys are still read. */
  hide(): void {
    if (this.#hidden) return;
    const { rows } = this.#lines.getCursorPos();
    this.#options.stdout.write(`${rows > 0 ? `\u001b[${rows}A` : ''}\r\u001b[J`);
    this.#hidden = true;
  }

  [Symbol.dispose](): void {
    this.hide();
    this.#closed = true;
    this.#lines.close();
  }

  #take(line: string): void {
    this.#burst.push(line);
    if (this.#burst.length === 1) setImmediate(() => this.#deliver());
  }

  #deliver(): void {
    const lines = this.#burst.splice(0);
    if (lines.length === 0) return;
    const last = lines.at(-1)!;
    const continues = last.endsWith('\\') && !this.#closed;
    this.#parts.push(...lines.map((line) => (line.endsWith('\\') ? line.slice(0, -1) : line)));
    if (continues) return this.#hidden ? undefined : this.show();
    const text = this.#parts.splice(0).join('\n');
    this.#options.onPrompt(text, !this.#hidden);
  }

  #interrupt(): void {
    const hasText = this.#lines.line !== '' || this.#parts.length > 0;
    if (!this.#options.onInterrupt(hasText)) return;
    this.#parts = [];
    // As the editor itself does it: to the end of the line, then everything before it goes.
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    if (!this.#hidden) this.show();
  }
}
