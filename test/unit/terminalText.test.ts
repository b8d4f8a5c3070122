/** What models, tools and strangers wrote, on the terminal of a person: read, never obeyed. */
import { spawn } from 'node-pty';
import t from 'tap';
import { painter } from '../../base/paint.ts';
import { steadyText } from '../../base/visibleText.ts';
import { Card } from '../../chat/repl/card.ts';
import { Screen } from '../../chat/repl/screen.ts';
import { until } from '../harness/until.ts';

/** Sets the title, writes the clipboard, moves the cursor up, clears, answers back; C1 forms too. */
const STEERING = [
  '\u001b]0;pwned\u0007',
  '\u001b]52;c;cHduZWQ=\u0007',
  '\u001b[3A',
  '\u001b[2J',
  '\u001bc',
  '\u009b2J',
  '\r',
  '\b',
  '\u001b[6n',
];

t.test('of painted text only colours and line breaks reach the terminal', async (t) => {
  const paint = painter({ isTTY: true });
  t.equal(steadyText(`${paint('red', 'a')}\n\tb\r\nc \u200fשלום`), `\u001b[31ma\u001b[39m\n\tb\nc \u200fשלום`);
  t.equal(steadyText('\u001b]0;t\u0007\r'), '\\x1b]0;t\\x07\\r');
  t.equal(steadyText('a\u202eb\u2066c\u009b2J'), 'a\\u202eb\\u2066c\\x9b2J', 'what reorders text does not');
});

function screenOn(written: string[]): Screen {
  const out = { isTTY: true, columns: 80, rows: 24, write: (text: string) => written.push(text) > 0, on() {}, off() {} };
  return new Screen(out as unknown as NodeJS.WriteStream);
}

t.test('a chat shows what steers a terminal instead of passing it on, wherever it is cut', async (t) => {
  for (const sign of STEERING) {
    for (const cut of [0, 1, sign.length - 1]) {
      const written: string[] = [];
      const screen = screenOn(written);
      screen.write(`before ${sign.slice(0, cut)}`);
      screen.write(`${sign.slice(cut)} after\n`);
      screen.status(`running ${sign}`);
      screen.setFooter(() => ({ rows: [`footer ${sign}`], cursor: { row: 0, column: 0 } }));
      screen.flush();
      screen[Symbol.dispose]();
      const text = written.join('');
      t.match(text, /before .* after/);
      // The screen itself moves the cursor; it returns before it does.
      const strangers = text
        .split('\n')
        .filter((line) => /before|running|footer/.test(line))
        .map((line) => line.slice(line.search(/before|running|footer/)));
      t.notOk(
        strangers.some((line) => sign !== '\r' && sign !== '\u001b[2J' && line.includes(sign)),
        JSON.stringify([sign, cut, strangers]),
      );
    }
  }
});

t.test('a card shows a command as it is: nothing hides or turns a part of it', async (t) => {
  const card = new Card({
    title: ['May terminal do this?', 'rm -rf ~\u001b[8m # \u001b[1A\u202elacol\u001b[2K\r  ls'],
    options: [{ label: 'Allow\u001b[2Konce' }],
    tone: 'yellow',
    onPick() {},
    onText() {},
    onCancel() {},
  });
  const shown = [...card.rows(200, painter({ isTTY: false })), card.plain()].join('\n');
  t.match(shown, 'rm -rf ~\\x1b[8m # \\x1b[1A\\u202elacol\\x1b[2K\\r  ls');
  t.match(shown, 'Allow\\x1b[2Konce');
  t.notMatch(shown, /[\u001b\u202e\r]/u);
});

t.test('results and notes of commands steer no terminal, and are untouched in a pipe', async (t) => {
  const said = STEERING.join('.');
  const code = `const { print, note } = await import(${JSON.stringify(new URL('../../bin/terminal.ts', import.meta.url).href)}); print(${JSON.stringify(said)}); note(${JSON.stringify(said)});`;
  let text = '';
  let ended = false;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { cols: 300 });
  child.onData((data) => void (text += data));
  child.onExit(() => void (ended = true));
  await until('it has ended', () => ended);
  t.equal(text.replaceAll('\r\n', '\n'), `${steadyText(said)}\n`.repeat(2));
  t.notMatch(text.replaceAll('\r\n', ''), /\p{Cc}/u);
});
