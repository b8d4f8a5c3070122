/** The classic REPL in a real terminal, against the real service with the rehearsal model. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cliEnv } from '../harness/cli.ts';
import { cliService, pidOf, type CliService } from '../harness/cliService.ts';
import { openTerminal, type Terminal } from '../harness/tmux.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const PROMPT = '›';

function chat(
  service: CliService,
  args: string[] = [],
  { env = '', columns = 100 }: { env?: string; columns?: number } = {},
): Promise<Terminal> {
  const command = [process.execPath, join(projectRoot, 'bin', 'main.ts'), 'chat', ...args].join(' ');
  return openTerminal(`${env} ${command}; echo "EXIT:$?"; read line`, { env: cliEnv({ home: service.home }), columns });
}

/** An empty prompt stands on the last line, and nothing is being waited for. */
const atPrompt = (screen: string): boolean => screen.trimEnd().endsWith(PROMPT) && !/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /m.test(screen);

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

  await t.test('a tool is a line with its name, what it does, how it went, how long, and what it gave', async (t) => {
    const screen = await ask(terminal, 'run: echo from-the-tool', /terminal returned:\s+from-the-tool/);
    t.match(screen, /✓ ok terminal echo from-the-tool \d+(\.\d)? m?s\n {2}from-the-tool\n/);
    t.match(await ask(terminal, 'read: /no/such/file', /✗ failed read_file/), /✗ failed read_file \/no\/such\/file /);
    t.match(await ask(terminal, '/verbose off', 'only failures'), /Tools: only failures are shown\./);
    t.notMatch(await ask(terminal, 'run: echo quietly', /terminal returned:\s+quietly/), /✓ ok terminal echo quietly/);
    await ask(terminal, '/verbose all', 'a line for each call.');
  });

  await t.test('a backslash, alt-Enter and ctrl-J go on in the next line', async (t) => {
    await terminal.type('three \\');
    await terminal.press('Enter');
    await terminal.type('lines');
    await terminal.press('M-Enter');
    await terminal.type('of');
    await terminal.press('C-j');
    const screen = await ask(terminal, 'text', /You said: "three/);
    t.match(screen, /› three *\n… lines\n… of\n… text\n/);
  });

  await t.test('a large paste is shown short and sent whole', async (t) => {
    const lines = Array.from({ length: 30 }, (_, i) => `pasted ${i}`);
    await terminal.type(`\u001b[200~${lines.join('\r')}\u001b[201~`);
    await terminal.shows('[pasted 30 lines]');
    const screen = await ask(terminal, ' and this', /You said: "pasted 0/);
    t.match(screen, /pasted 29 and this"/);
  });

  await t.test(
    'what is typed while a turn runs waits in line; ctrl-C interrupts the turn and keeps the line, then clears it',
    async (t) => {
      await terminal.type('slow: 60');
      await terminal.press('Enter');
      await terminal.shows('Starting slowly');
      await terminal.type('say: 2 words');
      await terminal.press('Enter');
      await terminal.shows('1 queued');
      await terminal.type('typed ahead');
      await terminal.press('C-c');
      t.match(await terminal.shows(/Interrupted\.[\s\S]*alpha bravo[\s\S]*› typed ahead/), /Interrupted\./);
      await terminal.press('C-c');
      await until('ctrl-C clears the line', async () => atPrompt(await terminal.screen()));
    },
  );

  await t.test('Tab completes commands and paths; ctrl-R finds an earlier prompt', async (t) => {
    await terminal.type('/vers');
    await terminal.press('Tab');
    await terminal.shows(/› \/version\s*$/);
    await terminal.press('C-u');
    await terminal.type('/q');
    await terminal.press('Tab');
    t.match(await terminal.shows(/\/quit +leave/), /\/queue +manage/);
    await terminal.press('Escape', 'C-u');
    await terminal.press('C-r');
    await terminal.type('from-the');
    await terminal.shows('run: echo from-the-tool');
    await terminal.press('Enter');
    await terminal.shows(/› run: echo from-the-tool\s*$/);
    await terminal.press('C-u');
  });

  await t.test('commands come from the registry: a beginning will do, an unknown one names the nearest', async (t) => {
    t.match(await ask(terminal, '/hel', /\/sessions/), /\/quit +leave; a running turn goes on/);
    t.match(await ask(terminal, '/versoin', 'there is no command'), /did you mean \/version\?/);
    t.match(await ask(terminal, '/status', /Session ses_/), /Model rehearsal of demo \(scripted rehearsal\)[\s\S]*agent +ready/);
    t.match(await ask(terminal, '/stop', 'No turn runs.'), /No turn runs\./);
  });

  await t.test('a choice is a card: a number or the arrows pick, an answer of one’s own is one too', async () => {
    await terminal.type('/bp reminder');
    await terminal.press('Enter');
    await terminal.shows('What should it say?');
    await terminal.type('feed the cat');
    await terminal.press('Enter');
    await terminal.shows(/At what time\?[\s\S]*❯ 1\. 09:00/);
    await terminal.press('Enter');
    await terminal.shows(/On which days\?[\s\S]*❯ 1\. every day/);
    await terminal.press('Enter');
    await terminal.shows('Made the job “Reminder: feed the cat”');
  });

  await t.test('a side question and its answer stand beside the conversation', async (t) => {
    t.match(await ask(terminal, '/btw say: 3 words', /│ alpha bravo charlie/), /┌ btw: say: 3 words/);
  });

  await t.test('!command runs here and is not told to the agent', async (t) => {
    t.match(await ask(terminal, '!echo "out of $((20 + 1))"', /^out of 21$/m), /! echo/);
  });

  await t.test('/new starts afresh, /sessions lists, /resume goes back', async (t) => {
    await ask(terminal, '/new', /A new conversation starts here/);
    await ask(terminal, 'remember me by this', /You said: "remember me/);
    t.match(await ask(terminal, '/sessions', /messages, cli\)/), / 1 .*remember me by this[\s\S]* 2 .*what is/);
    t.match(await ask(terminal, '/resume 2', /earlier messages/), /agent \d/);
    t.match(await ask(terminal, '/resume nobody', /no conversation "nobody"/), /nobody/);
  });

  await t.test('the worker may die in the middle of an answer: the chat goes on', async (t) => {
    const before = pidOf(await service.status(), 'agent')!;
    await terminal.type('slow: 61');
    await terminal.press('Enter');
    await terminal.shows(/slow: 61\s+Starting slowly/);
    process.kill(before, 'SIGKILL');
    await terminal.shows('The agent worker is gone; waiting for its successor');
    t.match(await terminal.shows(/Connected again[\s\S]*›\s*$/), /Connected again/);
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
    t.ok(entries.includes('three \nlines\nof\ntext'));
    t.ok(
      entries.some((entry) => entry.includes('pasted 29')),
      'pastes are kept whole',
    );

    await using second = await chat(service, ['--continue']);
    await second.shows('are you back');
    await second.press('Up');
    t.match(await second.shows(/› are you back\s*$/), /You said: "are you back"/);
    await second.press('C-c');
    await until('the line is cleared', async () => atPrompt(await second.screen()));
    await second.press('C-d');
    await second.shows('EXIT:0');
  });

  await t.test('a narrow terminal with wide characters and emoji keeps the cursor in its place', async (t) => {
    await using narrow = await chat(service, [], { columns: 30 });
    await narrow.shows(/›\s*$/);
    await narrow.type('日本語のテキスト 👩‍👩‍👧 und ein langer Satz dahinter');
    await narrow.press('C-a');
    await narrow.type('X');
    await narrow.press('C-e');
    await narrow.type('Y');
    const screen = await narrow.shows(/dahinterY/);
    t.match(screen, /› X日本語/);
  });

  await t.test('a dumb terminal gets lines and no escape sequences', async (t) => {
    await using dumb = await chat(service, [], { env: 'TERM=dumb' });
    await dumb.shows(/> $|>\s*$/);
    await dumb.type('say: 3 words');
    await dumb.press('Enter');
    await dumb.shows('alpha bravo charlie');
    await dumb.type('/quit');
    await dumb.press('Enter');
    t.notMatch(await dumb.shows('EXIT:0'), /\[\?|\[2K|›/);
  });
});

t.test('text without a terminal at its output has no escape sequences', async (t) => {
  await using service = cliService();
  t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
  const { code, stdout } = await service.agent('chat', '-q', 'say **bold** `code`');
  t.equal(code, 0);
  t.notMatch(stdout, /\u001b/);
});
