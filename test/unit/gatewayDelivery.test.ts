import { join } from 'node:path';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { SendError } from '../../services/gateway/adapter.ts';
import { createDelivery } from '../../services/gateway/delivery.ts';
import type { NewMessage } from '../../services/gateway/inbox.ts';
import type { OutboxRow } from '../../services/gateway/outbox.ts';
import { GatewayStore } from '../../services/gateway/store.ts';
import { testHome } from '../harness/home.ts';

const silent = createLogger({ sink: { write() {}, close() {} }, component: 'test' });
const DAY_MS = 86_400_000;

function openStore(t: { teardown(undo: () => void): unknown }): { store: GatewayStore; reopen(): GatewayStore } {
  const home = testHome();
  const path = join(home.root, 'gateway.db');
  const stores = [new GatewayStore(path)];
  t.teardown(() => {
    for (const store of stores) store[Symbol.dispose]();
    home[Symbol.dispose]();
  });
  return {
    store: stores[0]!,
    reopen() {
      stores.push(new GatewayStore(path));
      return stores.at(-1)!;
    },
  };
}

/** A platform whose sends do what `plan` says, one entry per send; everything is fine when it is spent. */
function chatPlatform(plan: (SendError | undefined)[] = []) {
  const sent: string[] = [];
  return {
    sent,
    ready: true,
    isReady() {
      return this.ready;
    },
    split: (_platform: string, _chat: string, text: string) => text.split('|'),
    async send(_platform: string, chat: string, part: string) {
      const failure = plan.shift();
      if (failure?.kind !== 'transient') sent.push(`${chat} ${part}`);
      if (failure) throw failure;
    },
  };
}

const put = (store: GatewayStore, chat: string, text: string): OutboxRow =>
  store.outbox.enqueue({ idempotency_key: `${chat} ${text}`, platform: 'irc', chat, thread: '', text, origin: 'test' }, Date.now()).row;

t.test('messages of a chat arrive in order, each part once, however often they are stored', async (t) => {
  const { store } = openStore(t);
  const platform = chatPlatform();
  const delivery = createDelivery({ store, platforms: platform, log: silent, confirmedNow: Date.now });
  const rows = [put(store, '#a', 'one|two'), put(store, '#b', 'x'), put(store, '#a', 'three'), put(store, '#a', 'one|two')];
  delivery.wake();
  const ends = await Promise.all(rows.map((row) => delivery.settled(row.id, 5_000)));
  t.strictSame(
    ends.map((row) => row!.state),
    Array(4).fill('delivered'),
  );
  t.strictSame(
    platform.sent.filter((line) => line.startsWith('#a')),
    ['#a one', '#a two', '#a three'],
  );
  await delivery.close();
});

t.test('a next try that is further away than any pause is due: the clock was set back since', async (t) => {
  const { store } = openStore(t);
  const platform = chatPlatform();
  const delivery = createDelivery({ store, platforms: platform, log: silent, confirmedNow: Date.now });
  const row = put(store, '#a', 'one');
  store.outbox.postpone(row.id, { nextTryMs: Date.now() + 26 * 3_600_000, error: 'x', counts: true });
  delivery.wake();
  t.match(await delivery.settled(row.id, 5_000), { state: 'delivered' });
  await delivery.close();
});

t.test('lesson 37: how a send ends decides what follows', async (t) => {
  const lost = new SendError('uncertain', 'connection lost');
  const full = new SendError('transient', 'not now', { retryAfterMs: 1 });
  const table = [
    {
      name: 'refused for good: closed, the next one goes',
      plan: [new SendError('permanent', 'banned')],
      states: ['failed', 'delivered'],
      sent: ['#a one', '#a after'],
    },
    {
      name: 'uncertain: once more, with a mark',
      plan: [lost],
      states: ['delivered', 'delivered'],
      sent: ['#a one', '#a (may be a duplicate) one', '#a after'],
    },
    {
      name: 'uncertain twice: never again',
      plan: [lost, lost],
      states: ['uncertain', 'delivered'],
      sent: ['#a one', '#a (may be a duplicate) one', '#a after'],
    },
    {
      name: 'uncertain, then not written: the resend is still owed',
      plan: [lost, full],
      states: ['delivered', 'delivered'],
      sent: ['#a one', '#a (may be a duplicate) one', '#a after'],
    },
    {
      name: 'flood control: waits, counts for nothing',
      plan: [full, full, full, full],
      states: ['delivered', 'delivered'],
      sent: ['#a one', '#a after'],
    },
  ];
  for (const { name, plan, states, sent } of table) {
    const { store } = openStore(t);
    const platform = chatPlatform(plan);
    const delivery = createDelivery({ store, platforms: platform, log: silent, confirmedNow: Date.now });
    const rows = [put(store, '#a', 'one'), put(store, '#a', 'after')];
    delivery.wake();
    await delivery.settled(rows[1]!.id, 5_000);
    t.strictSame({ states: rows.map((row) => store.outbox.get(row.id)!.state), sent: platform.sent }, { states, sent }, name);
    await delivery.close();
  }
});

