/** From what a terminal sends to keys: named keys, runs of text, and pastes kept whole. */

export interface Key {
  /** `text`, `paste`, `enter`, `left`, `c` with `ctrl`, … */
  name: string;
  /** Of `text` and `paste`. */
  text: string;
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
}

const PASTE_ON = '\u001b[200~';
const PASTE_OFF = '\u001b[201~';
/** A lone escape is the key when nothing follows it for so long. */
const ESCAPE_MS = 40;
/** What may still become a sequence. */
// eslint-disable-next-line no-control-regex -- sequences of terminals
const UNFINISHED = /^\u001b(?:\[[\d;<>?]*|O)?$/;
// eslint-disable-next-line no-control-regex -- sequences of terminals
const SEQUENCE = /^\u001b(?:\[([\d;<>?]*)([A-Za-z~])|O([A-Za-z]))/;

const finals: Record<string, string> = { A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end', Z: 'tab' };
const numbers: Record<string, string> = { '1': 'home', '3': 'delete', '4': 'end', '5': 'pageup', '6': 'pagedown', '7': 'home', '8': 'end' };
const controls: Record<string, string> = { '\r': 'enter', '\t': 'tab', '\u007f': 'backspace', '\b': 'backspace' };

const key = (name: string, more: Partial<Key> = {}): Key => ({ name, text: '', ctrl: false, alt: false, shift: false, ...more });

export class KeyReader implements Disposable {
  readonly #onKey: (key: Key) => void;
  #buffer = '';
  #escape: NodeJS.Timeout | undefined;

  constructor(onKey: (key: Key) => void) {
    this.#onKey = onKey;
  }

  push(data: string): void {
    clearTimeout(this.#escape);
    this.#buffer += data;
    while (this.#buffer !== '' && this.#next());
    if (this.#buffer.startsWith('\u001b') && !this.#buffer.startsWith(PASTE_ON))
      this.#escape = setTimeout(() => {
        this.#buffer = '';
        this.#onKey(key('escape'));
      }, ESCAPE_MS);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#escape);
  }

  /** Takes one key off the buffer; false = it needs more. */
  #next(): boolean {
    const buffer = this.#buffer;
    if (buffer.startsWith(PASTE_ON)) {
      const end = buffer.indexOf(PASTE_OFF);
      if (end < 0) return false;
      const text = buffer.slice(PASTE_ON.length, end).replaceAll(/\r\n?/g, '\n');
      return this.#emit(end + PASTE_OFF.length, key('paste', { text }));
    }
    if (buffer.startsWith('\u001b')) return this.#sequence(buffer);
    // eslint-disable-next-line no-control-regex -- everything up to the next control character is text
    const text = /^[^\u0000-\u001f\u007f]+/.exec(buffer)?.[0];
    if (text !== undefined) return this.#emit(text.length, key('text', { text }));
    const char = buffer[0]!;
    return this.#emit(1, controlKey(char));
  }

  #sequence(buffer: string): boolean {
    const match = SEQUENCE.exec(buffer);
    if (match) return this.#emit(match[0].length, sequenceKey(match[1] ?? '', match[2] ?? match[3]!));
    if (UNFINISHED.test(buffer)) return false;
    const rest = buffer.slice(1);
    if (rest.startsWith('\u001b')) return this.#emit(1, key('escape'));
    // Alt and a key: escape, then the key itself.
    const char = rest[0]!;
    const plain = controls[char] ?? (char < ' ' ? undefined : char.toLowerCase());
    return this.#emit(2, plain === undefined ? { ...controlKey(char), alt: true } : key(plain, { alt: true, text: char }));
  }

  #emit(length: number, found: Key): true {
    this.#buffer = this.#buffer.slice(length);
    this.#onKey(found);
    return true;
  }
}

function controlKey(char: string): Key {
  const named = controls[char];
  if (named) return key(named);
  if (char === '\n') return key('j', { ctrl: true });
  return key(String.fromCharCode(char.charCodeAt(0) + 96).toLowerCase(), { ctrl: true });
}

function sequenceKey(numbersText: string, final: string): Key {
  const parts = numbersText.split(';');
  // xterm: `27;<modifier>;<code>~`; kitty: `<code>;<modifier>u`.
  const modified = final === '~' && parts[0] === '27';
  const modifier = Number((modified ? parts[1] : parts[1]) ?? 1) - 1;
  const held = { shift: (modifier & 1) > 0, alt: (modifier & 2) > 0, ctrl: (modifier & 4) > 0 };
  if (modified || final === 'u') {
    const code = Number(modified ? parts[2] : parts[0]);
    const name = { 13: 'enter', 9: 'tab', 27: 'escape', 127: 'backspace' }[code] ?? String.fromCodePoint(code || 32).toLowerCase();
    return key(name, held);
  }
  if (final === 'Z') return key('tab', { shift: true });
  const name = final === '~' ? numbers[parts[0]!] : finals[final];
  return key(name ?? 'unknown', held);
}
