/** One simple command as the rules see it: its name, its arguments, and questions about them that know "maybe". */
import { isKnown, UNKNOWN, type Field, type Scope } from './shellFields.ts';
import { pathOf, type Places } from './places.ts';

export interface Finding {
  /** Ends as "…: <reason>" for a person. */
  reason: string;
  /** Never allowed. */
  blocked?: true | undefined;
  /** What `session` and `always` allow; undefined = this time only. */
  rule?: string | undefined;
}

/** What a command reads from its standard input. */
export type Input = { kind: 'none' } | { kind: 'text'; text: string } | { kind: 'pipe'; from: string };

/** `maybe`: an argument that cannot be known might be it. */
export type Perhaps = boolean | 'maybe';

export class Call {
  readonly name: string;
  readonly args: readonly Field[];
  readonly scope: Scope;
  readonly places: Places;
  readonly input: Input;

  constructor(name: string, args: readonly Field[], { scope, places, input }: { scope: Scope; places: Places; input: Input }) {
    this.name = name;
    this.args = args;
    this.scope = scope;
    this.places = places;
    this.input = input;
  }

  /** Short letters and long names (GNU takes their unique beginnings). */
  flag(letters: string, ...long: string[]): Perhaps {
    let found: Perhaps = false;
    for (const { text } of this.args) {
      if (text === '--') return found;
      if (text.startsWith(UNKNOWN)) found = 'maybe';
      else if (text.startsWith('--')) {
        const name = text.slice(2).split('=')[0]!;
        if (name.includes(UNKNOWN)) found = 'maybe';
        else if (name.length > 1 && long.some((full) => full.startsWith(name))) return true;
      } else if (text.startsWith('-') && text.length > 1) {
        if (Array.from(text.slice(1)).some((letter) => letters.includes(letter))) return true;
        if (text.includes(UNKNOWN)) found = 'maybe';
      }
    }
    return found;
  }

  /** An argument that is one of these words. */
  word(...words: string[]): Perhaps {
    if (this.args.some(({ text }) => words.includes(text))) return true;
    return this.args.some((arg) => arg.text.startsWith(UNKNOWN)) ? 'maybe' : false;
  }

  /** Arguments that are no options. */
  get operands(): readonly Field[] {
    const end = this.args.findIndex(({ text }) => text === '--');
    const free = end < 0 ? [] : this.args.slice(end + 1);
    return [...(end < 0 ? this.args : this.args.slice(0, end)).filter(({ text }) => !text.startsWith('-') || text === '-'), ...free];
  }

  /** The first operand, when it is known. */
  get sub(): string | undefined {
    const first = this.operands[0];
    return first && isKnown(first) ? first.text : undefined;
  }

  path(field: Field): string | undefined {
    return pathOf(field, this.scope.cwd);
  }

  /** Everything it says, in one text. */
  get text(): string {
    return this.args.map(({ text }) => text).join(' ');
  }
}