t.test('lesson 37: a message that cannot be sent waits for its chat and goes as soon as it is ready', async (t) => {
  const { store } = openStore(t);
  const platform = chatPlatform();
  platform.ready = false;
  const delivery = createDelivery({ store, platforms: platform, log: silent, confirmedNow: Date.now });
  const row = put(store, '#a', 'one');
  delivery.wake();
  t.equal((await delivery.settled(row.id, 20))!.state, 'pending');
  platform.ready = true;
  delivery.wake();
  t.match(await delivery.settled(row.id, 5_000), { state: 'delivered', tries: 1 });
  await delivery.close();
});

t.test('lesson 36: what was being sent when the process died is sent once more from where it was, with a mark', async (t) => {
  const { store, reopen } = openStore(t);
  const row = put(store, '#a', 'one|two|three');
  store.outbox.markSending(row.id);
  store.outbox.markPart(row.id, 1);
  const second = reopen();
  t.equal(second.outbox.recover(), 1);
  const platform = chatPlatform();
  const delivery = createDelivery({ store: second, platforms: platform, log: silent, confirmedNow: Date.now });
  delivery.wake();
  t.match(await until(delivery, row.id), { state: 'delivered', resends: 1 });
  t.strictSame(platform.sent, ['#a (may be a duplicate) two', '#a three']);
  await delivery.close();
});

/** `uncertain` counts as settled for callers, so wait for what follows it. */
async function until(delivery: ReturnType<typeof createDelivery>, id: number): Promise<OutboxRow | undefined> {
  await delivery.flush(5_000);
  return delivery.settled(id, 0);
}

t.test('lesson 36: a message older than a day is given up, and a closed one is forgotten after a week', async (t) => {
  const { store } = openStore(t);
  const row = put(store, '#a', 'one');
  t.strictSame(store.outbox.expire(Date.now() + DAY_MS - 1_000), []);
  t.match(store.outbox.expire(Date.now() + DAY_MS + 1_000), [{ id: row.id, state: 'expired' }]);
  store.outbox.prune(Date.now() + 7 * DAY_MS);
  t.ok(store.outbox.get(row.id));
  store.outbox.prune(Date.now() + 9 * DAY_MS);
  t.equal(store.outbox.get(row.id), undefined);
});

const message = (over: Partial<NewMessage> = {}): NewMessage => ({
  platform: 'irc',
  chat: '#a',
  thread: '',
  chat_type: 'group',
  user: 'ann',
  is_owner: 0,
  text: 'hi',
  message_id: 'm1',
  kind: 'message',
  profile: null,
  lane: 'irc:#a',
  session_key: 'irc:#a',
  reply: { platform: 'irc', chat: '#a', thread: '' },
  sent_at: 0,
  ...over,
});

t.test('a message with an id is stored once while the id counts, one without an id each time', async (t) => {
  const { store } = openStore(t);
  const at = (nowMs: number, over: Partial<NewMessage> = {}) => store.inbox.store(message(over), { nowMs, dedupeMs: 1_000 });
  t.strictSame([at(0).duplicate, at(999).duplicate, at(1_001).duplicate, at(1_500).duplicate], [false, true, false, true]);
  t.strictSame(
    [at(0, { chat: '#b' }).duplicate, at(0, { message_id: null }).duplicate, at(0, { message_id: null }).duplicate],
    [false, false, false],
  );
});

t.test('the next message to work on is the oldest of a lane that is free', async (t) => {
  const { store } = openStore(t);
  const add = (lane: string, kind: NewMessage['kind'] = 'message') =>
    store.inbox.store(message({ lane, kind, message_id: null }), { nowMs: 0, dedupeMs: 0 }).id;
  const [a1, , b1] = [add('a'), add('a'), add('b')];
  add('c', 'command');
  t.equal(store.inbox.nextReceived([], [], 'default')!.id, a1);
  t.equal(store.inbox.nextReceived(['a'], [], 'default')!.id, b1);
  t.equal(store.inbox.nextReceived(['a', 'b'], [], 'default'), undefined, 'a command is not work for the agent');
});
