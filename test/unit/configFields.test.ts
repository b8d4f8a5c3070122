/** The form of config.yaml, held against the schema and the docs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { configDefaults, configForm } from '../../state/config/fields.ts';
import { fieldWords } from '../../state/config/fieldWords.ts';
import { parseConfigText } from '../../state/config/load.ts';
import { Config } from '../../state/config/schema.ts';
import { projectRoot } from '../harness/worker.ts';

const { fields, category_order: order } = configForm();

t.test('every field of the schema has words, and no words stand for a field that is gone', (t) => {
  t.same(
    Object.keys(fields).filter((key) => !fieldWords[key]),
    [],
    'fields without words',
  );
  t.same(
    Object.keys(fieldWords).filter((key) => !fields[key]),
    [],
    'words without a field',
  );
  t.same(
    Object.values(fields)
      .map(({ category }) => category)
      .filter((name) => !order.includes(name)),
    [],
  );
  t.ok(Object.keys(fields).length > 70);
  t.end();
});

t.test('types, bounds, choices and when a change counts come from the schema and the classes', (t) => {
  t.match(fields['dashboard.port'], {
    type: 'number',
    min: 0,
    max: 65_535,
    whole: true,
    default: 9_119,
    applies: 'slot',
    slots: ['dashboard'],
  });
  t.match(fields['compression.threshold'], { type: 'number', min: 0.1, max: 0.95, whole: false });
  t.match(fields['approvals.mode'], { type: 'choice', options: ['manual', 'smart', 'off'], applies: 'live' });
  t.match(fields['agent.disabled_toolsets'], { type: 'list' });
  t.match(fields['model.aliases'], { type: 'map' });
  t.match(fields.providers, { type: 'structure' });
  t.match(fields['memory.enabled'], { type: 'boolean', default: true });
  t.match(fields['supervisor.liveness.kill_ms'], { applies: 'supervisor' });
  t.end();
});

t.test('the defaults are a valid configuration, and the same as docs/configuration.md says', (t) => {
  t.ok(Config.safeParse(configDefaults()).success);
  t.same(parseConfigText('', '').config, {});
  const docs = readFileSync(join(projectRoot, 'docs', 'configuration.md'), 'utf8');
  const rows = [...docs.matchAll(/^\| (`[a-z_.`, ]+`) \| ([^|]+) \|/gm)].flatMap(([, cell, said]) => defaultsOf(cell!, said!));
  t.ok(rows.length > 40, `${rows.length} keys`);
  for (const { key, said } of rows) {
    const value = fields[key]!.default;
    if (value !== null) t.equal(said, String(value), key);
  }
  t.end();
});

/** `a.b`, `c` beside `1, 2`: a.b is 1 and a.c is 2; beside `1` both are 1. */
function defaultsOf(cell: string, said: string): { key: string; said: string }[] {
  const [first = '', ...rest] = [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
  const section = first.split('.').slice(0, -1).join('.');
  const names = [first, ...rest.map((name) => (fields[name] ? name : `${section}.${name}`))];
  const values = said.split(',').map((value) => value.trim().replace(/^`(.*)`$/, '$1'));
  return names.map((key, at) => ({ key, said: (values.length === 1 ? values[0] : values[at]) ?? '' })).filter(({ key }) => fields[key]);
}
