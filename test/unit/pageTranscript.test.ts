/** The page's picture of a session: a pure function of snapshot and numbered events. */
import t from 'tap';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import type { Aside, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import { rowsOf } from '../../web/chat/messageRows.ts';
import { fromSnapshot, withOlder } from '../../web/chat/snapshot.ts';
import { applyEvent, type Item, type Transcript } from '../../web/chat/transcript.ts';
import { message, sessionSnapshot as snapshot } from '../harness/records.ts';

let seq = 0;
const event = (type: string, payload: Record<string, unknown>): EventParams => ({ type, session_id: 's', seq: ++seq, payload });
const play = (start: Transcript, events: EventParams[]): Transcript => events.reduce((state, one) => applyEvent(state, one, 1_000), start);

/** When things began and how long they took is told by events alone. */
const timeless = ({ items, turn: running }: Transcript) =>
  JSON.parse(
    JSON.stringify({ items, running }, (key, value: unknown) => (['durationMs', 'startedAt'].includes(key) ? undefined : value)),
  ) as unknown;

/** A turn with reasoning, a tool, and an answer. */
function turn(): EventParams[] {
  seq = 0;
  return [
    event('prompt.accepted', { message_id: 1, text: 'go', surface: 'api' }),
    event('message.start', { message_id: 2 }),
    event('reasoning.delta', { text: 'hm' }),
    event('message.delta', { text: 'I look' }),
    event('message.interim', { message_id: 2, text: 'I look.' }),
    event('tool.start', { tool_id: 'a', name: 'terminal', args: { command: 'ls' } }),
    event('tool.progress', { tool_id: 'a', name: 'terminal', preview: 'fi' }),
    event('tool.complete', {
      tool_id: 'a',
      name: 'terminal',
      args: {},
      result: null,
      result_text: 'file',
      is_error: false,
      duration_s: 0.2,
    }),
    event('message.start', { message_id: 4 }),
    event('message.delta', { text: 'There ' }),
    event('message.delta', { text: 'it is' }),
    event('message.complete', { message_id: 4, text: 'There it is', status: 'complete', usage: null, error: null, duration_ms: 900 }),
  ];
}

t.test('a turn by events ends as the same turn in a snapshot', async (t) => {
  const live = play(fromSnapshot(snapshot(), 0), turn());
  const later = fromSnapshot(
    snapshot({
      messages: [
        message(1, 'user', 'go'),
        message(2, 'assistant', 'I look.', {
          reasoning: 'hm',
          finish_reason: 'tool_calls',
          tool_calls: [{ id: 'a', name: 'terminal', args: { command: 'ls' } }],
        }),
        message(3, 'tool', 'file', { tool_call_id: 'a', tool_name: 'terminal' }),
        message(4, 'assistant', 'There it is'),
      ],
    }),
    0,
  );
  t.same(timeless(live), timeless(later));
});

t.test('the same events again, or a part of them, change nothing', async (t) => {
  const events = turn();
  const once = play(fromSnapshot(snapshot(), 0), events);
  t.equal(play(once, events), once);
  t.same(play(fromSnapshot(snapshot(), 0), [...events.slice(0, 7), ...events.slice(3, 9), ...events]), once);
});

t.test('a snapshot in the middle of a turn, with the events after it, ends like the whole turn', async (t) => {
  const events = turn();
  const whole = play(fromSnapshot(snapshot(), 0), events);
  const inflight = { message_id: 2, text: 'I look', reasoning: 'hm', tools: [], started_at: '1970-01-01T00:00:01Z' };
  const writing = fromSnapshot(snapshot({ messages: [message(1, 'user', 'go')], status: 'working', inflight, latest_seq: 4 }), 5_000);
  t.match(writing.turn, { phase: 'writing', startedAt: 1_000 });
  t.same(play(writing, events).items, whole.items);

  const asked = message(2, 'assistant', 'I look.', {
    reasoning: 'hm',
    finish_reason: 'tool_calls',
    tool_calls: [{ id: 'a', name: 'terminal', args: { command: 'ls' } }],
  });
  const tools = [{ tool_id: 'a', name: 'terminal', args: { command: 'ls' } }];
  const using = fromSnapshot(
    snapshot({
      messages: [message(1, 'user', 'go'), asked],
      status: 'working',
      inflight: { ...inflight, text: '', reasoning: '', tools },
      latest_seq: 6,
    }),
    5_000,
  );
  t.match(using.turn, { phase: 'tool', detail: 'terminal' });
  t.same(timeless(play(using, events)), timeless(whole));
});

t.test('a turn that is cut leaves nothing running: its tool is marked, its text kept, the reason shown', async (t) => {
  const error = { code: 'TURN_CUT', message: 'the worker ended', fix: 'send it again' };
  const cut = play(fromSnapshot(snapshot(), 0), [
    ...turn().slice(0, 7),
    {
      type: 'message.complete',
      session_id: 's',
      seq: 8,
      payload: { message_id: 2, text: '', status: 'interrupted', usage: null, error, duration_ms: 5 },
    },
  ]);
  t.equal(cut.turn, null);
  t.match(cut.items.at(-1), {
    text: 'I look.',
    streaming: false,
    tools: [{ state: 'cut', text: 'fi' }],
    end: { status: 'interrupted', failure: error },
  });
});

t.test('a prompt that waits is in the queue, and stands at the end when its turn begins', async (t) => {
  const events = turn();
  const waiting = play(fromSnapshot(snapshot(), 0), [
    ...events.slice(0, 3),
    { type: 'queue.updated', session_id: 's', seq: 4, payload: { queued: [{ id: 9, text: 'next' }] } },
  ]);
  t.same(waiting.queued, [{ id: 9, text: 'next' }]);
  t.notOk(waiting.items.some(({ id }) => id === 9));
  const began = play(waiting, [
    {
      type: 'message.complete',
      session_id: 's',
      seq: 5,
      payload: { message_id: 2, text: 'done', status: 'complete', usage: null, error: null, duration_ms: 1 },
    },
    { type: 'prompt.accepted', session_id: 's', seq: 6, payload: { message_id: 9, text: 'next', surface: 'api' } },
    { type: 'queue.updated', session_id: 's', seq: 7, payload: { queued: [] } },
  ]);
  t.same(began.queued, []);
  t.same(began.items.filter(({ id }) => id === 9).length, 1);
  t.equal(began.items.at(-1)?.id, 9);
});

t.test('an error before the model answered is an answer of its own', async (t) => {
  const error = { code: 'NO_PROVIDER', message: 'no provider', fix: 'add one' };
  seq = 0;
  const failed = play(fromSnapshot(snapshot(), 0), [
    event('prompt.accepted', { message_id: 1, text: 'go', surface: 'api' }),
    event('message.complete', { message_id: null, text: '', status: 'error', usage: null, error, duration_ms: 3 }),
  ]);
  t.match(failed.items, [{ kind: 'user' }, { kind: 'agent', end: { status: 'error', failure: { code: 'NO_PROVIDER' } } }]);
});

t.test('a question of hidden work shows no turn, and a question of a tool does not take its name', async (t) => {
  t.equal(fromSnapshot(snapshot({ status: 'waiting' }), 5_000).turn, null, 'the session itself is at rest');
  const inflight: Snapshot['inflight'] = {
    message_id: 2,
    text: '',
    reasoning: '',
    tools: [{ tool_id: 'c', name: 'terminal', args: {} }],
    started_at: '2026-01-01T00:00:00Z',
  };
  const asking = fromSnapshot(snapshot({ status: 'waiting', inflight, latest_seq: seq }), 5_000);
  const asked = applyEvent(asking, event('status.update', { kind: 'waiting', phase: 'start', text: 'Waiting for your approval' }), 6_000);
  const going = applyEvent(asked, event('status.update', { kind: 'waiting', phase: 'end', text: '' }), 7_000);
  t.match(
    [asked.turn, going.turn],
    [
      { phase: 'tool', detail: 'terminal' },
      { phase: 'tool', detail: 'terminal' },
    ],
  );
});

t.test('a prompt that is taken out of the queue was never said', async (t) => {
  const started = fromSnapshot(snapshot({ queued: [{ id: 9, text: 'next' }], latest_seq: 3 }), 0);
  const after = applyEvent(started, { type: 'queue.updated', session_id: 's', seq: 4, payload: { queued: [] } }, 0);
  t.same(after.queued, []);
  t.same(after.items, []);
});

t.test('an older page joins above, and finds the results of tools that stood on the page after it', async (t) => {
  const call = message(2, 'assistant', '', { finish_reason: 'tool_calls', tool_calls: [{ id: 'a', name: 'terminal', args: {} }] });
  const result = message(3, 'tool', 'failed with 1', { tool_call_id: 'a', tool_name: 'terminal', is_error: true });
  const filler = Array.from({ length: 100 }, (_, n) => message(n + 4, 'user', `more ${n}`));
  const newest = fromSnapshot(snapshot({ messages: [result, ...filler] }), 0);
  t.match(newest.oldest, { rowId: 3, all: false });
  const whole = withOlder(newest, [message(1, 'user', 'go'), call]);
  t.match(whole.items.slice(0, 3), [
    { kind: 'user', text: 'go' },
    { kind: 'agent', tools: [{ id: 'a', state: 'failed', text: 'failed with 1' }] },
    { kind: 'user', text: 'more 0' },
  ]);
  t.equal(whole.oldest.all, false);
  t.equal(withOlder(whole, []).oldest.all, true);
});

t.test('a new snapshot keeps the older pages that were read', async (t) => {
  const rows = Array.from({ length: 100 }, (_, n) => message(n + 10, 'user', `prompt ${n}`));
  const read = withOlder(fromSnapshot(snapshot({ messages: rows }), 0), [message(8, 'user', 'long ago')]);
  const changed = applyEvent(read, event('session.changed', { reason: 'compressed' }), 0);
  t.equal(changed.stale, true);
  const fresh = fromSnapshot(snapshot({ messages: [...rows.slice(1), message(200, 'user', 'new')] }), 0, changed);
  t.equal(fresh.stale, false);
  t.same(
    [fresh.items[0], fresh.items[1], fresh.items.at(-1)].map((item) => item?.id),
    [8, 10, 200],
  );
});

t.test('a compression is a phase with a beginning and an end, said with or without a turn', async (t) => {
  const at = (phase: string, text: string) => event('status.update', { kind: 'compacting', phase, text });
  const began = play(fromSnapshot(snapshot({ latest_seq: seq }), 0), [at('start', 'Compressing the conversation')]);
  const row = rowsOf({ transcript: began, outgoing: [], echoes: [], failure: null }, true).at(-1);
  t.match(row, { kind: 'work', work: { label: 'Compressing the conversation', since: 1_000 } });
  const ended = play(began, [at('end', 'Not compressed. Nothing to gain.')]);
  t.equal(ended.compacting, null);
  t.match(ended.items.at(-1), { kind: 'notice', text: 'Not compressed. Nothing to gain.' });
});

t.test('answers from beside the conversation and helpers at work are shown, and helpers go with the turn', async (t) => {
  const start = fromSnapshot(snapshot({ latest_seq: seq }), 0);
  const helped = play(start, [
    event('message.start', { message_id: 2 }),
    event('subagent.start', { subagent_id: 'h', parent_id: null, goal: 'read logs', task_index: 0, task_count: 1, depth: 1 }),
    event('subagent.progress', { subagent_id: 'h', text: '', tool_name: 'terminal' }),
    event('btw.complete', { aside_id: 3, task_id: 'b', question: 'why?', text: '', error: 'TIMEOUT: too slow' }),
  ]);
  t.same(helped.helpers, [{ id: 'h', goal: 'read logs', doing: 'terminal' }]);
  t.match(helped.items.at(-1), { kind: 'aside', question: 'why?', text: 'TIMEOUT: too slow', failed: true });
  const over = play(helped, [
    event('message.complete', { message_id: 2, text: 'done', status: 'complete', usage: null, error: null, duration_ms: 1 }),
  ]);
  t.same(over.helpers, []);
});

t.test('what was asked aside stands where it was: among its messages, below the page before, once', async (t) => {
  const aside = (id: number, after_id: number | null, more: Partial<Aside> = {}): Aside => ({
    id,
    task_id: `b${id}`,
    kind: 'btw',
    question: `q${id}`,
    text: `a${id}`,
    error: null,
    status: 'complete',
    session_id: null,
    after_id,
    timestamp: '2026-01-01T00:00:00Z',
    ...more,
  });
  const messages = [
    message(11, 'user', 'three'),
    message(12, 'assistant', 'third'),
    message(13, 'user', 'four'),
    message(14, 'assistant', 'fourth'),
  ];
  const order = (items: readonly Item[]) => items.map(({ kind, id }) => `${kind} ${id}`);
  const began = fromSnapshot(
    snapshot({
      messages,
      asides: [aside(5, 9), aside(6, 12), aside(7, 12), aside(8, 14, { status: 'running', text: '' })],
      latest_seq: seq,
    }),
    0,
  );
  t.same(order(began.items), ['aside -5', 'user 11', 'agent 12', 'aside -6', 'aside -7', 'user 13', 'agent 14', 'aside -8']);
  t.match(began.items.at(-1), { running: true, question: 'q8' });
  const answered = play(began, [
    event('prompt.accepted', { message_id: 15, text: 'five', surface: 'cli' }),
    event('btw.complete', { aside_id: 8, task_id: 'b8', question: 'q8', text: 'a8', error: null }),
  ]);
  t.same(order(answered.items).slice(-3), ['agent 14', 'user 15', 'aside -8'], 'the answer stands where it came');
  const older = withOlder(
    answered,
    [message(1, 'user', 'one'), message(9, 'assistant', 'first')],
    [aside(2, null), aside(3, 1), aside(8, 9)],
  );
  t.same(order(older.items).slice(0, 5), ['aside -2', 'user 1', 'aside -3', 'agent 9', 'aside -5'], 'one that is known is not shown again');
  const again = fromSnapshot(
    snapshot({ messages: [...messages, message(15, 'user', 'five')], asides: [aside(6, 12), aside(7, 12), aside(5, 15), aside(8, 15)] }),
    0,
    older,
  );
  t.same(order(again.items).slice(-3), ['user 15', 'aside -5', 'aside -8']);
  t.equal(again.items.filter(({ kind, id }) => kind === 'aside' && id === -5).length, 1);
});

t.test('what is on its way stands below until the transcript holds it, and prompts behind an answer are counted', async (t) => {
  const messages = [
    message(1, 'user', 'one'),
    message(2, 'assistant', 'first'),
    message(3, 'user', 'two'),
    message(4, 'assistant', 'second'),
  ];
  const transcript = fromSnapshot(snapshot({ messages }), 0);
  const prompt = { key: 'k', text: 'three', files: [], busy: null, sentAt: 5, afterId: 4, messageId: null, failure: null };
  const state = { transcript, outgoing: [prompt], echoes: [], failure: null };
  t.match(rowsOf(state, true).at(-2), { kind: 'outgoing', prompt: { text: 'three' } });
  t.match(rowsOf(state, false).at(-1), { kind: 'work', work: { label: 'Waiting for the connection; nothing is lost' } });
  const there = { ...state, transcript: fromSnapshot(snapshot({ messages: [...messages, message(5, 'user', 'three')] }), 0) };
  t.notOk(rowsOf(there, true).some(({ kind }) => kind === 'outgoing'));
  t.same(
    rowsOf(state, true).flatMap((one) => (one.kind === 'item' && one.item.kind === 'agent' ? [one.after] : [])),
    [1, 0],
  );
});

t.test('what a command said stays below the message it was asked at', async (t) => {
  const transcript = fromSnapshot(
    snapshot({ messages: [message(1, 'user', 'one'), message(2, 'assistant', 'first'), message(3, 'user', 'two')] }),
    0,
  );
  const echo = { key: 'e', line: '/usage', state: 'done' as const, text: '1', choices: [], below: { kind: 'agent', id: 2 } };
  t.same(
    rowsOf({ transcript, outgoing: [], echoes: [echo], failure: null }, true).map(({ key }) => key),
    ['beginning', 'user1', 'agent2', 'echoe', 'user3'],
  );
});
