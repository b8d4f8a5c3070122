/** Temporary files of writers that were killed: removed once they are old, and nothing else is. */
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sweepTempFiles } from '../../state/atomicFile.ts';
import { testHome } from '../harness/home.ts';

t.test('old temporary files go; young ones and files of the user stay', async (t) => {
  using home = testHome();
  const old = ['config.yaml.0123abcd.tmp', '.env.0123abcd0123abcd.tmp', 'notes.tmp', 'config.yaml'];
  for (const name of [...old, 'status.json.89abcdef.tmp']) writeFileSync(join(home.root, name), 'x');
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const name of old) utimesSync(join(home.root, name), longAgo, longAgo);
  sweepTempFiles(home.root);
  const left = readdirSync(home.root).filter((name) => name.includes('tmp') || name === 'config.yaml');
  t.same(left.toSorted(), ['config.yaml', 'notes.tmp', 'status.json.89abcdef.tmp']);
});
