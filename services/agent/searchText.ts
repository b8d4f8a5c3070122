/**
 * Text as the search index sees it, and queries against it: folded (no case, no accents), split into
 * words, scripts without spaces into pairs of characters, everything else also into three-letter parts.
 * Pure.
 */
import { limits } from '../../base/limits.ts';

/** Characters of scripts that write without spaces: Han, kana, hangul, Thai, Lao, Khmer, Burmese. */
const DENSE =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const dense = new RegExp(`[${DENSE}]+`, 'gu');
const tokens = new RegExp(`[${DENSE}]+|(?:(?![${DENSE}])[\\p{L}\\p{N}_])+`, 'gu');
const isDense = new RegExp(`^[${DENSE}]`, 'u');
const ASCII = /^[\0-\x7f]*$/;

/** Lower case without accents; full-width forms become plain ones. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
    .toLowerCase();
}

/** What is searched of a message: its text and the arguments of its tool calls, up to a bound. */
export function searchedText({ content, tool_calls }: { content: string; tool_calls: string | null }): string {
  const text = content.slice(0, limits.search.textMaxChars);
  return tool_calls ? `${text}\n${tool_calls.slice(0, limits.search.callsMaxChars)}` : text;
}

/** Words of a folded text, separated by blanks; runs of scripts without spaces as pairs and single characters. */
export function wordsOf(text: string): string[] {
  const found: string[] = [];
  for (const [run] of text.matchAll(tokens)) {
    if (isDense.test(run)) found.push(...pairs(run), ...run);
    else found.push(run.slice(0, limits.search.wordMaxChars));
  }
  return found;
}

/** A folded text for the index of parts: scripts without spaces stand in the words already. */
export const partsOf = (text: string): string => text.replace(dense, ' ').replace(/\s+/g, ' ');

function pairs(run: string): string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

export interface Query {
  /** Folded; each must be found somewhere in the text. */
  terms: string[];
  /** For the index of words; null when a term has no word in it. */
  words: string | null;
  /** For the index of parts; null when no term has three letters. */
  parts: string | null;
}

/** `deploy "exact phrase" 数据`: every term must be there; a term may be a part of a word. */
export function parseQuery(text: string): Query {
  const terms = Array.from(text.matchAll(/"([^"]+)"|(\S+)/g), ([, phrase, word]) => folded(phrase ?? word!).trim())
    .filter((term) => term !== '' && term !== '"')
    .slice(0, limits.search.termsMax);
  const words = terms.flatMap(queryWords);
  const parts = terms.flatMap((term) => partsOf(term).trim().split(' ').flatMap(threes));
  return {
    terms,
    words: terms.length > 0 && terms.every((term) => queryWords(term).length > 0) ? matchAll(words) : null,
    parts: parts.length > 0 ? matchAll(parts) : null,
  };
}

/** A run of a script without spaces is asked for by its pairs; a single character by itself. */
function queryWords(term: string): string[] {
  return Array.from(term.matchAll(tokens), ([run]) => run).flatMap((run) => {
    if (!isDense.test(run)) return [run.slice(0, limits.search.wordMaxChars)];
    return Array.from(run).length === 1 ? [run] : pairs(run);
  });
}

function threes(run: string): string[] {
  const characters = Array.from(run);
  const starts = Array.from({ length: Math.max(0, characters.length - 2) }, (_, index) => index);
  return starts.slice(0, limits.search.partsMax).map((start) => characters.slice(start, start + 3).join(''));
}

const matchAll = (words: readonly string[]): string => [...new Set(words)].map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ');

/** One line around the first place where a term stands. */
export function snippetOf(text: string, terms: readonly string[]): string {
  const whole = folded(text);
  // Folding may change lengths: then only the case is changed, and the place may be missed.
  const lower = whole.length === text.length ? whole : text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const from = Math.max(0, Math.min(...(places.length ? places : [0])) - limits.search.snippetBeforeChars);
  const to = Math.min(text.length, from + limits.search.snippetMaxChars);
  const line = text.slice(from, to).replace(/\s+/g, ' ').trim();
  return `${from > 0 ? '…' : ''}${line}${to < text.length ? '…' : ''}`;
}
