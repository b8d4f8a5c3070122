/** Changing `.env`: what is written is what is read, and the rest of the file stays. */
import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import t from 'tap';
import { readEnvVariables, setEnvValue, unsetEnvValue } from '../../state/envFile.ts';
import { envRows, envVariables } from '../../state/envVariables.ts';
import { testHome } from '../harness/home.ts';

const TEXT = `# keys
OPENAI_API_KEY=sk-old # the old one
export QUOTED="two
lines" # after
EMPTY=

TWICE=1
TWICE=2
LAST=no-newline`;

t.test('every value comes back as it went in', async (t) => {
  using home = testHome({ '.env': TEXT });
  const values = [
    'plain', 'with space', 'a#b', ' # lead', 'two\nlines', "it's", 'say "x"', '`tick`', "it's `both`", `'"`, 'back\\slash', '\\n', '$HOME ${X}',
    '=', 'ünïcödé ✓', '\ttab', 'trailing ', "-----BEGIN KEY-----\nab'c+/=\n-----END KEY-----\n",
  ]; // prettier-ignore
  for (const value of values) {
    await setEnvValue(home.env, 'NEW', value);
    t.equal(parseEnv(readFileSync(home.env, 'utf8')).NEW, value, JSON.stringify(value));
    t.match(readEnvVariables(home.env), { OPENAI_API_KEY: 'sk-old', QUOTED: 'two\nlines', LAST: 'no-newline' });
  }
  t.equal(statSync(home.env).mode & 0o777, 0o600);
});

t.test('a change keeps comments and order; a removal takes every line of that name', async (t) => {
  using home = testHome({ '.env': TEXT });
  t.same(await setEnvValue(home.env, 'QUOTED', 'one'), { replaced: true });
  t.same(await setEnvValue(home.env, 'TWICE', '3'), { replaced: true });
  t.match(
    readFileSync(home.env, 'utf8'),
    /# keys\nOPENAI_API_KEY=sk-old # the old one\nQUOTED=one\nEMPTY=\n\nTWICE=1\nTWICE=3\nLAST=no-newline$/,
  );
  t.same(await unsetEnvValue(home.env, 'TWICE'), { removed: true });
  t.same(await unsetEnvValue(home.env, 'TWICE'), { removed: false });
  t.notMatch(readFileSync(home.env, 'utf8'), 'TWICE');
  await Promise.all(Array.from({ length: 20 }, (_, n) => setEnvValue(home.env, `MANY_${n}`, String(n))));
  t.equal(Object.keys(readEnvVariables(home.env)).filter((name) => name.startsWith('MANY_')).length, 20, 'writers wait for each other');
});

t.test('what cannot be kept, or has no effect there, is refused and nothing is written', async (t) => {
  using home = testHome({ '.env': TEXT });
  const refused = [
    ['1BAD', 'x'],
    ['A-B', 'x'],
    ['__proto__ ', 'x'],
    ['OK', ''],
    ['OK', 'nul\0'],
    ['OK', 'carriage\rreturn'],
    ['OK', `all three ' " \``],
    ['OK', 'x'.repeat(40_000)],
    ['NODE_OPTIONS', '--require=/tmp/x.js'],
    ['LD_PRELOAD', '/tmp/x.so'],
    ['AGENT_HOME', '/tmp'],
  ] as const;
  for (const [name, value] of refused) await t.rejects(setEnvValue(home.env, name, value), { code: 'ENV_INVALID' }, name);
  t.equal(readFileSync(home.env, 'utf8'), TEXT);
});

t.test('rows say what is set, by what it is named, and never a value that is a secret', (t) => {
  const file = { OPENAI_API_KEY: 'sk-1234567890abcdefghij', OWN: 'also-secret', AGENT_DASHBOARD_OIDC_SCOPES: 'openid' };
  const config = { providers: { box: { key_env: 'BOX_KEY', pool: ['BOX_KEY_2'], headers: { 'X-Team': '${TEAM}' } } } };
  const rows = envRows(file, config, { ANTHROPIC_API_KEY: 'from-outside' });
  t.match(rows.OPENAI_API_KEY, {
    is_set: true,
    source: 'env_file',
    redacted_value: '••••ghij',
    is_password: true,
    custom: false,
    url: /^https:/,
  });
  t.match(rows.ANTHROPIC_API_KEY, { is_set: true, source: 'environment', redacted_value: '••••' });
  t.match(rows.OWN, { custom: true, redacted_value: '••••', is_password: true });
  t.match(rows.BOX_KEY, { is_set: false, used_by: ['providers.box.key_env'], category: 'providers' });
  t.match(rows.BOX_KEY_2, { used_by: ['providers.box.pool.0'] });
  t.match(rows.TEAM, { used_by: ['providers.box.headers.X-Team'] });
  t.match(rows.AGENT_DASHBOARD_OIDC_SCOPES, { redacted_value: 'openid' });
  for (const secret of ['sk-1234', 'also-secret', 'from-outside']) t.notMatch(JSON.stringify(rows), secret);
  t.ok(Object.keys(envVariables).length >= 15);
  t.end();
});
