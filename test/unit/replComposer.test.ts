/** The composer of the terminal chat: keys, words, pastes, history, vi, and rows of a terminal. */
import t from 'tap';
import fc from 'fast-check';
import { painter } from '../../base/paint.ts';
import { Card } from '../../chat/repl/card.ts';
import { Composer } from '../../chat/repl/composer.ts';
import { Flow } from '../../chat/repl/flow.ts';
import { KeyReader, type Key } from '../../chat/repl/keys.ts';
import { cutToCells, textWidth } from '../../chat/width.ts';
import { until } from '../harness/until.ts';

const plain = painter({ isTTY: false });

function composer(options: { history?: string[]; vim?: boolean; complete?: string[] } = {}) {
  const sent: string[] = [];
  const made = new Composer({
    history: [...(options.history ?? [])],
    vim: options.vim ?? false,
    complete: async () => ({ replace_from: 0, items: (options.complete ?? []).map((text) => ({ text, label: text, summary: '' })) }),
    onSubmit: (text) => void sent.push(text),
    onChange() {},
    onPaste: () => false,
  });
  const reader = new KeyReader((key) => made.take(key));
  return { made, sent, type: (data: string) => reader.push(data) };
}

t.test('what a terminal sends becomes keys, however it is cut into pieces', async (t) => {
  const data = 'aé👩‍👩‍👧\u001b[A\u001b[1;5C\u001b[200~two\rlines\u001b[201~\u0003\u001b\r\u001b[13;2u\u001bf\u007f\r';
  const keysOf = (parts: string[]): string[] => {
    const keys: Key[] = [];
    using reader = new KeyReader((key) => void keys.push(key));
    for (const part of parts) reader.push(part);
    const joined: string[] = [];
    for (const { name, text, ctrl, alt, shift } of keys) {
      const word = `${ctrl ? 'ctrl-' : ''}${alt ? 'alt-' : ''}${shift ? 'shift-' : ''}${name}${name === 'text' || name === 'paste' ? `:${text}` : ''}`;
      if (name === 'text' && !alt && joined.at(-1)?.startsWith('text:')) joined[joined.length - 1] += text;
      else joined.push(word);
    }
    return joined;
  };
  const want = ['text:aé👩‍👩‍👧', 'up', 'ctrl-right', 'paste:two\nlines', 'ctrl-c', 'alt-enter', 'shift-enter', 'alt-f', 'backspace', 'enter'];
  t.same(keysOf([data]), want);
  fc.assert(
    fc.property(fc.array(fc.nat(data.length - 1), { maxLength: 6 }), (cuts) => {
      const at = [...new Set(cuts)].toSorted((a, b) => a - b);
      const parts = [...at, data.length].map((end, i) => data.slice(i === 0 ? 0 : at[i - 1], end));
      return JSON.stringify(keysOf(parts)) === JSON.stringify(want);
    }),
  );
});

t.test('a lone escape is a key when nothing follows it', async (t) => {
  const keys: string[] = [];
  using reader = new KeyReader(({ name }) => void keys.push(name));
  reader.push('\u001b');
  await until('the key', () => keys.length === 1);
  t.same(keys, ['escape']);
});

t.test('several lines, moves by words and graphemes, cut and yank', async (t) => {
  const { made, sent, type } = composer();
  type('first\\\rsecond\u001b\rthird\nfourth');
  t.equal(made.value, 'first\nsecond\nthird\nfourth');
  type('\u001b[A\u0001X\u001b[B\u0005!');
  t.equal(made.value, 'first\nsecond\nXthird\nfourth!');
  type('\u0017');
  t.equal(made.value, 'first\nsecond\nXthird\nfourth', 'ctrl-W cuts a word, or a run of signs');
  type('\u0019👩‍👩‍👧\u007f');
  t.equal(made.value, 'first\nsecond\nXthird\nfourth!', 'yank gives it back; an emoji goes as one');
  type('\r');
  t.same(sent, ['first\nsecond\nXthird\nfourth!']);
  t.ok(made.isEmpty);
});

t.test('a large paste is shown short, edited as one, and sent whole', async (t) => {
  const { made, sent, type } = composer();
  const pasted = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  type(`look: \u001b[200~${pasted}\u001b[201~ done`);
  t.match(made.draw(80, plain).rows, ['› look: [pasted 40 lines] done']);
  type('\r');
  t.same(sent, [`look: ${pasted} done`]);
  type(`\u001b[200~${pasted}\u001b[201~\u007f`);
  t.ok(made.isEmpty, 'one backspace takes all of it');
  type('\u001b[200~short\rpaste\u001b[201~');
  t.equal(made.value, 'short\npaste');
});

t.test('history goes up and down and keeps what was being written', async (t) => {
  const { made, type } = composer({ history: ['one', 'two\nlines'] });
  type('draft\u001b[A');
  t.equal(made.value, 'two\nlines');
  type('\u001b[A\u001b[A');
  t.equal(made.value, 'one');
  type('\u001b[B\u001b[B\u001b[B');
  t.equal(made.value, 'draft');
  made.clear();
  type('\u0012on');
  t.match(made.draw(60, plain).rows[0], /search on · one/);
  type('\r');
  t.equal(made.value, 'one');
});

