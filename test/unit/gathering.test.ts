import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { gatherAfter } from '../../services/gateway/gathering.ts';
import type { InboxRow, NewMessage } from '../../services/gateway/inbox.ts';
import { GatewayStore } from '../../services/gateway/store.ts';
import { testHome } from '../harness/home.ts';

const message = (text: string, more: Partial<NewMessage> = {}): NewMessage => ({
  platform: 'irc',
  chat: '#a',
  thread: '',
  chat_type: 'group',
  user: 'alice',
  is_owner: 0,
  text,
  message_id: null,
  kind: 'message',
  lane: 'lane',
  session_key: 'lane',
  reply: null,
  profile: null,
  sent_at: 0,
  ...more,
});

const START = 1_000_000;
type Line = [atMs: number, text: string, more?: Partial<NewMessage>];

/** What a prompt that begins with the first of these lines becomes, looked at `nowMs` after it. */
function gather(t: { teardown(undo: () => void): unknown }, lines: Line[], nowMs: number): number {
  const home = testHome();
  const store = new GatewayStore(join(home.root, 'gateway.db'));
  t.teardown(() => {
    store[Symbol.dispose]();
    home[Symbol.dispose]();
  });
  const ids = lines.map(([at, text, more]) => store.inbox.store(message(text, more), { nowMs: START + at, dedupeMs: 0 }).id);
  const first = store.inbox.get(ids[0]!) as InboxRow;
  const gathered = gatherAfter(store.inbox, first, { gatherMs: 1_000, nowMs: START + nowMs });
  return gathered.kind === 'open' ? -gathered.waitMs : gathered.lines.length + 1;
}

const { gatherLinesMax, gatherMaxBytes } = limits.gateway;
const many = (count: number, size: number): Line[] => Array.from({ length: count }, (_, n) => [n, 'x'.repeat(size)]);

/** `want`: lines of the complete prompt; negative = so many milliseconds are waited for more. */
const cases: { name: string; lines: Line[]; nowMs: number; want: number }[] = [
  { name: 'one line waits out the pause', lines: [[0, 'a']], nowMs: 300, want: -700 },
  { name: 'and is complete after it', lines: [[0, 'a']], nowMs: 1_000, want: 1 },
  {
    name: 'each further line renews the pause',
    lines: [
      [0, 'a'],
      [900, 'b'],
    ],
    nowMs: 1_200,
    want: -700,
  },
  {
    name: 'a later line is another message',
    lines: [
      [0, 'a'],
      [1_001, 'b'],
    ],
    nowMs: 1_001,
    want: 1,
  },
  { name: 'no line waits longer than the bound', lines: Array.from({ length: 6 }, (_, n) => [n * 950, 'a']), nowMs: 4_800, want: -200 },
  {
    name: 'another person parts',
    lines: [
      [0, 'a'],
      [1, 'b'],
      [2, 'c', { user: 'bob' }],
    ],
    nowMs: 3,
    want: 2,
  },
  {
    name: 'other rights part',
    lines: [
      [0, 'a'],
      [1, 'b', { is_owner: 1 }],
    ],
    nowMs: 3,
    want: 1,
  },
  {
    name: 'a command parts',
    lines: [
      [0, 'a'],
      [1, '/stop', { kind: 'command' }],
      [2, 'b'],
    ],
    nowMs: 3,
    want: 1,
  },
  {
    name: 'a command that waits is alone',
    lines: [
      [0, '/x', { kind: 'deferred' }],
      [1, 'b'],
    ],
    nowMs: 3,
    want: 1,
  },
  {
    name: 'lines of another chat do not count',
    lines: [
      [0, 'a'],
      [1, 'b', { lane: 'other' }],
    ],
    nowMs: 3,
    want: -997,
  },
  { name: 'the number of lines is bounded', lines: many(gatherLinesMax + 5, 1), nowMs: 250, want: gatherLinesMax },
  { name: 'the size is bounded', lines: many(20, 1_023), nowMs: 30, want: gatherMaxBytes / 1_024 },
  { name: 'a clock set back waits for nothing', lines: [[0, 'a']], nowMs: -60_000, want: 1 },
];

for (const { name, lines, nowMs, want } of cases)
  t.test(name, async (t) => {
    t.equal(gather(t, lines, nowMs), want);
  });

t.test('a prompt that was formed stays as it was formed', async (t) => {
  using home = testHome();
  using store = new GatewayStore(join(home.root, 'gateway.db'));
  const put = (text: string) => store.inbox.get(store.inbox.store(message(text), { nowMs: START, dedupeMs: 0 }).id)!;
  const [first, second] = [put('a'), put('b')];
  store.inbox.submit(first, [second]);
  put('c');
  store.inbox.giveBack(first.id);
  const again = store.inbox.nextReceived([], [], 'default')!;
  t.equal(again.id, first.id);
  t.strictSame(gatherAfter(store.inbox, again, { gatherMs: 1_000, nowMs: START }), { kind: 'complete', lines: [] });
  t.equal(store.inbox.promptOf(again), 'a\nb');
  store.inbox.close(first.id, 'failed', START);
  t.equal(store.inbox.get(second.id)!.closed_at, START);
  t.ok(store.inbox.revive(first.id));
  t.equal(store.inbox.get(second.id)!.closed_at, null);
  t.equal(store.inbox.promptOf(first), 'a\nb');
});
