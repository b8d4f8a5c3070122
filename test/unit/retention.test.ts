/** What goes by itself, on a real store without a worker around it. */
import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { EventLog } from '../../services/agent/events.ts';
import { forgetChatNotes } from '../../services/agent/principal.ts';
import { prune, retire, type RetentionParts } from '../../services/agent/retention.ts';
import type { Search } from '../../services/agent/search.ts';
import { Store } from '../../services/agent/store.ts';
import type { Turns } from '../../services/agent/turns.ts';
import { testHome } from '../harness/home.ts';

const DAY_MS = 86_400_000;

function scene(): RetentionParts & {
  add(id: string, more?: Record<string, string | number>): void;
  ids(): string[];
  ended: string[];
} & Disposable {
  const home = testHome();
  const store = new Store(home.stateDb);
  const events = { forget() {}, broadcast() {} } as unknown as EventLog;
  const search = { forget() {} } as unknown as Search;
  const ended: string[] = [];
  const toolbox = { processes: { endSession: async (id: string) => void ended.push(id) } };
  const turns = { isRunning: (id: string) => id === 'running' } as unknown as Turns;
  return {
    store,
    events,
    search,
    turns,
    toolbox,
    ended,
    add(id, { days = 100, hidden = 0, archived = 0, source = 'cli', rows = 2 } = {}) {
      store.run(
        'INSERT INTO sessions (id, source, hidden, archived, last_active) VALUES (?, ?, ?, ?, ?)',
        id,
        source,
        hidden,
        archived,
        Date.now() - Number(days) * DAY_MS,
      );
      for (let n = 1; n <= Number(rows); n++)
        store.run("INSERT INTO messages (session_id, position, role, content) VALUES (?, ?, 'user', ?)", id, n, 'x'.repeat(2_000));
    },
    ids: () => store.all<{ id: string }>('SELECT id FROM sessions ORDER BY id').map(({ id }) => id),
    [Symbol.dispose]() {
      store.close();
      home[Symbol.dispose]();
    },
  };
}

t.test('hidden sessions go after their time; others only when sessions.auto_prune says so', async (t) => {
  using parts = scene();
  parts.add('hidden-old', { hidden: 1, days: 15 });
  parts.add('hidden-new', { hidden: 1, days: 13 });
  parts.add('shown-old', { days: 91 });
  parts.add('shown-new', { days: 89 });
  t.equal(await retire(parts, undefined, Date.now()), 1);
  t.same(parts.ids(), ['hidden-new', 'shown-new', 'shown-old']);
  t.same(parts.ended, ['hidden-old'], 'and what it had left running');
  t.equal(await retire(parts, { auto_prune: true }, Date.now()), 1);
  t.same(parts.ids(), ['hidden-new', 'shown-new']);
  t.equal(await retire(parts, { auto_prune: true, retention_days: 10, hidden_retention_days: 1 }, Date.now()), 2);
});

t.test('sessions that run, wait or belong to a chat stay, archived ones too unless asked for', async (t) => {
  using parts = scene();
  for (const id of ['running', 'waiting', 'chat', 'plain', 'irc']) parts.add(id, { source: id === 'irc' ? 'irc' : 'cli' });
  parts.add('archived', { archived: 1 });
  parts.store.bindConversation('agent:main:irc:group:#room', 'chat');
  parts.store.run("INSERT INTO messages (session_id, role, content) VALUES ('waiting', 'user', 'not yet')");
  t.same(await prune(parts, { nowMs: Date.now(), olderThanDays: 30, dryRun: true }), { removed: 2, skippedOpen: 3, freedBytes: 0 });
  t.match(await prune(parts, { nowMs: Date.now(), olderThanDays: 30, source: 'irc' }), { removed: 1 });
  t.match(await prune(parts, { nowMs: Date.now(), olderThanDays: 30 }), { removed: 1, skippedOpen: 3 });
  t.same(parts.ids(), ['archived', 'chat', 'running', 'waiting']);
  t.match(await prune(parts, { nowMs: Date.now(), olderThanDays: 30, includeArchived: true }), { removed: 1 });
});

t.test('many sessions go in small steps, the loop goes round between them, and the room is given back', async (t) => {
  using parts = scene();
  parts.store.transaction(() => {
    for (let n = 0; n < 300; n++) parts.add(`s${n}`, { rows: 10 });
  });
  let rounds = 0;
  const timer = setInterval(() => rounds++, 0);
  const { removed, freedBytes } = await prune(parts, { nowMs: Date.now(), olderThanDays: 1, max: 200 });
  clearInterval(timer);
  t.equal(removed, 200, 'no more than asked for');
  t.ok(rounds >= 5, `the loop went round ${rounds} times`);
  t.ok(freedBytes > 2_000_000, `${freedBytes} bytes`);
  t.equal(parts.store.db.pragma('freelist_count', { simple: true }), 0);
});

t.test('notes of chats: those that changed theirs last stay', async (t) => {
  using home = testHome();
  const dir = join(home.memories, 'chats');
  for (let n = 0; n < 5; n++) {
    mkdirSync(join(dir, `chat${n}`), { recursive: true });
    utimesSync(join(dir, `chat${n}`), 1_000 + n, 1_000 + ((n + 2) % 5));
  }
  t.equal(forgetChatNotes(home.memories, 5), 0);
  t.equal(forgetChatNotes(home.memories, 3), 2);
  t.same(readdirSync(dir).toSorted(), ['chat0', 'chat1', 'chat2']);
  t.equal(forgetChatNotes(join(home.root, 'none'), 3), 0);
});
