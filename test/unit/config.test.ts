import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { getConfigValue, parseKeyPath, parseValue, replaceConfigText, setConfigValue } from '../../state/config/edit.ts';
import { configProblems, loadConfig, parseConfigText, rememberGood, type ConfigProblem } from '../../state/config/load.ts';
import { testHome } from '../harness/home.ts';
import { projectRoot } from '../harness/worker.ts';

function problemOf(text: string): Pick<ConfigProblem, 'line' | 'column' | 'key' | 'message' | 'fix'> | undefined {
  try {
    parseConfigText(text, '/c.yaml');
    return undefined;
  } catch (thrown) {
    return (thrown as { facts: { problem: ConfigProblem } }).facts.problem;
  }
}

t.test('a wrong value names the key, line and column, and what it takes', async (t) => {
  const table: [text: string, want: Partial<Record<keyof ConfigProblem, unknown>>][] = [
    ['model: gpt-5\n', { line: 1, column: 8, key: 'model', fix: 'model takes a map of keys' }],
    ['# comment\n\ndashboard:\n  port: high\n', { line: 4, column: 9, key: 'dashboard.port', fix: 'dashboard.port takes a number' }],
    ['timezone: Mars/X\n', { line: 1, column: 11, key: 'timezone', message: /Europe\/Berlin/ }],
    ['dashboard: { port: 70000 }\n', { line: 1, column: 20, key: 'dashboard.port', fix: /at most 65535/ }],
    ['dashboard: { port: 80.5 }\n', { key: 'dashboard.port', fix: 'dashboard.port takes a whole number' }],
    [
      'logging:\n  level: loud\n',
      { line: 2, column: 10, key: 'logging.level', fix: 'write one of debug, info, warn, error, fatal for logging.level' },
    ],
    [
      'platforms:\n  irc:\n    enabled: "yes"\n',
      { line: 3, column: 14, key: 'platforms.irc.enabled', fix: 'platforms.irc.enabled takes true or false' },
    ],
    [
      'platforms:\n  irc:\n    allowed_users: "*"\n',
      { line: 3, column: 20, fix: 'platforms.irc.allowed_users takes a list, for example [a, b]' },
    ],
    ['mcp_servers: [a]\n', { line: 1, column: 14, key: 'mcp_servers', fix: 'mcp_servers takes a map of names' }],
    ['mcp_servers:\n  s: { url: "ftp://x" }\n', { line: 2, column: 13, key: 'mcp_servers.s.url' }],
    ['mcp_servers:\n  s:\n', { line: 2, key: 'mcp_servers.s', fix: 'mcp_servers.s takes a map of keys' }],
    [
      'services:\n  bridge:\n    args: []\n',
      {
        line: 3,
        key: 'services.bridge.command',
        message: 'services.bridge.command is missing; services.bridge needs it',
        fix: 'write services.bridge.command too (a string), or leave out services.bridge',
      },
    ],
    [
      'platform_toolsets:\n  irc: [a, 5]\n',
      { line: 2, column: 12, key: 'platform_toolsets.irc.1', fix: 'platform_toolsets.irc.1 takes a string' },
    ],
    ['platform_toolsets:\n  irc: 5\n', { line: 2, column: 8, fix: 'platform_toolsets.irc takes a string or a list, for example [a, b]' }],
  ];
  for (const [text, want] of table) t.match(problemOf(text), want, text);
});

t.test('what is no YAML names the place, and what to do', async (t) => {
  const table: [text: string, want: Partial<Record<keyof ConfigProblem, unknown>>][] = [
    ['model:\n  default: [a, b\n', { line: 3, column: 1 }],
    ['a: 1\n\tb: 2\n', { line: 2 }],
    ['model: {}\nmodel: {}\n', { line: 2, column: 1, message: /unique/ }],
    ['platforms:\n  irc: {}\n  irc: {}\n', { line: 3, column: 3, message: /unique/ }],
    ['a: *nowhere\n', { message: /nowhere/ }],
    ['a: 1\n---\nb: 2\n', { line: 2, fix: /---/ }],
    ['- a\n- b\n', { line: 1, column: 1, message: /not a map/ }],
    ['just words\n', { line: 1, column: 1, message: /not a map/ }],
    ['"open\n', { line: 2 }],
    ['['.repeat(50_000), { line: 1 }],
    [
      `a: &a [${'x,'.repeat(50)}]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]\n`,
      { message: /alias/i, fix: /fewer than 100 aliases/ },
    ],
  ];
  for (const [text, want] of table) t.match(problemOf(text), { ...want, fix: want.fix ?? /./ }, text.slice(0, 40));
  t.throws(() => parseConfigText('a: [', '/home/x/config.yaml'), { code: 'CONFIG_INVALID', message: /^\/home\/x\/config\.yaml:1:5: / });
});

