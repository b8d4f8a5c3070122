import t from 'tap';
import { folded, parseQuery, partsOf, snippetOf, wordsOf } from '../../services/agent/searchText.ts';

t.test('text is folded: case, accents and width do not matter', async (t) => {
  t.same(['ÜBERSEE', 'café', 'ＡＢＣ１', 'Ǆ', 'İstanbul', '数据'].map(folded), ['ubersee', 'cafe', 'abc1', 'dz', 'istanbul', '数据']);
});

t.test('words are runs of letters and digits; scripts without spaces are pairs and single characters', async (t) => {
  t.same(wordsOf('foo.bar_1, baz-2'), ['foo', 'bar_1', 'baz', '2']);
  t.same(wordsOf('见数据库a'), ['见数', '数据', '据库', '见', '数', '据', '库', 'a']);
  t.equal(wordsOf('x'.repeat(500))[0]!.length, 64);
  t.same(wordsOf('… — !'), []);
});

t.test('parts leave out scripts without spaces and keep the rest as it stands', async (t) => {
  t.equal(partsOf('foo.bar  数据 baz'), 'foo.bar baz');
});

t.test('a query asks for all its terms; quotes keep a phrase together; what cannot be asked is null', async (t) => {
  const cases: { query: string; want: ReturnType<typeof parseQuery> }[] = [
    {
      query: 'Deploy NOW',
      want: { terms: ['deploy', 'now'], words: '"deploy" AND "now"', parts: '"dep" AND "epl" AND "plo" AND "loy" AND "now"' },
    },
    { query: '"a b" x', want: { terms: ['a b', 'x'], words: '"a" AND "b" AND "x"', parts: null } },
    { query: '数据库', want: { terms: ['数据库'], words: '"数据" AND "据库"', parts: null } },
    { query: '库', want: { terms: ['库'], words: '"库"', parts: null } },
    { query: '*** ok', want: { terms: ['***', 'ok'], words: null, parts: '"***"' } },
    { query: '   " ', want: { terms: [], words: null, parts: null } },
  ];
  for (const { query, want } of cases) t.same(parseQuery(query), want, query);
});

t.test('every query is harmless to the index: operators and quotes are text', async (t) => {
  for (const query of ['a AND b OR c NOT d', 'NEAR(a b)', 'col:x', '"unclosed', "it's", 'x*', '^y', '{z}', '((('])
    t.doesNotThrow(() => parseQuery(query), query);
});

t.test('a snippet is one line around the first place', async (t) => {
  const text = `${'before '.repeat(50)}the Needle\nstands here${' after'.repeat(50)}`;
  const snippet = snippetOf(text, ['needle']);
  t.match(snippet, /^….*the Needle stands here.*…$/);
  t.ok(snippet.length < 210);
  t.equal(snippetOf('short', ['absent']), 'short');
});
