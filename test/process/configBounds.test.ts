/** Configuration documents that would take long to parse are refused at every entrance, and quickly. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { changeConfigText } from '../../state/config/change.ts';
import { replaceConfigText, setConfigValue } from '../../state/config/edit.ts';
import { loadConfig, parseConfigText } from '../../state/config/load.ts';
import { createMasks } from '../../state/config/mask.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';

const keys = (count: number) => Array.from({ length: count }, (_, n) => `key${n}: value`).join('\n');
const anchors = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: &a${n} [${n ? `*a${n - 1}` : ''}]`).join('\n');

const hostile: Record<string, string> = {
  'one map with 60,000 keys': keys(60_000),
  '20,000 chained anchors': anchors(20_000),
  '400,000 explicit keys': '? '.repeat(400_000),
  '400,000 nested lists': `a: ${'['.repeat(400_000)}`,
  'a million lines': '\n'.repeat(1_000_000),
  'a long list': `a: [${'x,'.repeat(400_000)}]`,
  'more bytes than a configuration has': `# ${'x'.repeat(limits.state.configMaxBytes)}`,
};

/** Far above what refusing takes (0.2 s), far below what parsing takes. */
const QUICK_MS = 3_000;

async function codeOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (thrown) {
    return thrown instanceof AgentError ? thrown.code : thrown;
  }
}

for (const [name, text] of Object.entries(hostile)) {
  t.test(`${name}: refused when the file is loaded, replaced or changed`, async (t) => {
    using home = testHome({ 'config.yaml': 'model: { default: demo:rehearsal }\n' });
    const path = home.config;
    const masks = createMasks([]);
    const begun = performance.now();
    t.equal(await codeOf(() => parseConfigText(text, path)), 'CONFIG_INVALID');
    t.equal(await codeOf(() => changeConfigText(path, text, { masks })), 'CONFIG_INVALID');
    t.equal(await codeOf(() => replaceConfigText(path, text)), 'CONFIG_INVALID');
    home.write('config.yaml', text);
    t.equal(await codeOf(() => setConfigValue(path, 'model.default', 'x')), 'CONFIG_INVALID');
    t.match(loadConfig(home, home).problem, { line: /\d/, fix: /\w/ });
    t.ok(performance.now() - begun < 5 * QUICK_MS);
  });
}

t.test('PUT /api/config and /raw answer quickly, and the dashboard keeps serving', { timeout: 120_000 }, async (t) => {
  using home = testHome({ 'config.yaml': '{}\n' });
  await using dashboard = await startDashboard(home);
  const put = (path: string, body: unknown) =>
    dashboard.ask(path, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const begun = performance.now();
  const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`key${n}`, 'v']));
  t.equal((await put('/api/config', { config: { toolsets: many } })).status, 422);
  for (const name of ['constructor', 'prototype'])
    t.equal((await put('/api/config', { config: JSON.parse(`{"${name}":{"a":1}}`) as unknown })).status, 422, name);
  for (const text of Object.values(hostile)) {
    const { status } = await put('/api/config/raw', { yaml_text: text });
    t.ok(status === 400 || status === 413, String(status));
  }
  t.equal((await put('/api/config/raw', { yaml_text: 'constructor: { a: 1 }\n' })).status < 500, true);
  t.ok(performance.now() - begun < 10 * QUICK_MS);
  t.equal((await dashboard.ask('/api/config')).status, 200);
});

t.test('what people write passes: long prompts, comments, a few anchors', async (t) => {
  const prompt = '  Look at: the [log], {status} & *all* of - it?\n'.repeat(3_000);
  const text = `# ${'a comment: with signs & more\n# '.repeat(2_000)}\nx: &one 1\ny: *one\nprompt: |\n${prompt}`;
  t.same(parseConfigText(text, 'config.yaml').config, { ...parseConfigText(text, 'config.yaml').config });
});

t.test('two documents and control characters are named with their line', async (t) => {
  const problemOf = (text: string) => {
    using home = testHome({ 'config.yaml': text });
    t.equal(readFileSync(home.config, 'utf8'), text);
    return loadConfig(home, home).problem;
  };
  t.match(problemOf('a: 1\n---\nb: 2\n'), { line: 2, fix: /---/ });
  t.match(problemOf('a: 1\nb: "x\0y"\n'), { line: 2, message: /control character/ });
});
