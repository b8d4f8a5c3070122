/**
 * Where a prompt is written: several lines, history with search, completion, vi keys, and pastes that are
 * shown short and kept whole. Gives rows to draw; the REPL hands it keys and gets prompts back.
 */
import type { Completions } from '../../ipc/contracts/rpcCommands.ts';
import type { Paint } from '../../base/paint.ts';
import { cellsOf, cutToCells, graphemes, textWidth } from '../width.ts';
import { Editor } from './editor.ts';
import type { Key } from './keys.ts';
import type { Footer } from './screen.ts';
import { Vim } from './vim.ts';

/** Reference, Composer: longer pastes are shown as one word. */
const PASTE_LINES = 5;
const PASTE_CHARS = 2_000;
/** A paste stands in the text as one character of this private block. */
const PASTE_BASE = 0xe000;
const PASTES_MAX = 512;
const PASTE_CHAR = new RegExp(`[${String.fromCharCode(PASTE_BASE)}-${String.fromCharCode(PASTE_BASE + PASTES_MAX - 1)}]`, 'g');
const MENU_ROWS = 8;

export interface ComposerOptions {
  history: string[];
  vim: boolean;
  complete(text: string): Promise<Completions>;
  onSubmit(text: string): void;
  onChange(): void;
  /** A paste that is something else than text (an image); true = taken. */
  onPaste(text: string): boolean;
}

export class Composer {
  readonly editor = new Editor();
  readonly vim: Vim | undefined;
  readonly #options: ComposerOptions;
  #history: string[];
  /** Place in the history; its length = the new prompt, kept in `draft`. */
  #at: number;
  #draft = '';
  #pastes = new Map<string, string>();
  #menu: { items: Completions['items']; from: number; selected: number } | undefined;
  #search: { query: string; at: number } | undefined;
  #asked = 0;

  constructor(options: ComposerOptions) {
    this.#options = options;
    this.#history = options.history;
    this.#at = options.history.length;
    this.vim = options.vim ? new Vim(this.editor) : undefined;
  }

  /** The prompt as it will be sent: pastes whole. */
  get value(): string {
    return this.editor.text.replaceAll(PASTE_CHAR, (char) => this.#pastes.get(char) ?? char);
  }

  get isEmpty(): boolean {
    return this.editor.text === '';
  }

  set(text: string): void {
    this.#pastes.clear();
    this.editor.set(text);
    this.editor.forget();
    this.#menu = undefined;
    this.#search = undefined;
    this.vim?.reset();
    this.#options.onChange();
  }

  remember(text: string): void {
    if (this.#history.at(-1) !== text) this.#history.push(text);
    this.#at = this.#history.length;
  }

  /** Leaves what is open (search, menu), then clears; false when there was nothing. */
  clear(): boolean {
    if (this.#search || this.#menu) {
      this.#search = undefined;
      this.#menu = undefined;
      this.#options.onChange();
      return true;
    }
    if (this.isEmpty) return false;
    this.set('');
    this.#at = this.#history.length;
    return true;
  }

  take(key: Key): void {
    if (this.#search ? this.#takeSearch(key) : this.#takeMenu(key) || this.vim?.take(key) || this.#takeKey(key)) this.#options.onChange();
  }

  // --- keys ---

  #takeKey(key: Key): boolean {
    const { editor } = this;
    const { name, ctrl, alt } = key;
    if (name === 'text' && !alt && !ctrl) return this.#changed(() => editor.insert(key.text));
    if (name === 'paste') return this.#paste(key.text);
    if (name === 'enter') {
      if (alt || key.shift || ctrl) return this.#changed(() => editor.insert('\n'));
      if (editor.text.slice(0, editor.cursor).endsWith('\\') && editor.cursor === editor.text.length) {
        return this.#changed(() => {
          editor.remove(editor.cursor - 1, editor.cursor);
          editor.insert('\n');
        });
      }
      return this.#submit();
    }
    if (name === 'tab') return this.#complete();
    const action = actions[`${ctrl ? 'ctrl-' : ''}${alt ? 'alt-' : ''}${name}`];
    if (action) return this.#changed(() => action(editor));
    if (name === 'up' || (ctrl && name === 'p')) return this.#vertical(-1);
    if (name === 'down' || (ctrl && name === 'n')) return this.#vertical(1);
    if (ctrl && name === 'r') {
      this.#search = { query: '', at: this.#history.length };
      return true;
    }
    return false;
  }

