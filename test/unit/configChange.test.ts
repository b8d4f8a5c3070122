/** Changing config.yaml from a form or an editor: by path, with masks, against a version. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { AgentError } from '../../base/errors.ts';
import { changeConfig, changeConfigText, versionOf } from '../../state/config/change.ts';
import { dottedKey, mergePatch } from '../../state/config/diff.ts';
import { parseKeyPath, parseValue, replaceConfigText, setConfigValue } from '../../state/config/edit.ts';
import { createMasks, MARK } from '../../state/config/mask.ts';
import { addMcpServer, readMcpServers, removeMcpServer, setMcpServerEnabled } from '../../state/config/mcpServers.ts';
import { disabledToolsets, switchToolset } from '../../state/config/toolsets.ts';
import { readEnvVariables } from '../../state/envFile.ts';
import { testHome } from '../harness/home.ts';

const TEXT = `# who answers
model:
  default: gpt-5   # the usual one
  provider: box
providers:
  box:
    base_url: "http://127.0.0.1:8080/v1" # key is sk-comment-1234567890abcdef
    headers: { Authorization: "Bearer abc123def456ghi7", X-Team: "\${TEAM}" }
mcp_servers:
  notes: { command: notes, env: { NOTES_TOKEN: plain-token-1, HOME_DIR: /srv } }
platforms:
  irc: { channels: ["#a", "#b"], password: hunter22 }
`;
const masks = createMasks(['value-of-env-99']);
const rules = { masks };

t.test('a patch changes what it names and nothing else: comments, order and other keys stay', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  const { changed, restarts, restart_required, version } = await changeConfig(
    home.config,
    { values: { model: { default: 'gpt-6' }, logging: { level: 'debug' }, database: { x: 1 }, platforms: { irc: { channels: ['#c'] } } } },
    rules,
  );
  const after = readFileSync(home.config, 'utf8');
  t.match(after, /# who answers\nmodel:\n {2}default: gpt-6 +# the usual one\n {2}provider: box/);
  t.match(after, /hunter22/);
  t.same(
    changed.map(({ key, applies }) => [key, applies]),
    [
      ['model.default', 'live'],
      ['platforms.irc.channels', 'slot'],
      ['logging', 'slot'],
      ['database', 'supervisor'],
    ],
  );
  t.ok(restarts.includes('gateway') && restarts.includes('agent'));
  t.same(restart_required, ['database']);
  t.equal(version, versionOf(after));
  const none = await changeConfig(home.config, { values: { model: { default: 'gpt-6' } } }, rules);
  t.same([none.changed, none.version], [[], version], 'nothing changed, nothing written');
});

t.test('null removes, with the section that it was the last of; a whole document removes what it leaves out', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  await changeConfig(home.config, { values: { model: { default: null, provider: null }, platforms: null } }, rules);
  const after = readFileSync(home.config, 'utf8');
  t.notMatch(after, /^model:|platforms/m);
  t.match(after, /mcp_servers/);
  await changeConfig(home.config, { values: { cron: { max_parallel_jobs: 2 } }, whole: true }, rules);
  t.equal(readFileSync(home.config, 'utf8').replaceAll(/#.*\n/g, '').trim(), 'cron:\n  max_parallel_jobs: 2');
});

t.test('secrets are masked in values and text; a mask that comes back keeps them, one without anything behind it is refused', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  const hidden = masks.hideText(TEXT);
  for (const secret of ['abc123def456ghi7', 'plain-token-1', 'hunter22', 'sk-comment']) t.notMatch(hidden, secret);
  t.match(hidden, /\$\{TEAM\}[\s\S]*HOME_DIR: \/srv/, 'what is no secret is shown');
  t.equal(masks.hide('see value-of-env-99'), MARK, 'a value of .env written here by mistake');
  await changeConfigText(home.config, hidden.replace('gpt-5', 'gpt-6'), rules);
  t.equal(readFileSync(home.config, 'utf8').replaceAll('"', ''), TEXT.replace('gpt-5', 'gpt-6').replaceAll('"', ''));
  const values = { platforms: { irc: { password: MARK, channels: ['#x'] } } };
  await changeConfig(home.config, { values }, rules);
  t.match(readFileSync(home.config, 'utf8'), /"#x"[\s\S]*hunter22|hunter22[\s\S]*"#x"/);
  await t.rejects(changeConfig(home.config, { values: { providers: { new: { headers: { 'X-Key': MARK } } } } }, rules), {
    code: 'CONFIG_KEY',
    message: /providers\.new\.headers\.X-Key/,
  });
  await t.rejects(changeConfigText(home.config, `model: {}\nplatforms:\n  slack: { token: "${MARK}" }\n`, rules), {
    code: 'CONFIG_INVALID',
    facts: { problem: { line: 3, key: 'platforms.slack.token' } },
  });
});

t.test('a secret is not taken into config.yaml, neither by path nor as text; the name of a variable is', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  const refused = [
    { platforms: { slack: { bot_token: 'xoxb-not-here-1' } } },
    { providers: { box: { headers: { Authorization: 'Bearer zzz999yyy888xxx' } } } },
    { quick_commands: { a: { type: 'exec', command: 'curl -H value-of-env-99' } } },
  ];
  for (const values of refused) {
    await t.rejects(changeConfig(home.config, { values }, rules), {
      code: 'CONFIG_KEY',
      field: /^(platforms|providers|quick_commands)\./,
      fix: /agent env set/,
    });
  }
  await t.rejects(changeConfigText(home.config, `${TEXT}web: { search: { api_key: abc } }\n`, rules), { code: 'CONFIG_KEY' });
  t.equal(readFileSync(home.config, 'utf8'), TEXT);
  await changeConfig(
    home.config,
    { values: { platforms: { slack: { bot_token: '${SLACK}' } }, providers: { box: { key_env: 'BOX_KEY' } } } },
    rules,
  );
  t.match(readFileSync(home.config, 'utf8'), /\$\{SLACK\}/);
});

t.test('a secret over several lines is masked and kept too', async (t) => {
  const text = 'platforms:\n  matrix:\n    key_secret: |\n      line one of it\n      line two of it\n    enabled: true\n';
  using home = testHome({ 'config.yaml': text });
  const hidden = masks.hideText(text);
  t.notMatch(hidden, /line one/);
  t.match(hidden, /enabled: true/);
  await changeConfigText(home.config, hidden.replace('true', 'false'), rules);
  const after = readFileSync(home.config, 'utf8');
  t.match(after, /line one of it\\nline two of it\\n/);
  t.match(after, /enabled: false/);
});

t.test('nobody saves over what somebody else wrote meanwhile', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  const expected = versionOf(TEXT);
  await changeConfig(home.config, { values: { model: { default: 'gpt-6' } } }, { masks, expected });
  const now = readFileSync(home.config, 'utf8');
  await t.rejects(changeConfig(home.config, { values: { model: { default: 'gpt-7' } } }, { masks, expected }), { code: 'CONFIG_CHANGED' });
  await t.rejects(changeConfigText(home.config, TEXT, { masks, expected }), { code: 'CONFIG_CHANGED' });
  await t.rejects(replaceConfigText(home.config, 'model: {}\n', TEXT), { code: 'CONFIG_CHANGED', fix: /agent config edit/ });
  t.equal(readFileSync(home.config, 'utf8'), now);
});

t.test('bombs, oversized and invalid text are refused with the place, and the file stays', async (t) => {
  using home = testHome({ 'config.yaml': TEXT });
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((name, at) => `${name}: &${name} [${`*${'abcdefgh'[at]},`.repeat(10)}]`)
    .join('\n')}\n`;
  await t.rejects(changeConfigText(home.config, bomb, rules), { code: 'CONFIG_INVALID', fix: /aliases/ });
  await t.rejects(changeConfigText(home.config, `#${'x'.repeat(1_100_000)}`, rules), {
    code: 'CONFIG_INVALID',
    facts: { problem: { line: 1 } },
  });
  await t.rejects(changeConfigText(home.config, 'a: b: c\n', rules), { code: 'CONFIG_INVALID', facts: { problem: { line: 1 } } });
  await t.rejects(changeConfigText(home.config, 'model: {}\ndashboard:\n  port: many\n', rules), {
    code: 'CONFIG_INVALID',
    facts: { problem: { line: 3, column: 9, key: 'dashboard.port' } },
  });
  await t.rejects(changeConfig(home.config, { values: { dashboard: { port: 'many' } } }, rules), { code: 'CONFIG_INVALID' });
  await t.rejects(changeConfig(home.config, { values: { dashboard: { port: 1 } } }, rules), { code: 'CONFIG_LOCKOUT', message: /port 1/ });
  t.equal(readFileSync(home.config, 'utf8'), TEXT);
});

t.test('a file that is broken now can be replaced as text, and not changed by path', async (t) => {
  using home = testHome({ 'config.yaml': 'a: [\n' });
  await t.rejects(changeConfig(home.config, { values: { timezone: 'UTC' } }, rules), { code: 'CONFIG_INVALID' });
  await changeConfigText(home.config, 'timezone: UTC\n', rules);
  t.equal(readFileSync(home.config, 'utf8'), 'timezone: UTC\n');
});

t.test('keys are written as they are read; a merge leaves its base alone', (t) => {
  for (const path of [
    ['a', 'b.c', 'd\\e'],
    ['list', 0, 'x'],
  ])
    t.same(parseKeyPath(dottedKey(path)), path);
  const base = { a: { b: 1 } };
  t.same(mergePatch(base, { a: { c: [1] }, d: null }), { a: { b: 1, c: [1] } });
  t.same(base, { a: { b: 1 } });
  t.end();
});

t.test('two switches of one list at once are both heard; a list that is as wanted is not written', async (t) => {
  using home = testHome({ 'config.yaml': '# mine\nagent: { max_turns: 5 }\n' });
  await Promise.all(['terminal', 'web', 'memory'].map((name) => switchToolset(home.config, name, false)));
  t.same(disabledToolsets(home.config).toSorted(), ['memory', 'terminal', 'web']);
  const { before, after } = await switchToolset(home.config, 'web', true);
  t.same([before.length, after.length], [3, 2]);
  const text = readFileSync(home.config, 'utf8');
  await switchToolset(home.config, 'web', true);
  t.equal(readFileSync(home.config, 'utf8'), text);
});

const withToken = (name: string, bearerToken: string) => ({
  name,
  url: `https://${name.length}.example/mcp`,
  auth: 'header' as const,
  bearerToken,
});

t.test('each MCP server keeps a secret of its own, however alike their names are, and leaves with it', async (t) => {
  using home = testHome({ 'config.yaml': 'mcp_servers: { by.hand: { command: notes } }\n', '.env': 'MCP_A_B_TOKEN=older\n' });
  const first = await addMcpServer(home, withToken('a-b', 'first-token-1'));
  const second = await addMcpServer(home, withToken('a_b', 'second-token-2'));
  const env = () => readEnvVariables(home.env);
  t.same([first.variables, second.variables], [['MCP_A_B_TOKEN_2'], ['MCP_A_B_TOKEN_3']]);
  t.same(env(), { MCP_A_B_TOKEN: 'older', MCP_A_B_TOKEN_2: 'first-token-1', MCP_A_B_TOKEN_3: 'second-token-2' });
  t.same(second.settings.headers, { Authorization: 'Bearer ${MCP_A_B_TOKEN_3}' });
  t.same((await removeMcpServer(home, 'a-b')).variables, ['MCP_A_B_TOKEN_2']);
  t.same(env(), { MCP_A_B_TOKEN: 'older', MCP_A_B_TOKEN_3: 'second-token-2' });
  await setMcpServerEnabled(home, 'by.hand', false);
  t.same(readMcpServers(home)['by.hand'], { command: 'notes', enabled: false });
});

t.test('an address is stored without its credentials: those of the query in .env, those before the host are refused', async (t) => {
  using home = testHome({ 'config.yaml': '' });
  const url = 'https://example.org/mcp?region=eu&token=T0ken%2Bvalue&api_key=${MINE}#part';
  const { settings, variables } = await addMcpServer(home, { name: 'notes', url });
  t.equal(settings.url, 'https://example.org/mcp?region=eu&token=${MCP_NOTES_TOKEN}&api_key=${MINE}#part');
  t.same(variables, ['MCP_NOTES_TOKEN']);
  t.same(readEnvVariables(home.env), { MCP_NOTES_TOKEN: 'T0ken%2Bvalue' }, 'as it is written in the address');
  t.notMatch(readFileSync(home.config, 'utf8'), 'T0ken');
  t.same((await removeMcpServer(home, 'notes')).variables, ['MCP_NOTES_TOKEN']);
  const refused = addMcpServer(home, { name: 'in', url: 'https://u:hunter22@example.org/mcp' });
  await t.rejects(refused, { code: 'INVALID_PARAMS', field: 'url', fix: /header/ });
  t.notMatch(readFileSync(home.config, 'utf8'), 'hunter22');
});

t.test('whatever writes a secret is refused, and the advice works as it is written', async (t) => {
  using home = testHome({ 'config.yaml': '' });
  const refused: [key: string, value: string, variable: string, advice?: [key: string, value: string]][] = [
    ['providers.box.api_key', 'sk-1234567890abcdefghij', 'PROVIDERS_BOX_API_KEY', ['providers.box.key_env', 'PROVIDERS_BOX_API_KEY']],
    [
      'providers.box.headers.Authorization',
      'Bearer sk-abcdefghijklmnopqrst',
      'PROVIDERS_BOX_HEADERS_AUTHORIZATION',
      ['providers.box.headers.Authorization', 'Bearer ${PROVIDERS_BOX_HEADERS_AUTHORIZATION}'],
    ],
    ['providers.box.headers.X-Api-Key', 'opaque', 'PROVIDERS_BOX_HEADERS_X_API_KEY'],
    ['providers.box', '{headers: {authorization: opaque}}', 'PROVIDERS_BOX_HEADERS_AUTHORIZATION'],
    ['mcp_servers.notes.env.NOTES_TOKEN', 'opaque', 'MCP_SERVERS_NOTES_ENV_NOTES_TOKEN'],
    ['mcp_servers.notes.url', 'https://example.org/?region=${EU}&token=opaque', 'MCP_SERVERS_NOTES_URL'],
    ['platforms.irc.password', '12345678', 'IRC_PASSWORD'],
    ['OPENAI_API_KEY', 'sk-abc', 'OPENAI_API_KEY'],
  ];
  for (const [key, value, variable, advice] of refused) {
    const thrown = await setConfigValue(home.config, key, parseValue(value), { force: true }).catch(
      (cause: unknown) => cause as AgentError,
    );
    t.match(thrown, { code: 'CONFIG_KEY', field: key }, key);
    const { message, fix } = thrown as AgentError;
    t.notMatch(message + fix, /opaque|sk-|12345/, key);
    t.match(fix, `agent env set ${variable}\``, key);
    if (!advice) continue;
    t.match(fix, `agent config set ${advice[0]}`);
    t.match(fix, advice[1]);
    await setConfigValue(home.config, advice[0], parseValue(advice[1]));
  }
  t.notMatch(readFileSync(home.config, 'utf8'), /opaque|sk-|12345/);
});
