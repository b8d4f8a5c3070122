/** The command line itself: help, wrong words, JSON, colour, pipes. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { spawn as spawnPty } from 'node-pty';
import type { Command } from '../../bin/command.ts';
import { commandTable } from '../../bin/commandTable.ts';
import { commandHelp } from '../../bin/help.ts';
import { cli, cliEnv, errorOf, spawnCli } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { projectRoot } from '../harness/worker.ts';

/** Every command of the tree as its path. */
async function paths(): Promise<{ path: string[]; command: Command }[]> {
  const below = (command: Command, path: string[]): { path: string[]; command: Command }[] => [
    { path, command },
    ...(command.commands ?? []).flatMap((child) => below(child, [...path, child.name])),
  ];
  const modules = await Promise.all(commandTable.map(({ load }) => load()));
  return modules.flatMap(({ command }) => below(command, [command.name]));
}

const isHelp = (text: string, path: string[]): boolean =>
  text.startsWith(`Usage  agent ${path.join(' ')}`) && /\nExamples\n {2}\S/.test(text);

/** Two processes at a time. */
async function pairs<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += 2) results.push(...(await Promise.all(items.slice(i, i + 2).map(work))));
  return results;
}

t.test('help of every verb exits 0, on stdout, with usage and an example', async (t) => {
  const results = await pairs([...commandTable], async ({ name }) => ({ name, ...(await cli([name, '--help'])) }));
  for (const { name, code, stdout, stderr } of results) {
    t.same({ code, stderr }, { code: 0, stderr: '' }, name);
    t.ok(isHelp(stdout, [name]), `agent ${name} --help`);
  }
});

t.test('help of every sub-command has usage and an example, and every command takes --json', async (t) => {
  const all = await paths();
  t.ok(all.length >= 40, `${all.length} commands`);
  for (const { path, command } of all) {
    t.ok(isHelp(commandHelp(command, path), path), `agent ${path.join(' ')} --help`);
    if (command.run)
      t.ok(
        command.options?.some(({ flags }) => flags === '--json'),
        `agent ${path.join(' ')} --json`,
      );
    t.ok(command.run !== undefined || command.commands !== undefined, `agent ${path.join(' ')} runs or holds others`);
  }
});