  #changed(work: () => void): true {
    this.#menu = undefined;
    work();
    return true;
  }

  #submit(): true {
    const text = this.value;
    this.set('');
    this.#at = this.#history.length;
    this.#options.onSubmit(text);
    return true;
  }

  #paste(text: string): boolean {
    if (this.#options.onPaste(text)) return true;
    const large = text.split('\n').length > PASTE_LINES || text.length > PASTE_CHARS;
    if (!large || this.#pastes.size >= PASTES_MAX) return this.#changed(() => this.editor.insert(text));
    const char = String.fromCharCode(PASTE_BASE + this.#pastes.size);
    this.#pastes.set(char, text);
    return this.#changed(() => this.editor.insert(char));
  }

  #vertical(direction: -1 | 1): true {
    const to = this.editor.vertical(direction);
    if (to !== undefined) {
      this.editor.cursor = to;
      return true;
    }
    const next = this.#at + direction;
    if (next < 0 || next > this.#history.length) return true;
    if (this.#at === this.#history.length) this.#draft = this.value;
    this.#at = next;
    this.#pastes.clear();
    this.editor.set(next === this.#history.length ? this.#draft : this.#history[next]!);
    return true;
  }

  // --- search in the history ---

  #takeSearch(key: Key): boolean {
    const search = this.#search!;
    const found = this.#found();
    if (key.name === 'escape' || (key.ctrl && key.name === 'g')) this.#search = undefined;
    else if (key.ctrl && key.name === 'r') search.at = found ?? search.at;
    else if (key.name === 'backspace') [search.query, search.at] = [graphemes(search.query).slice(0, -1).join(''), this.#history.length];
    else if (key.name === 'text') [search.query, search.at] = [search.query + key.text, this.#history.length];
    else {
      this.#search = undefined;
      if (found !== undefined) {
        this.#at = found;
        this.editor.set(this.#history[found]!);
      }
      if (key.name !== 'enter' && key.name !== 'tab') this.#takeKey(key);
    }
    return true;
  }

  /** The newest entry before the place of the search that holds its words. */
  #found(): number | undefined {
    const { query, at } = this.#search!;
    const words = query.toLowerCase();
    const index = this.#history.slice(0, at).findLastIndex((entry) => entry.toLowerCase().includes(words));
    return query === '' || index < 0 ? undefined : index;
  }

  // --- completion ---

  #complete(): boolean {
    const before = this.editor.text.slice(0, this.editor.cursor);
    if (!/^\/|@\S*$|^!.*\S$/.test(before)) {
      this.editor.insert('  ');
      return true;
    }
    const asked = ++this.#asked;
    this.#options.complete(before).then(
      ({ items, replace_from }) => {
        if (asked !== this.#asked || this.editor.text.slice(0, this.editor.cursor) !== before) return;
        this.#offer(items, replace_from);
        this.#options.onChange();
      },
      // A worker that is away offers nothing.
      () => {},
    );
    return false;
  }

  #offer(items: Completions['items'], from: number): void {
    if (items.length === 0) return;
    if (items.length === 1) return this.#replace(items[0]!.text, from);
    const typed = this.editor.text.slice(from, this.editor.cursor);
    const common = items.map(({ text }) => text).reduce(commonStart);
    if (common.length > typed.length && common.toLowerCase().startsWith(typed.toLowerCase())) this.#replace(common, from);
    this.#menu = { items, from, selected: -1 };
  }

  #replace(text: string, from: number): void {
    this.editor.remove(from, this.editor.cursor);
    this.editor.insert(text);
  }

  #takeMenu(key: Key): boolean {
    const menu = this.#menu;
    if (!menu) return false;
    const step = key.name === 'tab' ? (key.shift ? -1 : 1) : key.name === 'down' ? 1 : key.name === 'up' ? -1 : 0;
    if (step !== 0) {
      menu.selected = (menu.selected + step + menu.items.length) % menu.items.length;
      this.#replace(menu.items[menu.selected]!.text, menu.from);
      return true;
    }
    this.#menu = undefined;
    // Enter takes what is chosen, and only that.
    return key.name === 'escape' || (key.name === 'enter' && menu.selected >= 0);
  }

  // --- drawing ---

  draw(columns: number, paint: Paint): Footer {
    if (this.#search) return this.#drawSearch(columns, paint);
    const isNormal = this.vim?.mode === 'normal';
    const rows: string[] = [];
    let cursor = { row: 0, column: 2 };
    let row = '';
    let cells = 2;
    let offset = 0;
    const lead = () => (rows.length === 0 ? `${paint('cyan', isNormal ? '‹' : '›')} ` : `${paint('dim', '…')} `);
    const close = () => {
      rows.push(lead() + row);
      row = '';
      cells = 2;
    };
    for (const grapheme of graphemes(this.editor.text)) {
      const paste = this.#pastes.get(grapheme);
      const shown = paste === undefined ? (grapheme === '\t' ? '    ' : grapheme) : pasteLabel(paste);
      const width = paste === undefined && shown.length === 1 ? cellsOf(shown) : textWidth(shown);
      if (grapheme !== '\n' && cells + width > columns) close();
      if (offset === this.editor.cursor) cursor = { row: rows.length, column: cells };
      if (grapheme === '\n') close();
      else {
        row += paste === undefined ? visible(shown) : paint('dim', cutToCells(shown, columns - 3));
        cells += width;
      }
      offset += grapheme.length;
    }
    if (offset === this.editor.cursor) {
      if (cells >= columns) close();
      cursor = { row: rows.length, column: cells };
    }
    close();
    return { rows: [...rows, ...this.#menuRows(columns, paint)], cursor };
  }

  #drawSearch(columns: number, paint: Paint): Footer {
    const { query } = this.#search!;
    const found = this.#found();
    const entry = found === undefined ? '' : this.#history[found]!.replaceAll('\n', ' ⏎ ');
    const head = `${paint('cyan', 'search')} ${query}`;
    const room = Math.max(0, columns - textWidth(head) - 3);
    return {
      rows: [`${head} ${paint('dim', cutToCells(`· ${entry || 'nothing found'}`, room))}`],
      cursor: { row: 0, column: textWidth(head) },
    };
  }

  #menuRows(columns: number, paint: Paint): string[] {
    const menu = this.#menu;
    if (!menu) return [];
    const from = Math.max(0, Math.min(menu.selected - MENU_ROWS + 1, menu.items.length - MENU_ROWS));
    const shown = menu.items.slice(from, from + MENU_ROWS);
    const width = Math.min(32, Math.max(...shown.map(({ label }) => textWidth(label))));
    const rows = shown.map(({ label, summary }, i) => {
      const cut = cutToCells(label, width);
      const line = cutToCells(`  ${cut}${' '.repeat(Math.max(0, width - textWidth(cut)))}  ${summary}`, columns);
      return from + i === menu.selected ? paint('cyan', line) : paint('dim', line);
    });
    const more = menu.items.length - from - shown.length;
    return more > 0 ? [...rows, paint('dim', `  … ${more} more`)] : rows;
  }
}

const pasteLabel = (text: string): string => {
  const lines = text.split('\n').length;
  return lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${text.length} characters]`;
};

// eslint-disable-next-line no-control-regex -- a control character must not move the cursor
const visible = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f]/g, '�');

function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length]?.toLowerCase() === b[length]?.toLowerCase()) length++;
  return a.slice(0, length);
}

/** Moves and changes, as readline has them. */
const actions: Record<string, (editor: Editor) => void> = {
  left: (editor) => (editor.cursor = editor.left()),
  right: (editor) => (editor.cursor = editor.right()),
  'ctrl-b': (editor) => (editor.cursor = editor.left()),
  'ctrl-f': (editor) => (editor.cursor = editor.right()),
  'ctrl-left': (editor) => (editor.cursor = editor.wordLeft()),
  'alt-left': (editor) => (editor.cursor = editor.wordLeft()),
  'alt-b': (editor) => (editor.cursor = editor.wordLeft()),
  'ctrl-right': (editor) => (editor.cursor = editor.wordRight()),
  'alt-right': (editor) => (editor.cursor = editor.wordRight()),
  'alt-f': (editor) => (editor.cursor = editor.wordRight()),
  home: (editor) => (editor.cursor = editor.lineStart()),
  'ctrl-a': (editor) => (editor.cursor = editor.lineStart()),
  end: (editor) => (editor.cursor = editor.lineEnd()),
  'ctrl-e': (editor) => (editor.cursor = editor.lineEnd()),
  backspace: (editor) => editor.remove(editor.left(), editor.cursor),
  delete: (editor) => editor.remove(editor.cursor, editor.right()),
  'alt-backspace': (editor) => editor.remove(editor.wordLeft(), editor.cursor, { keep: true }),
  'ctrl-w': (editor) => editor.remove(editor.wordLeft(), editor.cursor, { keep: true }),
  'alt-d': (editor) => editor.remove(editor.cursor, editor.wordEnd(), { keep: true }),
  'ctrl-u': (editor) => editor.remove(editor.lineStart(), editor.cursor, { keep: true }),
  'ctrl-k': (editor) => editor.remove(editor.cursor, editor.lineEnd(), { keep: true }),
  'ctrl-y': (editor) => editor.insert(editor.cut),
  'ctrl-j': (editor) => editor.insert('\n'),
  'ctrl-_': (editor) => editor.undo(),
};
