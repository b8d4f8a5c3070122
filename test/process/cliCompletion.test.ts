/** The completion scripts in the real shells: they parse, and they complete what is there. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { spawn as spawnPty } from 'node-pty';
import { cli, run, type CliOptions } from '../harness/cli.ts';
import { requirePackage } from '../harness/debianPackage.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

async function script(home: TestHome, shell: string): Promise<string> {
  const { code, stdout } = await cli(['completion', shell], { home });
  if (code !== 0) throw new Error(`completion ${shell} ended with ${code}`);
  return home.write(`completion.${shell}`, stdout);
}

/** What bash offers for the last word of a line. */
async function offered(file: string, line: string, options: CliOptions = {}): Promise<string[]> {
  const words = line.split(/(?<!\\) /);
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const program = `source ${file}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _agent; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await run('/bin/bash', ['--norc', '-c', program], options);
  if (code !== 0 || stderr) throw new Error(`${line}: ${stderr}`);
  return stdout.trim().split('\n').filter(Boolean);
}

t.test('bash completes verbs, sub-commands, slots, logs, options and their values', async (t) => {
  using home = testHome();
  const file = await script(home, 'bash');
  t.same(await run('/bin/bash', ['-n', file]), { code: 0, signal: null, stdout: '', stderr: '' });
  const cases: { line: string; want: string[] }[] = [
    { line: 'agent sta', want: ['status', 'start'] },
    { line: 'agent restart gat', want: ['gateway'] },
    { line: 'agent start ', want: ['agent', 'dashboard', 'cron', 'mcp', 'gateway', 'terminal'] },
    { line: 'agent logs er', want: ['errors'] },
    { line: 'agent logs gui --le', want: ['--level'] },
    { line: 'agent logs --level w', want: ['warn'] },
    { line: 'agent cron re', want: ['resume', 'remove'] },
    { line: 'agent -p work cron re', want: ['resume', 'remove'] },
    { line: 'agent pause --scope g', want: ['gateway'] },
    { line: 'agent completion ', want: ['bash', 'zsh'] },
    { line: 'agent status --j', want: ['--json'] },
    { line: 'agent cron list x', want: [] },
  ];
  for (const { line, want } of cases) t.same((await offered(file, line)).toSorted(), want.toSorted(), line);
});

t.test('bash completes profiles after -p, and asks for the sessions of that profile', async (t) => {
  using home = testHome({ 'profiles/office/SOUL.md': '', 'profiles/work/SOUL.md': '' });
  const file = await script(home, 'bash');
  // What the completion asks the program for, noted.
  home.write(
    'bin/agent',
    `#!/bin/sh\necho "$*" >> '${home.root}/asked'\nexec '${process.execPath}' '${join(projectRoot, 'bin', 'main.ts')}' "$@"\n`,
  );
  chmodSync(join(home.root, 'bin', 'agent'), 0o755);
  const options = { home, env: { PATH: `${join(home.root, 'bin')}:${process.env.PATH}` } };
  t.same(await offered(file, 'agent -p of', options), ['office']);
  t.same(await offered(file, 'agent cron list -p wo', options), ['work']);
  await offered(file, 'agent -p office sessions show ', options);
  const asked = readFileSync(join(home.root, 'asked'), 'utf8').trim().split('\n');
  t.match(asked.at(-1), /^-p office sessions list /);
});

t.test('bash completes paths below the root of the files, and runs nothing of what strangers called them', async (t) => {
  using home = testHome();
  const root = join(home.root, '..', 'files');
  mkdirSync(join(root, 'notes', 'deep'), { recursive: true });
  for (const name of ['notes/a b.md', 'notes/$(touch ran).md', 'notes/line\nbreak', '.hidden']) writeFileSync(join(root, name), '');
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  const file = await script(home, 'bash');
  // The command as it is found on the PATH.
  home.write('bin/agent', `#!/bin/sh\nexec '${process.execPath}' '${join(projectRoot, 'bin', 'main.ts')}' "$@"\n`);
  chmodSync(join(home.root, 'bin', 'agent'), 0o755);
  const options = { home, cwd: home.root, env: { PATH: `${join(home.root, 'bin')}:${process.env.PATH}` } };
  const cases: { line: string; want: string[] }[] = [
    { line: 'agent files get no', want: ['notes/'] },
    { line: 'agent files cat notes/', want: ['notes/\\$\\(touch\\ ran\\).md', 'notes/a\\ b.md', 'notes/deep/'] },
    { line: 'agent files rm notes/a\\ ', want: ['notes/a\\ b.md'] },
    { line: 'agent files ls .h', want: ['.hidden'] },
    { line: 'agent files restore', want: ['restore'] },
  ];
  for (const { line, want } of cases) t.same((await offered(file, line, options)).toSorted(), want, line);
  t.notOk(existsSync(join(home.root, 'ran')));
});

t.test('zsh reads the script and completes a slot on the keyboard', async (t) => {
  const zsh = await requirePackage('zsh', existsSync('/bin/zsh') ? '/bin/zsh' : '/usr/bin/zsh');
  using home = testHome();
  const file = await script(home, 'zsh');
  t.same(await run(zsh, ['-f', '-n', file]), { code: 0, signal: null, stdout: '', stderr: '' });
  const shell = spawnPty(zsh, ['-f', '-i'], {
    cols: 120,
    rows: 30,
    cwd: home.root,
    env: { PATH: process.env.PATH, HOME: home.root, TERM: 'xterm', ZDOTDIR: home.root },
  });
  let screen = '';
  shell.onData((data) => (screen += data));
  const ended = new Promise((resolve) => shell.onExit(resolve));
  t.teardown(() => ended);
  // A function stands for the command: only the words that reach it matter.
  shell.write(`PS1=; agent() { echo "<$*>"; }; autoload -Uz compinit && compinit -u -D && source ${file} && echo rea''dy\r`);
  await until('zsh has read the script', () => screen.includes('ready\r\n'));
  shell.write('agent restart gat\t\r');
  await until('the slot is completed', () => screen.includes('<restart gateway>'));
  shell.write('agent cron cr\t\r');
  await until('the sub-command is completed', () => screen.includes('<cron create>'));
  shell.write('agent files resto\t\r');
  await until('a command beside paths is completed', () => screen.includes('<files restore>'));
  shell.write('exit\r');
  await ended;
  t.pass();
});
