/** What the REPL writes to a terminal, byte by byte. */
import { Writable } from 'node:stream';
import t from 'tap';
import { Card } from '../../chat/repl/card.ts';
import { Screen } from '../../chat/repl/screen.ts';
import { TurnView } from '../../chat/repl/turnView.ts';
import type { ChatEvent } from '../../chat/conversation.ts';

/** A terminal that keeps what it was given. */
function terminal(live: boolean) {
  let written = '';
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  const stream = Object.assign(out, { isTTY: true, columns: 80, rows: 24 }) as unknown as NodeJS.WriteStream;
  const screen = new Screen(stream, { live });
  return { screen, view: new TurnView(screen), written: () => (screen.flush(), written) };
}

const hostile = '\u001b]0;owned\u0007\u001b[2J\u001b[5Aagent\u009b31m';
const events: ChatEvent[] = [
  { type: 'prompt.accepted', payload: { message_id: 1, text: hostile, surface: 'api' } },
  { type: 'reasoning.delta', payload: { text: hostile } },
  { type: 'message.delta', payload: { text: `${hostile} \u001b` } },
  { type: 'message.delta', payload: { text: ']0;in two parts\u0007 end' } },
  { type: 'tool.start', payload: { tool_id: 'a', name: 'terminal', args: { command: hostile } } },
  { type: 'tool.progress', payload: { tool_id: 'a', name: 'terminal', preview: hostile } },
  {
    type: 'tool.complete',
    payload: { tool_id: 'a', name: 'terminal', args: {}, result: null, result_text: `${hostile}\r\nline`, is_error: false, duration_s: 1 },
  },
  { type: 'notice', payload: { text: hostile, level: 'warn' } },
  { type: 'btw.complete', payload: { aside_id: 1, task_id: 'b', question: hostile, text: hostile, error: null } },
  {
    type: 'message.complete',
    payload: {
      message_id: 2,
      text: hostile,
      status: 'error',
      usage: null,
      error: { code: 'X', message: hostile, fix: hostile },
      duration_ms: 1,
    },
  },
];

/** Sequences of the screen itself: moving in its live part, erasing rows, drawing as one, colours. */
// eslint-disable-next-line no-control-regex -- what a terminal is given
const OWN = /\u001b\[(?:\d*[ABC]|2?K|J|\?2026[hl]|[\d;]*m)|\r/g;

t.test('nothing that a model, a tool or another user says steers the terminal', async (t) => {
  for (const live of [true, false]) {
    const { screen, view, written } = terminal(live);
    for (const event of events) view.draw(event);
    screen.line(hostile);
    const card = new Card({
      title: ['May terminal do this?', hostile],
      options: [{ label: hostile }],
      tone: 'yellow',
      onPick() {},
      onText() {},
      onCancel() {},
    });
    screen.setFooter((columns) => ({ rows: card.rows(columns, screen.paint), cursor: { row: 0, column: 0 } }));
    const text = written();
    t.notMatch(text.replaceAll(OWN, ''), /[\p{Cc}--[\n\t]]/v, live ? 'drawn' : 'passed on');
    t.notMatch(text, /\u001b\[2J|\u001b\[5A/);
    t.match(text, /end/);
    screen.setFooter(undefined);
    screen[Symbol.dispose]();
  }
});
