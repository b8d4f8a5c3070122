/** A question on the screen: options to pick, perhaps a free answer. One at a time; keys reach it before the composer. */
import type { Paint } from '../../base/paint.ts';
import { visibleText } from '../../base/visibleText.ts';
import { cutToCells, hardWrap } from '../width.ts';
import type { Key } from './keys.ts';

export interface CardOption {
  label: string;
  /** A letter that picks it at once. */
  letter?: string;
}

export interface CardContent {
  /** Lines above the options, in plain text; the first is the question. */
  title: string[];
  options: CardOption[];
  /** A text of the user's own is an answer too; what it asks for. */
  free?: string | undefined;
  /** Several may be picked with the space bar. */
  multi?: boolean | undefined;
  /** It comes unasked: keys of the first second were meant for something else and are never its answer. */
  guarded?: boolean | undefined;
  /** Style of the frame. */
  tone: 'yellow' | 'cyan';
  onPick(indices: number[]): void;
  onText(text: string): void;
  /** Escape. */
  onCancel(): void;
}

const GUARD_MS = 1_000;
const OPTIONS_SHOWN = 12;
const TITLE_ROWS = 14;

export class Card {
  readonly content: CardContent;
  #selected = 0;
  #picked = new Set<number>();
  #shownAt: number | undefined;
  readonly #now: () => number;

  constructor(content: CardContent, now: () => number = () => performance.now()) {
    this.#now = now;
    // What is asked about is seen as it is: no sign of a stranger hides a part of it or turns it round.
    this.content = {
      ...content,
      title: content.title.map(visibleText),
      options: content.options.map((option) => ({ ...option, label: visibleText(option.label) })),
    };
  }

  /** It is on the screen, in front of the others: keys count once `guardMs` have passed. Answers how long that is. */
  shown(): number {
    this.#shownAt ??= this.#now();
    return this.#guardLeft();
  }

  #guardLeft(): number {
    if (!this.content.guarded) return 0;
    return this.#shownAt === undefined ? GUARD_MS : Math.max(0, this.#shownAt + GUARD_MS - this.#now());
  }

  /** True when the key was the card's. `written` = what stands in the composer. */
  take(key: Key, written: string): boolean {
    // Escape and Enter would do something else elsewhere; letters go on into the composer.
    if (this.#guardLeft() > 0) return key.name === 'escape' || (key.name === 'enter' && written === '');
    const { options, onPick, onCancel, multi, free } = this.content;
    const empty = written === '';
    if (key.name === 'escape') {
      onCancel();
      return true;
    }
    if (empty && options.length > 0 && (key.name === 'up' || key.name === 'down')) {
      this.#selected = (this.#selected + (key.name === 'up' ? -1 : 1) + options.length) % options.length;
      return true;
    }
    if (empty && key.name === 'text' && key.text.length === 1) {
      if (multi && key.text === ' ') {
        if (!this.#picked.delete(this.#selected)) this.#picked.add(this.#selected);
        return true;
      }
      const byLetter = options.findIndex(({ letter }) => letter === key.text.toLowerCase());
      // One digit picks, where no longer number could be meant and no free text is asked for.
      const byNumber = !free && options.length < 10 && /[1-9]/.test(key.text) ? Number(key.text) - 1 : -1;
      const index = byLetter >= 0 ? byLetter : byNumber;
      if (options[index]) {
        onPick([index]);
        return true;
      }
    }
    if (key.name === 'enter' && !key.alt && !key.shift) return this.answer(written);
    return false;
  }

  /** A line as the answer: empty = what is selected, a number, or free text. True when it was one. */
  answer(written: string): boolean {
    const { options, free, multi, onPick, onText } = this.content;
    const text = written.trim();
    if (text === '' && options.length > 0) {
      onPick(multi && this.#picked.size ? [...this.#picked].toSorted((a, b) => a - b) : [this.#selected]);
      return true;
    }
    const numbers = text.split(/[\s,]+/).map(Number);
    const known = numbers.every((number) => Number.isInteger(number) && options[number - 1]);
    if (text !== '' && known && (multi || numbers.length === 1)) {
      onPick(numbers.map((number) => number - 1));
      return true;
    }
    const byLetter = options.findIndex(({ letter, label }) => letter === text.toLowerCase() || label.toLowerCase() === text.toLowerCase());
    if (byLetter >= 0) {
      onPick([byLetter]);
      return true;
    }
    if (free === undefined) return false;
    onText(text);
    return true;
  }

  rows(columns: number, paint: Paint): string[] {
    const { title, options, free, multi, tone } = this.content;
    const bar = `${paint(tone, '│')} `;
    const room = columns - 2;
    const wrapped = title.flatMap((line, i) => hardWrap(line, room).map((row) => (i === 0 ? paint('bold', row) : row)));
    const shown =
      wrapped.length > TITLE_ROWS ? [...wrapped.slice(0, TITLE_ROWS), paint('dim', `… ${wrapped.length - TITLE_ROWS} more rows`)] : wrapped;
    const from = Math.max(0, Math.min(this.#selected - OPTIONS_SHOWN + 1, options.length - OPTIONS_SHOWN));
    const list = options.slice(from, from + OPTIONS_SHOWN).map(({ label, letter }, i) => {
      const index = from + i;
      const mark = multi ? (this.#picked.has(index) ? '[x] ' : '[ ] ') : '';
      const line = cutToCells(`${index === this.#selected ? '❯' : ' '} ${index + 1}. ${mark}${label}${letter ? ` (${letter})` : ''}`, room);
      return index === this.#selected ? paint('cyan', line) : line;
    });
    const more = options.length > OPTIONS_SHOWN ? [paint('dim', `${options.length} in all`)] : [];
    const ways = [...(options.length ? ['↑↓ Enter', ...(multi ? ['space picks several'] : [])] : []), ...(free ? [free] : []), 'Esc'].join(
      ' · ',
    );
    const foot = this.#guardLeft() > 0 ? '…' : ways;
    return [...shown, ...list, ...more, paint('dim', cutToCells(foot, room))].map((row) => bar + row);
  }

  /** For a terminal that cannot draw: everything once, as lines. */
  plain(): string {
    const { title, options, free } = this.content;
    return [
      ...title,
      ...options.map(({ label, letter }, i) => `  ${i + 1}. ${label}${letter ? ` (${letter})` : ''}`),
      ...(free ? [`  ${free}`] : []),
    ].join('\n');
  }
}
