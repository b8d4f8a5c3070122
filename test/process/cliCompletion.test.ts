/** The completion scripts in the real shells: they parse, and they complete what is there. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { spawn as spawnPty } from 'node-pty';
import { cli, run } from '../harness/cli.ts';
import { requirePackage } from '../harness/debianPackage.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

async function script(home: TestHome, shell: string): Promise<string> {
  const { code, stdout } = await cli(['completion', shell], { home });
  if (code !== 0) throw new Error(`completion ${shell} ended with ${code}`);
  return home.write(`completion.${shell}`, stdout);
}

/** What bash offers for the last word of a line. */
async function offered(file: string, line: string): Promise<string[]> {
  const words = line.split(' ');
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const program = `source ${file}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _agent; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await run('/bin/bash', ['--norc', '-c', program]);
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
  shell.write('exit\r');
  await ended;
  t.pass();
});
