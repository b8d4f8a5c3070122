/** Rows of the interface spec that the command line answers for. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LogFile } from '../../base/logFile.ts';
import { logPath } from '../../state/logs.ts';
import { cli, errorOf, finished, spawnCli } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

const line = (more: Record<string, unknown>): string =>
  JSON.stringify({ time: new Date().toISOString(), level: 'info', component: 'agent', pid: 1, msg: 'm', ...more });

function writeLog(home: TestHome, name: string, lines: Record<string, unknown>[]): void {
  writeFileSync(logPath(home, name), lines.map((more) => `${line(more)}\n`).join(''));
}

const messages = (stdout: string): unknown[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((raw) => (JSON.parse(raw) as { msg: unknown }).msg);

t.test('cli.10 logs: every name is read, agent is the default, an unknown one is refused with the valid set', async (t) => {
  using home = testHome();
  const names = ['agent', 'gateway', 'gui', 'cron', 'mcp', 'supervisor', 'desktop', 'errors'];
  for (const name of names) writeLog(home, name, [{ msg: `of ${name}` }]);
  for (const name of names) t.same(messages((await cli(['logs', name, '--json'], { home })).stdout), [`of ${name}`]);
  t.same(messages((await cli(['logs', '--json'], { home })).stdout), ['of agent']);
  const refused = await cli(['logs', 'dashboard', '--json'], { home });
  t.equal(refused.code, 2);
  for (const name of names) t.match(errorOf(refused).fix, name);
});

t.test('cli.10 logs: filters by level, age, component and session, and counts what is left', async (t) => {
  using home = testHome();
  const old = new Date(Date.now() - 3_600_000).toISOString();
  writeLog(home, 'agent', [
    { msg: 'old', time: old },
    { msg: 'quiet', level: 'debug' },
    { msg: 'bad', level: 'error' },
    { msg: 'turn', component: 'turn', session_id: 'ses_1' },
    { msg: 'worse', level: 'warn', component: 'turn', session_id: 'ses_2' },
  ]);
  const cases: { args: string[]; want: string[] }[] = [
    { args: [], want: ['old', 'quiet', 'bad', 'turn', 'worse'] },
    { args: ['-n', '2'], want: ['turn', 'worse'] },
    { args: ['-n', '0'], want: [] },
    { args: ['--level', 'warn'], want: ['bad', 'worse'] },
    { args: ['--level', 'warn', '-n', '1'], want: ['worse'] },
    { args: ['--since', '10m'], want: ['quiet', 'bad', 'turn', 'worse'] },
    { args: ['--component', 'turn'], want: ['turn', 'worse'] },
    { args: ['--session', 'ses_1'], want: ['turn'] },
  ];
  for (const { args, want } of cases) t.same(messages((await cli(['logs', ...args, '--json'], { home })).stdout), want, args.join(' '));
  t.match(await cli(['logs', '--level', 'warn'], { home }), {
    code: 0,
    stdout: /error agent +bad\n.*warn  turn +worse  session_id=ses_2\n/,
  });
  for (const args of [
    ['-n', 'x'],
    ['--since', 'yesterday'],
    ['-n', '-1'],
  ])
    t.equal((await cli(['logs', ...args], { home })).code, 2, args.join(' '));
});

t.test('cli.10 logs: a torn last line and foreign lines are shown, and are objects with --json', async (t) => {
  using home = testHome();
  writeFileSync(logPath(home, 'agent'), `${line({ msg: 'whole' })}\n    at f (x.js:1)\n{"time":"2026-`);
  const { stdout } = await cli(['logs', '--json'], { home });
  t.same(messages(stdout), ['whole', '    at f (x.js:1)', '{"time":"2026-']);
  t.match(await cli(['logs', 'cron'], { home }), { code: 0, stdout: '', stderr: /cron\.log does not exist yet/ });
});

t.test('cli.10 logs -f goes on over a rotation and ends with ctrl-C', async (t) => {
  using home = testHome();
  const writer = new LogFile(logPath(home, 'gateway'), { maxBytes: 1_000, keep: 2, shared: true });
  t.teardown(() => writer.close());
  writer.append(line({ msg: 'before' }));
  const command = spawnCli(['logs', 'gateway', '-f', '-n', '1', '--json'], { home });
  let said = '';
  command.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  t.teardown(() => command.kill('SIGKILL'));
  const ended = finished(command);
  await until('the last line', () => said.includes('before'));
  for (let i = 0; i < 20; i++) {
    writer.append(line({ msg: `line ${i}`, padding: 'x'.repeat(100) }));
    if (i % 5 === 4) await until(`line ${i}`, () => said.includes(`"line ${i}"`));
  }
  t.ok(existsSync(`${logPath(home, 'gateway')}.1`), 'it was rotated');
  command.kill('SIGINT');
  t.match(await ended, { code: 0, signal: null });
  t.same(messages(said), ['before', ...Array.from({ length: 20 }, (_, i) => `line ${i}`)]);
});

t.test('cli.9 send --file takes text bodies only: a binary file is a usage error that names the MEDIA directive', async (t) => {
  using home = testHome();
  const binaries = {
    'picture.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
    'latin1.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9]),
    'nul.txt': Buffer.from('a\0b'),
  };
  for (const [name, bytes] of Object.entries(binaries)) {
    const path = join(home.root, name);
    writeFileSync(path, bytes);
    const result = await cli(['send', '--to', 'irc:#room', '--file', path, '--json'], { home });
    t.equal(result.code, 2, name);
    t.match(errorOf(result), { code: 'USAGE', message: /takes text bodies only/, fix: `MEDIA:${path}` }, name);
  }
  const text = home.write('note.txt', 'grüße\n');
  t.equal(
    errorOf(await cli(['send', '--to', 'irc:#room', '--file', text, '--json'], { home })).code,
    'NO_SUPERVISOR',
    'a text file gets as far as the service',
  );
  t.equal((await cli(['send', '--to', 'irc:#room', '--file', join(home.root, 'none')], { home })).code, 1);
  t.equal((await cli(['send', '--to', 'irc:#room', '--file', text, 'and text'], { home })).code, 2);
});

t.test('cli.13 config set takes a dotted path in which a backslash escapes a literal dot', async (t) => {
  using home = testHome();
  await cli(['config', 'set', String.raw`model_aliases.gpt-4\.1`, 'openai:gpt-4.1'], { home });
  t.same(JSON.parse((await cli(['config', 'get', 'model_aliases', '--json'], { home })).stdout), { 'gpt-4.1': 'openai:gpt-4.1' });
  t.equal((await cli(['config', 'get', String.raw`model_aliases.gpt-4\.1`], { home })).stdout, 'openai:gpt-4.1\n');
  for (const wrong of ['.', 'a..b', 'a.', '.a', '']) t.equal((await cli(['config', 'set', wrong, 'x'], { home })).code, 2, `"${wrong}"`);
});

t.test('env.2 AGENT_HOME is the home: config, state and logs are there and nowhere else', async (t) => {
  using home = testHome();
  using other = testHome();
  const env = { AGENT_HOME: home.root, HOME: other.root };
  t.equal((await cli(['config', 'path'], { env })).stdout, `${home.config}\n`);
  t.equal((await cli(['pause'], { env })).code, 0);
  t.ok(existsSync(home.estop));
  t.same(
    (await cli(['config', 'path'], { env: { ...env, AGENT_HOME: 'deep/er' }, cwd: home.root })).stdout,
    `${join(home.root, 'deep/er/config.yaml')}\n`,
    'a relative one is taken from the working directory',
  );
  t.same(
    (await cli(['config', 'path'], { env: { ...env, AGENT_HOME: '' } })).stdout,
    `${join(other.root, '.agent/config.yaml')}\n`,
    'without it the home is ~/.agent',
  );
  t.notOk(existsSync(join(other.root, '.agent')), 'asking makes nothing');
});

t.test('env.4 AGENT_GATEWAY_NO_SUPERVISE is the same as --no-supervise: the command is the gateway, in the foreground', async (t) => {
  const ways: { name: string; args: string[]; env: Record<string, string> }[] = [
    { name: 'the option', args: ['--no-supervise'], env: {} },
    ...['1', 'true', 'yes'].map((value) => ({ name: `the variable ${value}`, args: [], env: { AGENT_GATEWAY_NO_SUPERVISE: value } })),
  ];
  for (const { name, args, env } of ways) {
    using home = testHome();
    const command = spawnCli(['gateway', 'run', ...args], { home, env });
    t.teardown(() => command.kill('SIGKILL'));
    const ended = finished(command);
    await until(`${name}: the gateway serves`, () => existsSync(home.run.socket('gateway')));
    t.notOk(existsSync(home.run.supervisorSocket), `${name}: no supervisor`);
    command.kill('SIGTERM');
    t.match(await ended, { code: 0, signal: null }, name);
  }
});

t.test('env.4 any other value leaves the gateway to the supervisor', async (t) => {
  for (const value of ['0', 'no', '']) {
    using home = testHome();
    const result = await cli(['gateway', 'run', '--json'], { home, env: { AGENT_GATEWAY_NO_SUPERVISE: value } });
    t.same({ code: result.code, error: errorOf(result).code }, { code: 3, error: 'NO_SUPERVISOR' }, `"${value}"`);
  }
});

t.test('env.4 without it, gateway run asks the running supervisor to start the slot and follows it', async (t) => {
  await using service = cliService();
  t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
  const command = spawnCli(['gateway', 'run'], { home: service.home });
  t.teardown(() => command.kill('SIGKILL'));
  let said = '';
  command.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = finished(command);
  await until('it follows the log of the gateway', () => /gateway is ready[\s\S]*info +gateway +ready/.test(said));
  command.kill('SIGINT');
  t.match(await ended, { code: 0, stderr: /`agent stop gateway`/ });
  t.match(await service.agent('gateway', 'status'), { code: 0, stdout: /^gateway is ready \(process \d+\)/ });
  t.match(await service.agent('gateway', 'list'), { code: 0, stdout: /default +ready +\d+ +running/ });
  t.match(await service.agent('gateway', 'stop'), { code: 0, stdout: /^gateway stopped/ });
});
