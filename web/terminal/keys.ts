/** Keys as a terminal is told of them. */

export type Key = 'Esc' | 'Tab' | 'Up' | 'Down' | 'Left' | 'Right' | '|' | '/' | '-' | '~';

const arrows: Partial<Record<Key, string>> = { Up: 'A', Down: 'B', Right: 'C', Left: 'D' };

/** `application`: the program has asked for the other form of the arrow keys. */
export function sequenceOf(key: Key, application: boolean): string {
  if (key === 'Esc') return '\u001B';
  if (key === 'Tab') return '\t';
  const arrow = arrows[key];
  return arrow === undefined ? key : `\u001B${application ? 'O' : '['}${arrow}`;
}

/** What Control makes of a key; text of several letters stays as it is. */
export function controlOf(data: string): string {
  if (!/^[@-_a-z ?]$/.test(data)) return data;
  return data === '?' ? '\u007F' : String.fromCharCode(data.toUpperCase().charCodeAt(0) & 0x1f);
}