t.test('empty files and empty sections are fine; unknown keys are kept and named', async (t) => {
  t.same(
    ['', '# nothing\n', '---\n', '{}\n', 'model:\n', 'mcp_servers:\nplatforms: ~\n'].map(problemOf),
    Array.from({ length: 6 }, () => undefined),
  );
  const { config, ineffective } = parseConfigText('modle: { default: x }\nmemory: {}\nmodel: { default: y, colour: blue }\n', 'c');
  t.same(
    ineffective.map(({ key }) => key),
    ['modle', 'model.colour'],
  );
  t.match(config, { modle: { default: 'x' }, model: { default: 'y', colour: 'blue' } });
});

t.test('a file that cannot be used leaves the last good one in force', async (t) => {
  using home = testHome({ 'config.yaml': 'dashboard: { port: 1 }\n' });
  t.same(loadConfig(home).config.dashboard, { port: 1 });
  rememberGood(home, loadConfig(home));
  home.write('config.yaml', 'dashboard: { port: high }\n');
  t.match(loadConfig(home), { config: { dashboard: { port: 1 } }, problem: { line: 1, key: 'dashboard.port', path: home.config } });
  home.write('config.yaml', `# ${'x'.repeat(limits.state.configMaxBytes)}\n`);
  t.match(loadConfig(home), { config: { dashboard: { port: 1 } }, problem: { message: /bytes/ } });
  home.write('run/config.good.yaml', 'also: [broken\n');
  t.match(loadConfig(home), { config: {}, problem: {} }, 'then the defaults');
});

t.test('no file is an empty one; a directory in its place is a problem, not a crash', async (t) => {
  using home = testHome();
  t.same(loadConfig(home), { config: {}, ineffective: [], text: '' });
  mkdirSync(home.config);
  t.match(loadConfig(home), { config: {}, problem: { message: /EISDIR/, fix: /permissions/ } });
});

t.test('key paths: dots, escapes and indices; what is no key is refused', async (t) => {
  const good: Record<string, unknown[]> = {
    'a.b.c': ['a', 'b', 'c'],
    'a.b\\.c': ['a', 'b.c'],
    'a\\\\.b': ['a\\', 'b'],
    'a.b[0].c[2][3]': ['a', 'b', 0, 'c', 2, 3],
    'a\\[0]': ['a[0]'],
    'a[x]': ['a[x]'],
    'platforms.irc.channels[0]': ['platforms', 'irc', 'channels', 0],
    'with space.ü': ['with space', 'ü'],
  };
  t.same(Object.keys(good).map(parseKeyPath), Object.values(good));
  for (const bad of ['', '.', 'a.', '.a', 'a..b', '[0]', 'a.[0]', 'a[0]b', 'a\\', 'a.__proto__.b', 'constructor']) {
    t.throws(() => parseKeyPath(bad), { code: 'CONFIG_KEY', fix: /backslash/ }, bad);
  }
});

t.test('values from a command line', async (t) => {
  const table: [text: string, want: unknown][] = [
    ['true', true],
    ['5', 5],
    ['-1.5', -1.5],
    ['null', null],
    ['[a, 1]', ['a', 1]],
    ['{a: [b]}', { a: ['b'] }],
    ['"5"', '5'],
    ["'x y'", 'x y'],
    ['gpt-5', 'gpt-5'],
    ['007', '007'],
    ['1e3', '1e3'],
    ['Note: hi', 'Note: hi'],
    ['- a', '- a'],
    ['# x', '# x'],
    ['*', '*'],
    ['', ''],
    ['[open', '[open'],
    ['yes', 'yes'],
    ['1.2.3', '1.2.3'],
  ];
  t.same(
    table.map(([text]) => parseValue(text)),
    table.map(([, want]) => want),
  );
});

