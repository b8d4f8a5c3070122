import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keepParsed, readParsed } from '../../state/config/parsedConfig.ts';
import { testHome } from '../harness/home.ts';

const built = { version: '1.0.0', code: 'abc', root: '', built: true, codeRoot: '' };
const loaded = {
  config: { timezone: 'UTC' },
  ineffective: [{ path: 'config.yaml', line: 1, column: 1, key: 'x', message: 'x has no effect', fix: 'remove it' }],
};

t.test('a parsed configuration is taken again for the same text and the same release only', async (t) => {
  using home = testHome();
  const path = join(home.root, 'parsed.json');
  keepParsed(path, 'text', built, loaded);
  const cases = [
    { name: 'the same', given: readParsed(path, 'text', built), want: loaded },
    { name: 'another text', given: readParsed(path, 'text ', built), want: undefined },
    { name: 'another release', given: readParsed(path, 'text', { ...built, code: 'def' }), want: undefined },
    { name: 'from sources, which change without another id', given: readParsed(path, 'text', { ...built, built: false }), want: undefined },
  ];
  for (const { name, given, want } of cases) t.strictSame(given, want, name);
  writeFileSync(path, '{"key":');
  t.equal(readParsed(path, 'text', built), undefined, 'half a file');
});

t.test('what JSON cannot say is not kept', async (t) => {
  using home = testHome();
  const path = join(home.root, 'parsed.json');
  keepParsed(path, 'text', built, { config: { limit: Number.POSITIVE_INFINITY }, ineffective: [] });
  t.equal(readParsed(path, 'text', built), undefined);
});
