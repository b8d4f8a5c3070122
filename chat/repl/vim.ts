/** vi keys in the composer (`display.vim_mode`): insert and normal mode, the moves and changes people use in one prompt. */
import type { Editor } from './editor.ts';
import type { Key } from './keys.ts';

export class Vim {
  mode: 'insert' | 'normal' = 'insert';
  readonly #editor: Editor;
  /** `d` or `c` waits for where to. */
  #pending: 'd' | 'c' | '' = '';

  constructor(editor: Editor) {
    this.#editor = editor;
  }

  /** True when the key was vi's to handle. */
  take(key: Key): boolean {
    const editor = this.#editor;
    if (key.name === 'escape') {
      this.#pending = '';
      if (this.mode === 'insert' && editor.cursor > editor.lineStart()) editor.cursor = editor.left();
      this.mode = 'normal';
      return true;
    }
    if (this.mode === 'insert' || key.name !== 'text') return false;
    for (const char of key.text) {
      // Typed in one go: what follows `i` is text.
      if ((this.mode as string) === 'insert') editor.insert(char);
      else this.#command(char);
    }
    return true;
  }

  /** A new prompt begins where one writes. */
  reset(): void {
    this.mode = 'insert';
    this.#pending = '';
  }

  #command(char: string): void {
    const editor = this.#editor;
    if (this.#pending) return this.#operate(this.#pending, char);
    if (char === 'd' || char === 'c') {
      this.#pending = char;
      return;
    }
    const to = this.#motion(char);
    if (to !== undefined) {
      editor.cursor = to;
      return;
    }
    this.#edit(char);
  }

  /** Where a move goes; undefined = no move. */
  #motion(char: string): number | undefined {
    const editor = this.#editor;
    switch (char) {
      case 'h':
        return Math.max(editor.left(), editor.lineStart());
      case 'l':
      case ' ':
        return Math.min(editor.right(), editor.lineEnd());
      case 'j':
        return editor.vertical(1) ?? editor.cursor;
      case 'k':
        return editor.vertical(-1) ?? editor.cursor;
      case 'w':
        return editor.wordRight();
      case 'b':
        return editor.wordLeft();
      case 'e': {
        const at = editor.cursor;
        editor.cursor = editor.right();
        const end = editor.wordEnd();
        editor.cursor = at;
        return Math.max(at, end - 1);
      }
      case '0':
        return editor.lineStart();
      case '^':
        return editor.lineStart() + /^\s*/.exec(editor.text.slice(editor.lineStart(), editor.lineEnd()))![0].length;
      case '$':
        return editor.lineEnd();
      case 'G':
        return editor.text.length;
      default:
        return undefined;
    }
  }

  #edit(char: string): void {
    const editor = this.#editor;
    const insert = (at: number) => {
      editor.mark();
      editor.cursor = at;
      this.mode = 'insert';
    };
    switch (char) {
      case 'x':
        return editor.remove(editor.cursor, Math.min(editor.right(), editor.lineEnd()), { keep: true });
      case 'D':
        return editor.remove(editor.cursor, editor.lineEnd(), { keep: true });
      case 'C':
        editor.remove(editor.cursor, editor.lineEnd(), { keep: true });
        return insert(editor.cursor);
      case 'i':
        return insert(editor.cursor);
      case 'a':
        return insert(Math.min(editor.right(), editor.lineEnd()));
      case 'A':
        return insert(editor.lineEnd());
      case 'I':
        return insert(this.#motion('^')!);
      case 'o':
        editor.cursor = editor.lineEnd();
        editor.insert('\n');
        return insert(editor.cursor);
      case 'O': {
        editor.cursor = editor.lineStart();
        editor.insert('\n');
        return insert(editor.cursor - 1);
      }
      case 'u':
        return editor.undo();
      case 'p':
      case 'P':
        return this.#put(char === 'p');
      default:
    }
  }

  /** Cut lines go below or above; anything else goes after or before the cursor. */
  #put(after: boolean): void {
    const editor = this.#editor;
    if (editor.cut.endsWith('\n')) {
      const end = editor.lineEnd();
      const at = after ? Math.min(end + 1, editor.text.length) : editor.lineStart();
      const missing = after && end === editor.text.length;
      editor.cursor = at;
      editor.insert(missing ? `\n${editor.cut.slice(0, -1)}` : editor.cut);
      editor.cursor = missing ? at + 1 : at;
      return;
    }
    if (after) editor.cursor = Math.min(editor.right(), editor.lineEnd());
    editor.insert(editor.cut);
  }

  #operate(operator: 'd' | 'c', char: string): void {
    const editor = this.#editor;
    this.#pending = '';
    if (char === operator) {
      const start = editor.lineStart();
      const end = editor.lineEnd();
      const whole = editor.text.slice(start, end);
      if (operator === 'c') editor.remove(start, end, { keep: true });
      else editor.remove(end < editor.text.length ? start : Math.max(0, start - 1), Math.min(end + 1, editor.text.length), { keep: true });
      editor.cut = `${whole}\n`;
      if (operator === 'd') editor.cursor = editor.lineStart(Math.min(editor.cursor, editor.text.length));
      else this.mode = 'insert';
      return;
    }
    const at = editor.cursor;
    // As in vi, `cw` leaves the space behind the word.
    const to = operator === 'c' && char === 'w' ? editor.wordEnd() : this.#motion(char);
    if (to === undefined) return;
    const end = char === 'e' ? to + 1 : to;
    editor.remove(Math.min(at, end), Math.max(at, end), { keep: true });
    if (operator === 'c') this.mode = 'insert';
  }
}