t.test('a set keeps comments, order, anchors and layout', async (t) => {
  const text =
    '# my service\nmodel:\n  # the model\n  default: "gpt-5" # good\n\nplatforms:\n  irc: { enabled: true, channels: ["#room"] } # home\nbase: &base\n  a: 1\n';
  using home = testHome({ 'config.yaml': text });
  t.same(await setConfigValue(home.config, 'model.default', 'gpt-6'), { before: 'gpt-5', after: 'gpt-6' });
  await setConfigValue(home.config, 'platforms.irc.enabled', false);
  await setConfigValue(home.config, 'platforms.irc.channels[1]', '#two');
  await setConfigValue(home.config, 'dashboard.port', 9_000);
  const changed = text.replace('gpt-5', 'gpt-6').replace('enabled: true', 'enabled: false').replace('["#room"]', '[ "#room", "#two" ]');
  t.equal(readFileSync(home.config, 'utf8'), `${changed}dashboard:\n  port: 9000\n`);
  t.equal(statSync(home.config).mode & 0o777, 0o600);
});

t.test('set and get: new files, empty sections, numbers as keys, removal', async (t) => {
  using home = testHome();
  const get = (key: string) => getConfigValue(home.config, key);
  await setConfigValue(home.config, 'mcp_servers.s', { command: 'x', args: ['-y'] });
  t.same(
    [get('mcp_servers.s.args[0]'), get('mcp_servers.s'), get('mcp_servers.nobody.x'), get('mcp_servers.s.command.x')],
    ['-y', { command: 'x', args: ['-y'] }, undefined, undefined],
  );
  home.write('config.yaml', 'model:\nx-map:\n  8080: old\n  text: "5"\n');
  await setConfigValue(home.config, 'model.default', 'true');
  await setConfigValue(home.config, 'x-map.8080', 'new');
  await setConfigValue(home.config, 'x-map.text', 5);
  t.same(parseConfigText(readFileSync(home.config, 'utf8'), 'c').config, { model: { default: 'true' }, 'x-map': { 8080: 'new', text: 5 } });
  t.same(await setConfigValue(home.config, 'x-map.text', undefined), { before: 5, after: undefined });
  t.same(await setConfigValue(home.config, 'no.such.key', undefined), { before: undefined, after: undefined });
  t.same(get('x-map'), { 8080: 'new' });
  home.write('config.yaml', 'base: &b { x: [1] }\nuse: *b\n');
  t.same(get('use.x[0]'), 1, 'aliases are followed');
});

t.test('what cannot be set is refused and nothing is written', async (t) => {
  const text = 'model: { default: a }\nmodel_aliases: { gpt-4.1: big }\nbase: &b { x: 1 }\nuse: *b\nlist: [1, 2]\n';
  using home = testHome({ 'config.yaml': text });
  const table: [key: string, value: unknown, want: object][] = [
    ['dashboard.port', 'high', { code: 'CONFIG_INVALID', fix: 'dashboard.port takes a number' }],
    ['use.x', 2, { code: 'CONFIG_KEY', message: /only another name \(\*b\)/ }],
    ['list[5]', 2, { code: 'CONFIG_KEY', message: /list of 2 entries/, fix: 'write list[0] to list[2]' }],
    ['list.name', 2, { code: 'CONFIG_KEY' }],
    ['model[0]', 2, { code: 'CONFIG_KEY' }],
    ['model_aliases.gpt-4.1', 'x', { code: 'CONFIG_KEY', fix: 'write it as model_aliases.gpt-4\\.1' }],
    ['model_aliases.gpt-4.1.x', 'x', { code: 'CONFIG_KEY', fix: 'write it as model_aliases.gpt-4\\.1.x' }],
  ];
  for (const [key, value, want] of table) await t.rejects(setConfigValue(home.config, key, value), want as { code: string }, key);
  await t.rejects(replaceConfigText(home.config, 'model: 5\n'), { code: 'CONFIG_INVALID' });
  t.equal(readFileSync(home.config, 'utf8'), text);
  await setConfigValue(home.config, 'model_aliases.gpt-4\\.1', 'small');
  t.equal(getConfigValue(home.config, 'model_aliases.gpt-4\\.1'), 'small');
  home.write('config.yaml', 'a: [\n');
  await t.rejects(setConfigValue(home.config, 'b', 1), { code: 'CONFIG_INVALID' }, 'a broken file is not overwritten');
});

