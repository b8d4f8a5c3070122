import fc from 'fast-check';
import t from 'tap';
import { splitMessage, utf8Bytes } from '../../services/gateway/messageText.ts';

t.test('a long text is cut at paragraphs, then lines, then words, then characters', async (t) => {
  const table: { name: string; given: string; max: number; want: string[] }[] = [
    { name: 'fits', given: 'short', max: 10, want: ['short'] },
    { name: 'nothing', given: ' \n ', max: 10, want: [] },
    { name: 'paragraphs', given: 'one one\n\ntwo two\n\nthree', max: 18, want: ['one one\n\ntwo two', 'three'] },
    { name: 'lines', given: 'one one\ntwo two\nthree', max: 15, want: ['one one\ntwo two', 'three'] },
    { name: 'words', given: 'aaa bbb ccc', max: 7, want: ['aaa bbb', 'ccc'] },
    { name: 'characters', given: 'x'.repeat(25), max: 10, want: ['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)] },
    { name: 'an emoji of several code points stays whole', given: 'ab👩‍👩‍👧cd', max: 9, want: ['ab', '👩‍👩‍👧c', 'd'] },
    {
      name: 'an open fence is closed and opened again',
      given: 'look\n```js\nconst a = 1;\nconst b = 2;\n```\ndone',
      max: 34,
      want: ['look\n```js\nconst a = 1;\n```', '```js\nconst b = 2;\n```\ndone'],
    },
  ];
  for (const { name, given, max, want } of table) t.strictSame(splitMessage(given, { max }), want, name);
});

t.test('no part is over the limit in bytes and no letter is lost, whatever the text', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '世', '😀', ' ', '\n', 'word ', '\n\n'), maxLength: 400 });
  fc.assert(
    fc.property(text, fc.integer({ min: 8, max: 90 }), (given, max) => {
      const parts = splitMessage(given, { max, size: utf8Bytes });
      const letters = (value: string) => value.replaceAll(/\s/g, '');
      return parts.every((part) => utf8Bytes(part) <= max) && letters(parts.join('')) === letters(given);
    }),
    { numRuns: 300 },
  );
});
