/** Markdown as it streams: the same styles however the text is cut, and no text lost. */
import t from 'tap';
import fc from 'fast-check';
import { markdownStream } from '../../chat/markdown.ts';

const STYLES = /\u001b\[\d+m/g;
const BOLD = '\u001b[1m';
const BOLD_OFF = '\u001b[22m';
const CYAN = '\u001b[36m';
const CYAN_OFF = '\u001b[39m';

function styled(text: string, cuts: number[] = []): string {
  const stream = markdownStream(true);
  let from = 0;
  let out = '';
  for (const cut of [...cuts, text.length]) {
    out += stream.push(text.slice(from, cut));
    from = cut;
  }
  return out + stream.end();
}

t.test('headings, bold, inline code and code blocks get a style', async (t) => {
  const cases: { name: string; given: string; want: string }[] = [
    { name: 'plain text', given: 'a * b # c', want: 'a * b # c' },
    { name: 'bold', given: 'a **b** c', want: `a ${BOLD}b${BOLD_OFF} c` },
    { name: 'inline code keeps its stars', given: '`a**b`', want: `${CYAN}a**b${CYAN_OFF}` },
    { name: 'a heading', given: '## Title\nbody', want: `${BOLD}Title${BOLD_OFF}\nbody` },
    { name: 'a hash that is no heading', given: '#tag', want: '#tag' },
    { name: 'bold that is never closed ends with its line', given: '**a\nb', want: `${BOLD}a${BOLD_OFF}\nb` },
    {
      name: 'a code block',
      given: '```js\n# x\n**y**\n```\nz',
      want: `\u001b[2m\`\`\`\u001b[22mjs\n${CYAN}# x\n**y**\n${CYAN_OFF}\u001b[2m\`\`\`\u001b[22m\nz`,
    },
  ];
  for (const { name, given, want } of cases) t.equal(styled(given), want, name);
});

t.test('without colour the text passes untouched', async (t) => {
  const stream = markdownStream(false);
  t.equal(stream.push('# a **b** `c`') + stream.end(), '# a **b** `c`');
});

t.test('however the text is cut, the result is the same and every style is closed', async () => {
  const text = fc
    .array(fc.constantFrom('a', ' ', '\n', '*', '**', '`', '```', '#', '# ', 'word'), { maxLength: 40 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.array(fc.nat(60), { maxLength: 8 }), (given, cuts) => {
      const inside = cuts.filter((cut) => cut < given.length).toSorted((a, b) => a - b);
      const whole = styled(given);
      const open = new Set<string>();
      for (const [code] of whole.matchAll(STYLES)) {
        if (code === BOLD_OFF) open.delete('weight');
        else if (code === CYAN_OFF) open.delete('colour');
        else open.add(code === CYAN ? 'colour' : 'weight');
      }
      return styled(given, inside) === whole && open.size === 0;
    }),
  );
});