t.test('commands that set at once lose nothing; a linked config.yaml stays a link', async (t) => {
  using home = testHome({ 'config.yaml': '# kept\n' });
  renameSync(home.config, join(home.root, 'elsewhere.yaml'));
  symlinkSync('elsewhere.yaml', home.config);
  const script = `import { setConfigValue } from '${projectRoot}/state/config/edit.ts'; for (let n = 0; n < 8; n++) await setConfigValue(process.argv[1], 'x-own.' + process.argv[2] + n, n);`;
  const children = ['a', 'b', 'c'].map((name) =>
    spawn(process.execPath, ['--input-type=module', '-e', script, home.config, name], { stdio: 'inherit' }),
  );
  t.same(await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code as number))), [0, 0, 0]);
  t.equal(Object.keys(getConfigValue(home.config, 'x-own') as object).length, 24);
  t.match(readFileSync(home.config, 'utf8'), /^# kept\n/);
  t.ok(lstatSync(home.config).isSymbolicLink());
  t.same(
    readdirSync(home.root).filter((name) => name.includes('lock') || name.includes('tmp')),
    [],
  );
});

t.test('a setting without effect is found at any depth, with its place and the name it was meant to be', async (t) => {
  const table: [text: string, want: { key: string; fix?: RegExp }[]][] = [
    ['model: { default: x }\nx-mine: { a: 1 }\n_config_version: 45\n', []],
    ['supervisor: { workers: { agent@work: { drain_ms: 5 } } }\n', []],
    ['platform_toolsets: { irc: [agent-irc, mcp-files, web], cron: agent-cli }\n', []],
    ['modle: { default: x }\n', [{ key: 'modle', fix: /model/ }]],
    [
      'providers: { box: { kind: ollama, base_ulr: "http://127.0.0.1:1" } }\n',
      [{ key: 'providers.box.base_ulr', fix: /providers\.box\.base_url/ }],
    ],
    ['dashboard: { oauth: { self_hosted: { issuerr: x } } }\n', [{ key: 'dashboard.oauth.self_hosted.issuerr' }]],
    ['agent: { disabled_toolsets: [terminall] }\n', [{ key: 'agent.disabled_toolsets[0]', fix: /terminal/ }]],
    ['platform_toolsets: { irc: terminol }\n', [{ key: 'platform_toolsets.irc' }]],
    ['platforms: { nosuch: {} }\n', [{ key: 'platforms.nosuch', fix: /irc, webhook/ }]],
    [
      'platforms:\n  irc: { nicck: x, channels: 5, tls: maybe }\n',
      [{ key: 'platforms.irc.nicck', fix: /nick/ }, { key: 'platforms.irc.channels' }, { key: 'platforms.irc.tls' }],
    ],
    [
      'platforms: { webhook: { routes: { b: { prompt: 5, promt: x } } } }\n',
      [{ key: 'platforms.webhook.routes.b.prompt' }, { key: 'platforms.webhook.routes.b.promt' }],
    ],
    ['mcp_servers: { a: { command: x, foo: 1 } }\n', [{ key: 'mcp_servers.a.foo' }]],
    ['updates: { auto: minor }\ntelemetry: { shared_metrics: { enabled: false } }\n', [{ key: 'updates' }, { key: 'telemetry' }]],
    ['portal: { guest: false }\n', [{ key: 'portal.guest' }]],
  ];
  for (const [text, want] of table) {
    const { ineffective } = parseConfigText(text, 'config.yaml');
    const byPlace = ineffective.toSorted((a, b) => a.column - b.column).toSorted((a, b) => a.line - b.line);
    t.match(byPlace, want, text);
    t.equal(ineffective.length, want.length, text);
  }
});

t.test('what a setting takes is said with its bound, in words of its own', (t) => {
  const table: [text: string, fix: RegExp][] = [
    ['mcp_servers: { st: { timeout: 0 } }', /timeout takes a number greater than 0/],
    ['dashboard: { port: 99999999 }', /port takes a number of at most 65535/],
    ['providers: { box: { kind: nothing } }', /one of openai-compatible, openai/],
    ['timezone: 5', /timezone takes a string/],
  ];
  for (const [text, fix] of table) {
    const [problem] = configProblems(text, 'config.yaml');
    t.match(problem?.fix, fix, text);
    t.notMatch(problem?.message, /Too small|Too big|Invalid (?:input|option)|expected/, text);
  }
  t.end();
});

t.test('a value that holds itself is refused with its place', (t) => {
  for (const text of ['x-a: &a [*a]', 'x-a: &a { b: { c: *a } }'])
    t.throws(() => parseConfigText(`${text}\n`, 'config.yaml'), { code: 'CONFIG_INVALID', facts: { problem: { line: 1 } } });
  t.same(parseConfigText('x-a: &a [1]\nx-b: [*a, *a]\n', 'config.yaml').ineffective, []);
  t.end();
});
