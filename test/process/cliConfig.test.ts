/** `agent config …` on real files: comments survive, nothing invalid is ever written, errors name the place. */
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';

const commented = `# top
model:
  default: gpt-5 # the good one
  provider: openai

platforms:
  irc: { enabled: false, port: 6667 } # flow
`;

t.test('set changes one value and keeps comments and layout', async (t) => {
  using home = testHome({ 'config.yaml': commented });
  const { code, stdout } = await cli(['config', 'set', 'model.default', 'gpt-6'], { home });
  t.equal(code, 0);
  t.match(stdout, /^model\.default: "gpt-5" → "gpt-6"/);
  t.equal(readFileSync(home.config, 'utf8'), commented.replace('gpt-5', 'gpt-6'));
  await cli(['config', 'set', 'platforms.irc.enabled', 'true'], { home });
  t.match(readFileSync(home.config, 'utf8'), /irc: \{ enabled: true, port: 6667 \} # flow/);
});

t.test('values are read as YAML, as text with --text', async (t) => {
  using home = testHome();
  const set = (...args: string[]) => cli(['config', 'set', ...args, '--json'], { home });
  const cases: { args: string[]; want: unknown }[] = [
    { args: ['dashboard.port', '9200'], want: 9200 },
    { args: ['platforms.irc.channels', '["#room", "#b"]'], want: ['#room', '#b'] },
    { args: ['display.vim_mode', 'true'], want: true },
    { args: ['model.default', '5', '--text'], want: '5' },
    { args: ['platforms.irc.realname', 'not: [yaml'], want: 'not: [yaml' },
  ];
  for (const { args, want } of cases) {
    const { code, stdout } = await set(...args);
    t.same({ code, after: (JSON.parse(stdout) as { after: unknown }).after }, { code: 0, after: want }, args.join(' '));
    const got = await cli(['config', 'get', args[0]!, '--json'], { home });
    t.same(JSON.parse(got.stdout), want, args.join(' '));
  }
});

t.test('a backslash makes a dot part of a name, and a key that would shadow such a name is refused with its spelling', async (t) => {
  using home = testHome();
  t.equal((await cli(['config', 'set', String.raw`providers.my\.box.kind`, 'openai-compatible'], { home })).code, 0);
  t.same(JSON.parse((await cli(['config', 'get', 'providers', '--json'], { home })).stdout), { 'my.box': { kind: 'openai-compatible' } });
  const missed = await cli(['config', 'get', 'providers.my.box.kind', '--json'], { home });
  t.match(errorOf(missed).fix, String.raw`providers.my\.box.kind`, 'the spelling that would find it is named');
  const before = readFileSync(home.config, 'utf8');
  const refused = await cli(['config', 'set', 'providers.my.box.kind', 'openai', '--json'], { home });
  t.equal(refused.code, 2);
  t.match(errorOf(refused), { code: 'CONFIG_KEY', fix: String.raw`write it as providers.my\.box.kind` });
  t.equal(readFileSync(home.config, 'utf8'), before);
});

t.test('a value of the wrong type is refused with the key, the place and what it takes; the file stays', async (t) => {
  using home = testHome({ 'config.yaml': commented });
  const refused = await cli(['config', 'set', 'platforms.irc.port', 'many', '--json'], { home });
  t.equal(refused.code, 78);
  const error = errorOf(refused);
  t.equal(error.code, 'CONFIG_INVALID');
  t.match(error.message, /config\.yaml:7:\d+: platforms\.irc\.port: /);
  t.match(error.fix, /platforms\.irc\.port takes a number/);
  t.equal(readFileSync(home.config, 'utf8'), commented);
});

t.test('broken YAML is named with file, line and column, by every command that reads it', async (t) => {
  using home = testHome({ 'config.yaml': 'model:\n  default: gpt-5\n  provider: "open\n' });
  for (const args of [['check'], ['get', 'model'], ['set', 'model.default', 'x']]) {
    const { code, stderr, stdout } = await cli(['config', ...args], { home });
    t.same({ code, stdout }, { code: 78, stdout: '' }, args.join(' '));
    t.match(stderr, /^agent: .*\/config\.yaml:\d+:\d+: .* — correct the YAML at this place/, args.join(' '));
  }
});

t.test('check names every error with its place and what the value takes, as JSON too', async (t) => {
  using home = testHome({
    'config.yaml':
      'timezone: 5\ndashboard:\n  port: 99999999\nproviders:\n  box: { kind: nothing, base_url: nowhere }\nservices: { x: { command: 7, args: 8 } }\n',
  });
  const text = await cli(['config', 'check'], { home });
  t.same({ code: text.code, stdout: text.stdout }, { code: 78, stdout: '' });
  t.match(text.stderr.trim().split('\n'), [
    /^agent: .*config\.yaml:1:11: timezone: .* — timezone takes: text\. Of cron expressions/,
    /^agent: .*config\.yaml:3:9: dashboard\.port: .* — dashboard\.port takes: number from \d+ to 65535, default \d+\. Its TCP port/,
    /^agent: .*config\.yaml:5:16: providers\.box\.kind: .* — write one of /,
    /^agent: .*config\.yaml:5:35: providers\.box\.base_url: .* — providers\.box\.base_url takes an address such as https:/,
    /^agent: .*config\.yaml:6:27: services\.x\.command: /,
    /^agent: .*config\.yaml:6:36: services\.x\.args: /,
  ]);
  const json = await cli(['config', 'check', '--json'], { home });
  t.match(errorOf(json), { code: 'CONFIG_INVALID', message: /:1:11: timezone/ });
  const { valid, problems } = JSON.parse(json.stdout) as { valid: boolean; problems: { line: number; key: string }[] };
  t.same(
    [json.code, valid, problems.map(({ line, key }) => `${line} ${key}`)],
    [
      78,
      false,
      ['1 timezone', '3 dashboard.port', '5 providers.box.kind', '5 providers.box.base_url', '6 services.x.command', '6 services.x.args'],
    ],
  );
  home.write('config.yaml', 'a: [1\nb: "x\n');
  t.match((await cli(['config', 'check'], { home })).stderr.trim().split('\n').length, 2, 'errors of YAML, too');
});

t.test('check ends with 0 for a valid or absent file, and with 1 where a setting has no effect', async (t) => {
  using home = testHome();
  t.match(await cli(['config', 'check'], { home }), { code: 0, stderr: '' });
  home.write('config.yaml', 'model: { default: x }\nx-notes: { anything: goes }\n');
  t.match(await cli(['config', 'check'], { home }), { code: 0, stderr: '' }, "a key that begins with x- is the user's own");
  home.write('config.yaml', 'model: { defualt: x }\nmy_own_key: 1\nagent: { disabled_toolsets: [terminall] }\n');
  const { code, stdout } = await cli(['config', 'check', '--json'], { home });
  t.equal(code, 1);
  t.match(JSON.parse(stdout), {
    valid: true,
    unknown: ['model.defualt', 'my_own_key', 'agent.disabled_toolsets[0]'],
    problems: [
      { line: 1, column: 19, key: 'model.defualt', fix: /model\.default/ },
      { line: 2, column: 13 },
      { line: 3, fix: /terminal/ },
    ],
  });
  t.equal((await cli(['config', 'check'], { home })).stderr.trim().split('\n').length, 3, 'one line each');
  home.write('config.yaml', '_config_version: 46\n');
  t.match(await cli(['config', 'check'], { home }), { code: 0, stderr: /newer release \(_config_version 46, this one reads up to 45\)/ });
  t.match(JSON.parse((await cli(['config', 'check', '--json'], { home })).stdout), { config_version: 46, latest_config_version: 45 });
});

t.test('unset removes a value; what is not set is said so', async (t) => {
  using home = testHome({ 'config.yaml': commented });
  t.match(await cli(['config', 'unset', 'model.provider'], { home }), { code: 0, stdout: /model\.provider removed \(was "openai"\)/ });
  t.notMatch(readFileSync(home.config, 'utf8'), /provider/);
  t.match(await cli(['config', 'unset', 'model.provider'], { home }), { code: 1, stderr: /model\.provider is not set/ });
  t.match(await cli(['config', 'get', 'model.provider'], { home }), { code: 1, stderr: /model\.provider is not set — set it with/ });
});

t.test('a setting without effect is written only with --force, and never breaks what is there', async (t) => {
  using home = testHome();
  const refused: string[][] = [
    ['model.defualt', 'x'],
    ['agent.disabled_toolsets', '[terminall]'],
    ['platforms.nosuch.enabled', 'true'],
    ['platforms.irc.nicck', 'x'],
    ['platforms.irc.channels', '5'],
    ['platforms.irc', '{ tls: maybe }'],
    ['platform_toolsets.ircc', 'terminal'],
    ['platform_toolsets.irc', '[terminal, flie]'],
    ['platforms.webhook.routes.b.prompt', '5'],
    ['supervisor.workers.nosuch.drain_ms', '5'],
    ['auxiliary.titel.model', 'x'],
    ['portal.guest', 'false'],
    ['telemetry.shared_metrics.send', 'false'],
  ];
  for (const words of refused) {
    const result = await cli(['config', 'set', ...words, '--json'], { home });
    t.match({ code: result.code, error: errorOf(result) }, { code: 2, error: { code: 'CONFIG_KEY', fix: /./ } }, words.join(' '));
  }
  t.equal((await cli(['config', 'set', 'extension.x', '1'], { home })).code, 2);
  t.equal(existsSync(home.config), false);
  t.equal((await cli(['config', 'set', 'extension.x', '1', '--force'], { home })).code, 0);
  t.match(readFileSync(home.config, 'utf8'), /extension:\n {2}x: 1/);
});

t.test('a secret is not taken into config.yaml, nor shown', async (t) => {
  using home = testHome();
  const answer = await cli(['config', 'set', 'providers.box.headers.Authorization', 'Bearer sk-abcdefghijklmnopqrst', '--json'], { home });
  t.match({ code: answer.code, error: errorOf(answer) }, { code: 2, error: { code: 'CONFIG_KEY' } });
  t.notMatch(answer.stdout + answer.stderr, 'sk-abc');
  t.equal(existsSync(home.config), false);
});

t.test('check names secrets that the file holds in clear; they hinder no other change', async (t) => {
  using home = testHome({
    'config.yaml': 'timezone: UTC\nproviders:\n  box: { base_url: "http://127.0.0.1:1/v1", headers: { Authorization: Bearer opaque } }\n',
    '.env': 'BOX_KEY=value-of-the-box\n',
  });
  const checked = await cli(['config', 'check', '--json'], { home });
  t.equal(checked.code, 1);
  t.match(JSON.parse(checked.stdout), { valid: true, problems: [{ line: 3, key: 'providers.box.headers.Authorization' }] });
  t.notMatch(checked.stdout + checked.stderr, 'opaque');
  t.equal((await cli(['config', 'set', 'timezone', 'Asia/Tokyo'], { home })).code, 0);
  const pasted = readFileSync(home.config, 'utf8')
    .replace('UTC', 'Asia/Tokyo')
    .concat('auxiliary: { title: { model: value-of-the-box } }\n');
  t.match(await cli(['config', 'write', '-'], { home, stdin: pasted }), { code: 2, stderr: /auxiliary\.title\.model/ }, 'a value of .env');
});

t.test('the whole file is replaced from a file or stdin, when it is valid', async (t) => {
  using home = testHome({ 'config.yaml': '# mine\ntimezone: UTC\n' });
  const refused = await cli(['config', 'write', '-'], { home, stdin: 'timezone: UTC\nmodel: [\n' });
  t.match(refused, { code: 78, stderr: /config\.yaml:\d+:\d+/ });
  t.equal(readFileSync(home.config, 'utf8'), '# mine\ntimezone: UTC\n');
  const text = '# theirs\ntimezone: Asia/Tokyo\n';
  t.match(await cli(['config', 'write', '-'], { home, stdin: text }), { code: 0, stdout: /^Saved .*config\.yaml/ });
  t.equal(readFileSync(home.config, 'utf8'), text);
  t.match(await cli(['config', 'write', '/no/such'], { home }), { code: 2, stderr: /cannot read \/no\/such/ });
});

t.test('edit needs a terminal and says what to use instead', async (t) => {
  using home = testHome();
  t.match(await cli(['config', 'edit'], { home, env: { EDITOR: 'true' } }), {
    code: 2,
    stderr: /an editor needs a terminal — use `agent config set`/,
  });
});

t.test('two commands that change the file at the same time both take effect', async (t) => {
  using home = testHome();
  const keys = ['model.default', 'model.provider', 'timezone', 'display.interface'];
  const values = ['m', 'p', 'UTC', 'cli'];
  const results = await Promise.all(keys.map((key, i) => cli(['config', 'set', key, values[i]!], { home })));
  t.same(
    results.map(({ code }) => code),
    [0, 0, 0, 0],
  );
  t.same(JSON.parse((await cli(['config', 'get', '--json'], { home })).stdout), {
    model: { default: 'm', provider: 'p' },
    timezone: 'UTC',
    display: { interface: 'cli' },
  });
});

t.test('a key is explained in the words of the page, and all keys with their choices and defaults', async (t) => {
  using home = testHome();
  t.match(await cli(['config', 'explain', 'display.busy_input_mode'], { home }), {
    code: 0,
    stdout: /^display\.busy_input_mode\n.*\n {2}queue, interrupt, steer; default "queue"; in force at once\n$/,
  });
  const all = JSON.parse((await cli(['config', 'explain', '--json'], { home })).stdout) as Record<string, { description: string }>;
  t.match(all['dashboard.files_root'], { type: 'text', applies: 'slot', slots: ['dashboard'] });
  t.match(await cli(['config', 'explain', 'dashbord'], { home }), { code: 2, stderr: /did you mean dashboard\?/ });
});

t.test('explain describes keys below names of the user, and advice never names a key that is refused', async (t) => {
  using home = testHome();
  const explained = async (key: string) => JSON.parse((await cli(['config', 'explain', key, '--json'], { home })).stdout) as object;
  t.match(await explained('platforms.irc'), {
    'platforms.irc.port': { type: 'number', max: 65_535 },
    'platforms.irc.tls': { default: false },
  });
  t.match(await explained('mcp_servers.any'), { 'mcp_servers.any.command': { type: 'text' } });
  t.match(await explained('providers.box.kind'), { 'providers.box.kind': { type: 'choice' } });
  t.match(errorOf(await cli(['config', 'explain', 'providers.box.nothing', '--json'], { home })), { code: 'NOT_FOUND' });
  const fixOf = async (key: string) => errorOf(await cli(['config', 'get', key, '--json'], { home })).fix;
  t.match(await fixOf('providers.box.kind'), /config set/);
  t.notMatch(await fixOf('mcp_servers.a.b'), /config set/);
  const forced = await cli(['config', 'set', 'a.b.c', '1', '--force'], { home });
  t.match(forced, { code: 0, stderr: /config\.yaml/ }, 'what was written without effect is named with its place');
});