t.test('Tab completes one at once, and shows several', async (t) => {
  const one = composer({ complete: ['/version'] });
  one.type('/ver\t');
  await until('it is completed', () => one.made.value === '/version');
  const several = composer({ complete: ['/queue', '/quit'] });
  several.type('/q\t');
  await until('the menu', () => several.made.draw(60, plain).rows.length === 3);
  t.equal(several.made.value, '/qu');
  several.type('\t\t\r');
  t.equal(several.made.value, '/quit', 'Enter takes what is chosen and sends nothing');
  t.same(several.sent, []);
});

t.test('vi: words, lines, changes, put and undo', async (t) => {
  const cases: { name: string; text: string; keys: string; want: string }[] = [
    { name: 'dw', text: 'one two three', keys: '0dw', want: 'two three' },
    { name: 'dd and p', text: 'a\nb\nc', keys: 'kddp', want: 'a\nc\nb' },
    { name: 'cw', text: 'one two', keys: '0cwsix', want: 'six two' },
    { name: 'cc', text: 'one two', keys: 'ccnew', want: 'new' },
    { name: 'x and p', text: 'ab', keys: '0xp', want: 'ba' },
    { name: 'A', text: 'ab', keys: '0Ac', want: 'abc' },
    { name: 'I', text: 'ab', keys: 'Ic', want: 'cab' },
    { name: 'o', text: 'a\nb', keys: 'kox', want: 'a\nx\nb' },
    { name: 'O', text: 'a\nb', keys: 'Ox', want: 'a\nx\nb' },
    { name: 'D', text: 'one two', keys: '0wD', want: 'one ' },
    { name: 'u', text: 'one two', keys: '0dwu', want: 'one two' },
    { name: 'e', text: 'one two', keys: '0eaX', want: 'oneX two' },
    { name: 'b', text: 'one two', keys: 'bix', want: 'one xtwo' },
    { name: 'd$', text: 'one two', keys: '0d$', want: '' },
    { name: 'hl', text: 'abc', keys: '0lihx', want: 'ahxbc' },
  ];
  for (const { name, text, keys, want } of cases) {
    const { made } = composer({ vim: true });
    made.set(text);
    made.take({ name: 'escape', text: '', ctrl: false, alt: false, shift: false });
    for (const char of keys) made.take({ name: 'text', text: char, ctrl: false, alt: false, shift: false });
    t.equal(made.value, want, name);
  }
});

t.test('rows are as wide as the terminal, wide characters and emoji counted, and the cursor stands where it is', async (t) => {
  t.equal(textWidth('日本 é 👩‍👩‍👧 \u001b[1mbold\u001b[22m'), 4 + 1 + 1 + 1 + 2 + 1 + 4);
  t.equal(cutToCells('日本語', 4), '日…');
  const { made } = composer();
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'word ', '日', '👩‍👩‍👧', '\n', 'é', '\t'), { maxLength: 40 }),
      fc.integer({ min: 20, max: 60 }),
      (parts, columns) => {
        made.set(parts.join(''));
        const { rows, cursor } = made.draw(columns, plain);
        return rows.every((row) => textWidth(row) <= columns) && cursor.row < rows.length && cursor.column <= columns;
      },
    ),
  );
});

t.test('text flows into rows at words, however it is cut; styles are closed at the end of each and no word is lost', async (t) => {
  const flow = new Flow();
  t.same(flow.push('\u001b[1mbold words that go\u001b[22m on\n', 12), ['\u001b[1mbold words\u001b[0m', '\u001b[1mthat go\u001b[22m on']);
  t.same(new Flow().push(' verylongwordindeed日本日本\n', 23), ['', 'verylongwordindeed日本', '日本']);
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', ' ', 'word', '日本', '\n', '\u001b[1m', '\u001b[22m', 'verylongwordindeed'), { maxLength: 60 }),
      fc.integer({ min: 20, max: 40 }),
      (parts, columns) => {
        const text = `${parts.join('')}\u001b[22m\n`;
        const whole = new Flow().push(text, columns);
        const piecewise = new Flow();
        const rows = [...text].flatMap((char) => piecewise.push(char, columns));
        const words = (list: string[]) => list.join('').replaceAll(/\u001b\[\d+m|\s/g, '');
        return whole.every((row) => textWidth(row) <= columns) && words(whole) === words([text]) && words(rows) === words(whole);
      },
    ),
  );
});

t.test('a card takes a number, a letter, the arrows, or a text where one is asked for', async (t) => {
  const said: string[] = [];
  const card = (free?: string, multi = false) =>
    new Card({
      title: ['Which?'],
      options: [{ label: 'red', letter: 'r' }, { label: 'blue' }],
      free,
      multi,
      tone: 'cyan',
      onPick: (indices) => void said.push(indices.join('+')),
      onText: (text) => void said.push(`text ${text}`),
      onCancel: () => void said.push('cancelled'),
    });
  const key = (name: string, text = ''): Key => ({ name, text, ctrl: false, alt: false, shift: false });
  const cases: [Card, Key[], string][] = [
    [card(), [key('text', '2')], ''],
    [card(), [key('text', 'r')], ''],
    [card(), [key('down'), key('enter')], ''],
    [card('write'), [key('enter')], 'green'],
    [card('write'), [key('enter')], '2'],
    [card(undefined, true), [key('text', ' '), key('down'), key('text', ' '), key('enter')], ''],
    [card(), [key('escape')], ''],
  ];
  for (const [one, keys, written] of cases) for (const pressed of keys) one.take(pressed, written);
  t.same(said, ['1', '0', '1', 'text green', '1', '0+1', 'cancelled']);
  t.notOk(card().take(key('enter'), 'neither'), 'what is no answer is left to the composer');
});
