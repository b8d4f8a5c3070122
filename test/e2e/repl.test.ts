/** The classic REPL in a real terminal, against the real service with the rehearsal model. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cliEnv } from '../harness/cli.ts';
import { cliService, pidOf, type CliService } from '../harness/cliService.ts';
import { openTerminal, type Terminal } from '../harness/tmux.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(110_000);

const PROMPT = '› ';

function chat(service: CliService, ...args: string[]): Promise<Terminal> {
  const command = [process.execPath, join(projectRoot, 'bin', 'main.ts'), 'chat', ...args].join(' ');
  return openTerminal(`${command}; echo "EXIT:$?"; read line`, { env: cliEnv({ home: service.home }) });
}

/** The prompt stands alone on the last line. */
const atPrompt = (screen: string): boolean => screen.trimEnd().endsWith(PROMPT.trim());

async function ask(terminal: Terminal, text: string, answer: string | RegExp): Promise<string> {
  await terminal.type(text);
  await terminal.press('Enter');
  await terminal.shows(answer);
  return until(`the prompt is back after "${text}"`, async () => {
    const screen = await terminal.screen();
    return atPrompt(screen) && screen;
  });
}

t.test('a conversation in a terminal', async (t) => {
  await using service = cliService();
  t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
  await using terminal = await chat(service);

  await t.test('it greets with the model, says that it is scripted, and waits', async (t) => {
    t.match(await terminal.shows(/\/help/), /agent \d+\.\d+\.\d+ · rehearsal \(scripted rehearsal, no real model\) · ses_/);
    await until('the prompt', async () => atPrompt(await terminal.screen()));
  });

  await t.test('an answer streams below the prompt, each text once', async (t) => {
    const screen = await ask(terminal, 'what is **this**', /You said: "what is this"/);
    t.equal(screen.split('› what is **this**').length - 1, 1, 'the prompt stands there as it was typed');
  });

  await t.test('a tool is a line with its name, what it does, how it went and how long', async (t) => {
    const screen = await ask(terminal, 'run: echo from-the-tool', /terminal returned:\s+from-the-tool/);
    t.match(screen, /✓ ok terminal echo from-the-tool \d+(\.\d)? m?s\n/);
    t.match(await ask(terminal, 'read: /no/such/file', /✗ failed read_file/), /✗ failed read_file \/no\/such\/file /);
  });

  await t.test('a backslash goes on in the next line', async (t) => {
    await terminal.type('say: 3 \\');
    await terminal.press('Enter');
    await terminal.shows(/… $|…\s*$/);
    const screen = await ask(terminal, 'words', /words/);
    t.match(screen, /› say: 3 \\\n… words\n/);
  });

  await t.test('ctrl-C interrupts the turn and keeps what was typed ahead', async (t) => {
    await terminal.type('slow: 60');
    await terminal.press('Enter');
    await terminal.shows('Starting slowly');
    await terminal.type('typed ahead');
    await terminal.press('C-c');
    t.match(await terminal.shows(/Interrupted\.[\s\S]*› typed ahead/), /Interrupted\./);
    await terminal.press('C-c');
    await until('ctrl-C clears the line', async () => atPrompt(await terminal.screen()));
  });

  await t.test('slash commands: a unique beginning will do, an unclear one is refused', async (t) => {
    t.match(await ask(terminal, '/he', /\/sessions/), /\/quit +leave; a running turn goes on/);
    t.match(await ask(terminal, '/st', 'is not clear'), /\/st is not clear — one of \/stop \/status/);
    t.match(await ask(terminal, '/nonsense', 'unknown command'), /one of \/help \/new/);
    t.match(await ask(terminal, '/stat', /session ses_/), /model rehearsal of demo \(scripted\)[\s\S]*agent +ready/);
    t.match(await ask(terminal, '/stop', 'No turn runs.'), /No turn runs\./);
  });

  await t.test('/new starts afresh, /sessions lists, /resume goes back', async (t) => {
    await ask(terminal, '/new', /· ses_[\s\S]*· ses_/);
    await ask(terminal, 'remember me by this', /You said: "remember me/);
    t.match(await ask(terminal, '/sessions', /messages, cli\)/), / 1 .*remember me by this[\s\S]* 2 .*what is/);
    t.match(await ask(terminal, '/resume 2', /no.such.file/), /slow: 60/);
    t.match(await ask(terminal, '/resume nobody', /agent: /), /nobody/);
  });

  await t.test('the worker may die in the middle of an answer: the chat goes on', async (t) => {
    const before = pidOf(await service.status(), 'agent')!;
    await terminal.type('slow: 61');
    await terminal.press('Enter');
    // Not the 60 of before, which was recalled above.
    await terminal.shows(/slow: 61\s+Starting slowly/);
    process.kill(before, 'SIGKILL');
    await terminal.shows('The agent worker is gone; waiting for its successor');
    const screen = await terminal.shows(/Connected again[\s\S]*›\s*$/);
    t.match(screen, /Connected again/);
    t.match(await ask(terminal, 'are you back', /You said: "are you back"/), /are you back/);
    t.not(pidOf(await service.status(), 'agent'), before);
  });

  await t.test('ctrl-C twice leaves; prompts are kept in a private history', async (t) => {
    await terminal.press('C-c');
    await terminal.shows('ctrl-C again leaves.');
    await terminal.press('C-c');
    await terminal.shows('EXIT:0');
    const history = join(service.home.root, 'chat_history');
    t.equal(statSync(history).mode & 0o777, 0o600);
    const entries = readFileSync(history, 'utf8')
      .trim()
      .split('\n')
      .map((raw) => JSON.parse(raw) as string);
    t.same(entries.slice(0, 4), ['what is **this**', 'run: echo from-the-tool', 'read: /no/such/file', 'say: 3 \nwords']);

    await using second = await chat(service, '--session', 'latest');
    await second.shows('are you back');
    await second.press('Up');
    t.match(await second.shows(/› are you back\s*$/), /You said: "are you back"/);
    await second.press('C-c');
    await until('the line is cleared', async () => atPrompt(await second.screen()));
    await second.press('C-d');
    await second.shows('EXIT:0');
  });
});

t.test('text without a terminal at its output has no escape sequences', async (t) => {
  await using service = cliService();
  t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
  const { code, stdout } = await service.agent('chat', '-q', 'say **bold** `code`');
  t.equal(code, 0);
  t.notMatch(stdout, /\u001b/);
});
