/** The page's picture of a session: a pure function of snapshot and numbered events. */
import t from 'tap';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import type { Message, SessionInfo, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import { fromSnapshot } from '../../web/chat/snapshot.ts';
import { applyEvent, type Transcript } from '../../web/chat/transcript.ts';

const info: SessionInfo = {
  model: 'rehearsal',
  provider: 'demo',
  reasoning_effort: null,
  reasoning_effort_wire: null,
  service_tier: null,
  fast: false,
  approval_mode: 'manual',
  safe_mode: false,
  context_max: null,
  context_used: null,
  usage: { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0, model_calls: 0, cost_usd: null },
  scripted: true,
  cwd: '/',
  tools: [],
  running: false,
  title: null,
  version: '0',
  credential_warning: null,
};
const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  session_id: 's',
  messages: [],
  status: 'idle',
  inflight: null,
  queued: [],
  plan: { todos: [], revision: 0 },
  open_requests: [],
  pending_connection: null,
  info,
  latest_seq: 0,
  epoch: 'e',
  ...more,
});
const row = (id: number, role: Message['role'], content: string, more: Partial<Message> = {}): Message => ({
  id,
  role,
  content,
  tool_calls: null,
  tool_call_id: null,
  tool_name: null,
  reasoning: null,
  finish_reason: role === 'assistant' ? 'stop' : null,
  is_error: false,
  error: null,
  duration_ms: null,
  attachments: null,
  kind: 'plain',
  in_context: true,
  timestamp: '2026-01-01T00:00:00Z',
  ...more,
});
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
        row(1, 'user', 'go'),
        row(2, 'assistant', 'I look.', {
          reasoning: 'hm',
          finish_reason: 'tool_calls',
          tool_calls: [{ id: 'a', name: 'terminal', args: { command: 'ls' } }],
        }),
        row(3, 'tool', 'file', { tool_call_id: 'a', tool_name: 'terminal' }),
        row(4, 'assistant', 'There it is'),
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
  const writing = fromSnapshot(snapshot({ messages: [row(1, 'user', 'go')], status: 'working', inflight, latest_seq: 4 }), 5_000);
  t.match(writing.turn, { phase: 'writing', startedAt: 1_000 });
  t.same(play(writing, events).items, whole.items);

  const asked = row(2, 'assistant', 'I look.', {
    reasoning: 'hm',
    finish_reason: 'tool_calls',
    tool_calls: [{ id: 'a', name: 'terminal', args: { command: 'ls' } }],
  });
  const tools = [{ tool_id: 'a', name: 'terminal', args: { command: 'ls' } }];
  const using = fromSnapshot(
    snapshot({
      messages: [row(1, 'user', 'go'), asked],
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