t.test('the overview, the version, and help as a word', async (t) => {
  const overview = await cli([]);
  t.equal(overview.code, 0);
  for (const { name } of commandTable) t.match(overview.stdout, new RegExp(`\\n  ${name} `), name);
  t.equal((await cli(['--help'])).stdout, overview.stdout);
  t.match(await cli(['--version']), { code: 0, stdout: /^agent \d+\.\d+\.\d+ \(.+, node v\d+/ });
  t.equal((await cli(['help', 'cron', 'create'])).stdout, (await cli(['cron', 'create', '-h'])).stdout);
});

t.test('an unknown word is a usage error with the nearest and the valid set', async (t) => {
  const cases: { args: string[]; message: string; fix: RegExp }[] = [
    { args: ['statsu'], message: 'unknown command "statsu"', fix: /did you mean status\? known: up, dashboard, down/ },
    { args: ['cron', 'lst'], message: 'unknown cron command "lst"', fix: /did you mean list\? .*create, .*list/ },
    { args: ['status', '--jsno'], message: 'unknown option "--jsno" of agent status', fix: /did you mean --json\?/ },
    { args: ['logs', '--levl', 'info'], message: 'unknown option "--levl" of agent logs', fix: /did you mean --level\?/ },
    { args: ['logs', 'gatway'], message: 'unknown log "gatway"', fix: /did you mean gateway\? known: agent, .*gui.*desktop, errors/ },
    { args: ['logs', '--level', 'inf'], message: 'unknown value of --level "inf"', fix: /did you mean info\?/ },
    { args: ['logs', '--component', 'crn'], message: 'unknown component "crn"', fix: /did you mean cron\?/ },
    { args: ['pause', '--scope', 'crn'], message: 'unknown value of --scope "crn"', fix: /did you mean cron\?/ },
    { args: ['why', 'dashbord'], message: 'unknown slot "dashbord"', fix: /did you mean dashboard\? known: agent/ },
    { args: ['worker', 'gatway', '--external-supervisor'], message: 'unknown slot "gatway"', fix: /did you mean gateway\?/ },
    { args: ['-p', 'nobody', 'status'], message: 'there is no profile "nobody"', fix: /known profiles: default, work/ },
    { args: ['config', 'set', 'modle.default', 'x'], message: 'modle is not a setting and has no effect', fix: /did you mean model\?/ },
    { args: ['config', 'get', 'model.defualt'], message: 'unknown key "model.defualt"', fix: /did you mean model\.default\?/ },
    { args: ['completion', 'bsh'], message: 'unknown shell "bsh"', fix: /did you mean bash\?/ },
    { args: ['cron'], message: 'agent cron needs a command', fix: /one of create, .*list/ },
    { args: ['start'], message: "agent start: missing required argument 'slot'", fix: /agent start --help/ },
    {
      args: ['status', 'extra'],
      message: 'agent status: too many arguments. Expected 0 arguments but got 1: extra',
      fix: /agent status --help/,
    },
    { args: ['up', '--port', 'http'], message: '"http" is not a TCP port', fix: /0 to 65535/ },
    { args: ['send', 'hello'], message: 'send needs --to <target>', fix: /--list/ },
    { args: ['config', 'set', 'a', 'b', '--text=no'], message: '--text of agent config set takes no value', fix: /write --text alone/ },
  ];
  using home = testHome({ 'profiles/work/SOUL.md': '' });
  await pairs(cases, async ({ args, message, fix }) => {
    const result = await cli([...args, '--json'], { home });
    t.same({ code: result.code, stdout: result.stdout }, { code: 2, stdout: '' }, args.join(' '));
    const error = errorOf(result);
    t.equal(error.message, message);
    t.match(error.fix, fix);
  });
});

t.test('the log of a program that has printed nothing yet is known by its slot', async (t) => {
  const status = { supervisor: {}, workers: [{ slot: 'bridge', kind: 'sidecar', pid: null }], at: new Date().toISOString() };
  using home = testHome({ 'run/status.json': JSON.stringify(status) });
  t.match(await cli(['logs', 'bridge'], { home }), { code: 0, stderr: /bridge\.log does not exist yet/ });
});

t.test('a gateway that is down is not said to lack the platforms that config.yaml names', async (t) => {
  using home = testHome({ 'config.yaml': 'platforms: { irc: { enabled: true } }' });
  t.match(await cli(['gateway', 'status'], { home }), { code: 3, stdout: 'gateway is down\n', stderr: '' });
  using bare = testHome();
  t.match(await cli(['gateway', 'status'], { home: bare }), { code: 3, stderr: /no platform is configured/ });
});

t.test('without --json the same error is one line for people', async (t) => {
  const { code, stdout, stderr } = await cli(['statsu']);
  t.same({ code, stdout }, { code: 2, stdout: '' });
  t.match(stderr, /^agent: unknown command "statsu" — did you mean status\? known: .*\n$/);
});

t.test('-p and --json may stand before the command', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': '' });
  const { code, stdout } = await cli(['--json', '--profile=work', 'config', 'path'], { home });
  t.same({ code, ...(JSON.parse(stdout) as object) }, { code: 0, path: home.profile('work').config });
});

t.test('colour appears on a terminal, and never with NO_COLOR or in a pipe', async (t) => {
  const onTerminal = async (env: Record<string, string>): Promise<string> => {
    const pty = spawnPty(process.execPath, [join(projectRoot, 'bin', 'main.ts'), '--help'], {
      cols: 120,
      rows: 60,
      env: { ...cliEnv({}), TERM: 'xterm', ...env },
    });
    let output = '';
    pty.onData((data) => (output += data));
    await new Promise((resolve) => pty.onExit(resolve));
    return output;
  };
  t.match(await onTerminal({}), /\u001b\[1m/);
  t.notMatch(await onTerminal({ NO_COLOR: '1' }), /\u001b\[\d+m/);
  t.notMatch((await cli(['--help'])).stdout, /\u001b/);
});

t.test('a reader that goes away ends the command quietly', async (t) => {
  const shell = spawn('/bin/sh', ['-c', `"$0" "$1" completion bash | head -1`, process.execPath, join(projectRoot, 'bin', 'main.ts')], {
    env: cliEnv({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  t.match(stdout, /^# bash completion of agent/);
  t.equal(stderr, '');

  const command = spawnCli(['completion', 'zsh']);
  command.stdout!.destroy();
  const [said, code] = await Promise.all([text(command.stderr!), new Promise((resolve) => command.once('exit', resolve))]);
  t.same({ said, code }, { said: '', code: 0 });
});

t.test('a home that cannot be used is named with what to do', async (t) => {
  using home = testHome({ file: '' });
  const { code, stderr } = await cli(['pause'], { home, env: { AGENT_HOME: join(home.root, 'file') } });
  t.equal(code, 1);
  t.match(stderr, /^agent: cannot use .*\/file: it is not a directory — /);
});
