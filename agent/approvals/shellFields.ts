/**
 * Words of a parsed command line as the shell would make them: quotes and escapes gone, known variables put
 * in, braces multiplied, unquoted values split. What only the run can know stands as UNKNOWN in the text.
 */
import type { Command, ParsedScript, Word, WordPart } from 'unbash';

/** One argument. Its text may hold UNKNOWN and, with `glob`, the signs of a pattern. */
export interface Field {
  text: string;
  glob: boolean;
}

/** Stands for text that cannot be known; a real argument cannot hold it. */
export const UNKNOWN = '\u0000';

export const isKnown = ({ text, glob }: Field): boolean => !glob && !text.includes(UNKNOWN);
export const plain = (text: string): Field => ({ text, glob: false });

/** What the words of one shell may refer to. */
export interface Scope {
  home: string;
  /** Undefined after a `cd` to somewhere unknown. */
  cwd: string | undefined;
  vars: Map<string, string>;
  aliases: Map<string, readonly Field[]>;
}

type Piece = { text: string; kind: 'whole' | 'split' | 'glob' };

/** Words that one brace expression may become before it counts as unknown. */
const BRACES_MAX = 64;

export function fieldsOf(word: Word, scope: Scope): Field[] {
  const lists = word.parts ? piecesOf(word.parts, scope) : [[{ text: word.value, kind: 'whole' } as Piece]];
  const tilde = tildeOf(word, scope);
  return lists.flatMap((pieces) => joined(tilde === undefined ? pieces : withTilde(pieces, tilde)));
}

/** A value that is not split: of an assignment, a redirection, a here-string. */
export function textOf(word: Word, scope: Scope): Field {
  const fields = fieldsOf(word, scope);
  return { text: fields.map(({ text }) => text).join(' '), glob: fields.some(({ glob }) => glob) };
}

/** Text of a here-document. */
export function bodyText(text: string, parts: readonly WordPart[] | undefined, scope: Scope): string {
  if (!parts) return text;
  return (piecesOf(parts, scope)[0] ?? []).map((piece) => piece.text).join('');
}

/** One list of pieces for each alternative of the braces in a word. */
function piecesOf(parts: readonly WordPart[], scope: Scope): Piece[][] {
  let lists: Piece[][] = [[]];
  for (const part of parts) {
    if (part.type !== 'BraceExpansion') {
      const piece = pieceOf(part, scope);
      for (const list of lists) list.push(piece);
      continue;
    }
    const alternatives = braces(part.text);
    if (lists.length * alternatives.length > BRACES_MAX) return [[{ text: UNKNOWN, kind: 'split' }]];
    lists = lists.flatMap((list) => alternatives.map((piece) => [...list, piece]));
  }
  return lists;
}

const split = (text: string): Piece => ({ text, kind: 'split' });
const whole = (text: string): Piece => ({ text, kind: 'whole' });

function pieceOf(part: WordPart, scope: Scope): Piece {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return whole(part.value);
    case 'DoubleQuoted':
    case 'LocaleString':
      return whole(part.parts.map((child) => pieceOf(child, scope).text).join(''));
    case 'SimpleExpansion':
      return split(valueOf(part.text.slice(1), scope));
    case 'ParameterExpansion':
      return split(part.operation || part.prefix || part.index ? UNKNOWN : valueOf(part.parameter, scope));
    case 'CommandExpansion':
      return split(outputOf(part.script, scope));
    case 'Glob':
      return { text: part.text, kind: 'glob' };
    case 'ExtendedGlob':
      return { text: '*', kind: 'glob' };
    case 'ProcessSubstitution':
      return whole(`/dev/fd/${UNKNOWN}`);
    default:
      return split(UNKNOWN);
  }
}

function valueOf(name: string, { vars, home, cwd }: Scope): string {
  if (name === 'IFS') return vars.has('IFS') ? UNKNOWN : ' ';
  const known = vars.get(name);
  if (known !== undefined) return known;
  if (name === 'HOME') return home;
  if (name === 'PWD') return cwd ?? UNKNOWN;
  return UNKNOWN;
}

/** What `$(echo …)` and `$(printf word)` print; anything else is unknown. */
function outputOf(script: ParsedScript | undefined, scope: Scope): string {
  const only = script?.commands.length === 1 ? script.commands[0]!.command : undefined;
  return (only?.type === 'Command' ? printed(wordsOf(only, scope)) : undefined)?.trimEnd() ?? UNKNOWN;
}

/** What a command that only prints its arguments prints. */
export function printed(fields: readonly Field[]): string | undefined {
  const [name, ...rest] = fields;
  if (!rest.every(isKnown)) return undefined;
  const texts = rest.map(({ text }) => text);
  if (name?.text === 'echo') {
    const options = texts.findIndex((text) => !/^-[neE]+$/.test(text));
    return (options < 0 ? [] : texts.slice(options)).join(' ');
  }
  if (name?.text !== 'printf') return undefined;
  const [format = '', ...values] = texts;
  if (/^%s(\\n)?$/.test(format)) return values.join('\n');
  return values.length === 0 && !/[%\\]/.test(format.replace(/\\n/g, '')) ? format.replaceAll('\\n', '\n') : undefined;
}

/** Name and arguments; assignments after the name are words as well (`export A=b`). */
export function wordsOf(command: Command, scope: Scope): Field[] {
  const args = command.args.flatMap((arg) =>
    arg.type === 'Word'
      ? fieldsOf(arg, scope)
      : [plain(`${arg.name}=${arg.value.type === 'Word' ? textOf(arg.value, scope).text : UNKNOWN}`)],
  );
  return command.name ? [...fieldsOf(command.name, scope), ...args] : args;
}

/** `{a,b}` as pieces; nested ones are not worked out. */
function braces(text: string): Piece[] {
  const inner = text.slice(1, -1);
  if (/[{}$`'"\\]/.test(inner)) return [split(UNKNOWN)];
  const range = /^(.+?)\.\.(.+?)(?:\.\..*)?$/.exec(inner);
  if (range) return [whole(range[1]!), whole(range[2]!)];
  return inner.split(',').map(whole);
}

/** Replacement of a leading `~`, where it is one. */
function tildeOf({ text }: Word, { home, cwd }: Scope): { from: string; to: string } | undefined {
  const from = /^~[^/]*/.exec(text)?.[0];
  if (from === undefined) return undefined;
  if (from === '~') return { from, to: home };
  if (from === '~+') return { from, to: cwd ?? UNKNOWN };
  if (!/^~[A-Za-z_][\w-]*$/.test(from)) return undefined;
  return { from, to: from === '~root' ? '/root' : `/home/${from.slice(1)}` };
}

function withTilde(pieces: Piece[], { from, to }: { from: string; to: string }): Piece[] {
  const [first, ...rest] = pieces;
  if (!first?.text.startsWith(from)) return pieces;
  return [{ ...first, text: to + first.text.slice(from.length) }, ...rest];
}

/** Pieces put together; unquoted values fall apart at white space. */
function joined(pieces: readonly Piece[]): Field[] {
  const fields: Field[] = [];
  let open: Field | undefined;
  for (const { text, kind } of pieces) {
    if (kind !== 'split') {
      open = { text: (open?.text ?? '') + text, glob: (open?.glob ?? false) || kind === 'glob' };
      continue;
    }
    const parts = text.split(/[ \t\n]+/);
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        if (open) fields.push(open);
        open = undefined;
      }
      if (part !== '') open = { text: (open?.text ?? '') + part, glob: (open?.glob ?? false) || /[*?[]/.test(part) };
    }
  }
  if (open) fields.push(open);
  return fields;
}
