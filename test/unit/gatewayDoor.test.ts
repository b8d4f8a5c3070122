import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { createLogger } from '../../base/log.ts';
import { isAuthentic, MinuteRate } from '../../services/gateway/adapters/webhookAuth.ts';
import { Guesses, senderOf } from '../../services/gateway/adapters/webhookGuesses.ts';
import { fillTemplate } from '../../services/gateway/adapters/webhookTemplate.ts';
import { allowRules, isAllowed } from '../../services/gateway/allowlist.ts';
import { commandOf } from '../../services/gateway/commands.ts';
import { conversationKey } from '../../services/gateway/conversations.ts';
import { createDoor } from '../../services/gateway/door.ts';
import type { Platforms } from '../../services/gateway/platforms.ts';
import { readUndelivered } from '../../state/undelivered.ts';
import { GatewayStore } from '../../services/gateway/store.ts';
import { parseTarget } from '../../services/gateway/targets.ts';
import { sentenceOf } from '../../services/gateway/replies.ts';
import type { WorkerContext } from '../../services/worker.ts';
import { testHome } from '../harness/home.ts';

t.test('nobody is let in unless a rule names them, a mask covers them, or everybody is welcome', async (t) => {
  const alice = ['Alice', 'Alice!al@home.example'];
  const table: [string[], boolean][] = [
    [[], false],
    [['bob'], false],
    [['alice'], true],
    [['ali'], false],
    [['*!*@home.example'], true],
    [['*!*@home.exampl'], false],
    [['a.ice'], false],
    [['*'], true],
  ];
  t.strictSame(
    table.map(([rules]) => [rules, isAllowed(rules, alice)]),
    table,
  );
});

t.test('the environment adds to the allowlist of the settings', async (t) => {
  const secrets = (env: Record<string, string>) => ({ get: (name: string) => env[name], names: () => [], values: () => [] });
  t.strictSame(allowRules('irc', ['ann'], secrets({ IRC_ALLOWED_USERS: 'bob, cid', GATEWAY_ALLOWED_USERS: 'dan' })), [
    'ann',
    'bob',
    'cid',
    'dan',
  ]);
  t.strictSame(allowRules('irc', undefined, secrets({})), []);
  t.strictSame(allowRules('irc', undefined, secrets({ IRC_ALLOW_ALL_USERS: 'true' })), ['*']);
});

t.test('a template takes nested values, leaves unknown keys as written and cuts what is long', async (t) => {
  const payload = { status: 'red', repo: { name: 'x', tags: ['a', 'b'] }, n: 0, no: null, long: 'y'.repeat(3_000) };
  const fill = (template: string) => fillTemplate(template, payload, JSON.stringify(payload));
  t.equal(fill('{status} {repo.name} {repo.tags.1} {n} {no}'), 'red x b 0 null');
  t.equal(
    fill('{unknown} {repo.nope} {__proto__} {constructor.name} {status.length}'),
    '{unknown} {repo.nope} {__proto__} {constructor.name} {status.length}',
  );
  t.equal(fill('{repo}'), '{"name":"x","tags":["a","b"]}');
  t.match(fill('{long}'), /^y{2000}… \(1000 more characters\)$/);
  t.match(fill('{__raw__}'), /^\{"status":"red"/);
  t.equal(fillTemplate('{a}', { a: '{b}', b: 'no' }, ''), '{b}', 'a value is not a template');
});

t.test('a delivery is authentic by signature or token, and never without a secret', async (t) => {
  const body = Buffer.from('{"a":1}');
  const signature = `sha256=${createHmac('sha256', 's3cret').update(body).digest('hex')}`;
  const table: [string, string | undefined, Record<string, string>, boolean][] = [
    ['signature', 's3cret', { 'x-hub-signature-256': signature }, true],
    ['signature of another secret', 'other', { 'x-hub-signature-256': signature }, false],
    ['empty signature', 's3cret', { 'x-hub-signature-256': '' }, false],
    [
      'a wrong signature is not saved by a right token',
      's3cret',
      { 'x-hub-signature-256': 'sha256=00', 'x-webhook-secret': 's3cret' },
      false,
    ],
    ['token', 's3cret', { 'x-gitlab-token': 's3cret' }, true],
    ['own token header', 's3cret', { 'x-webhook-secret': 's3cret' }, true],
    ['wrong token', 's3cret', { 'x-webhook-secret': 's3cre' }, false],
    ['nothing', 's3cret', {}, false],
    ['no secret set', undefined, { 'x-webhook-secret': '' }, false],
    ['open on purpose', 'INSECURE_NO_AUTH', {}, true],
  ];
  for (const [name, secret, headers, want] of table) t.equal(isAuthentic(secret, headers, body), want, name);
});

t.test('a rate lets so many through in any minute and says when there is room', async (t) => {
  const rate = new MinuteRate(2);
  t.strictSame(
    [rate.take(0), rate.take(10_000), rate.take(20_000), rate.take(59_999), rate.take(60_001), rate.take(60_002)],
    [0, 0, 40_000, 1, 0, 9_998],
  );
});

t.test('addresses that guess are remembered up to a bound, the oldest go first', async (t) => {
  const guesses = new Guesses();
  const { webhookPerMinute, webhookSendersMax } = limits.gateway;
  for (let n = 0; n < webhookPerMinute; n++) guesses.wrong('first', 0);
  t.equal(guesses.waitMs('first', 1_000), 59_000);
  guesses.right('other', 0);
  for (let n = 0; n < webhookSendersMax; n++) guesses.wrong(`address ${n}`, 1_000);
  t.equal(guesses.waitMs('other', 2_000), 0, 'one that was right is heard');
  t.equal(guesses.waitMs('stranger', 2_000), 58_000, 'the bound over all');
  t.equal(guesses.waitMs('first', 61_001), 0);
});

t.test('a sender is its address; what it writes into X-Forwarded-For counts from a proxy on this machine alone', async (t) => {
  const table: [string, string | undefined, string][] = [
    ['198.51.100.7', undefined, '198.51.100.7'],
    ['198.51.100.7', '192.0.2.1', '198.51.100.7'],
    ['::ffff:198.51.100.7', '192.0.2.1', '198.51.100.7'],
    ['127.0.0.1', '192.0.2.9, 192.0.2.1', '192.0.2.1'],
    ['::1', '2001:db8:1:2:3::4', '2001:db8:1:2'],
    ['::ffff:127.0.0.1', '192.0.2.1, nonsense', '127.0.0.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
  ];
  for (const [remoteAddress, forwarded, want] of table) {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    t.equal(senderOf({ socket: { remoteAddress }, headers } as never), want, `${remoteAddress} ${forwarded}`);
  }
});

t.test('a slash and a name is a command; a path and a word in the middle are talk', async (t) => {
  const texts = ['/new', ' /RESET ', '/stop', '/plan the week', '/reload-mcp', 'say /new', '/usr/bin/env x', '/', '/ 2', '//'];
  t.strictSame(texts.map(commandOf), ['new', 'new', 'stop', 'plan', 'reload-mcp', undefined, undefined, undefined, undefined, undefined]);
});

t.test('a conversation is named by profile, platform, kind, chat and thread', async (t) => {
  const place = { profile: 'default', platform: 'irc', chatType: 'group', chat: '#room', thread: '' };
  t.equal(conversationKey(place), 'agent:main:irc:group:#room');
  t.equal(conversationKey({ ...place, profile: 'work', thread: '7' }), 'agent:work:irc:group:#room+7');
});

t.test('a target is a platform, a chat and a thread', async (t) => {
  t.strictSame(parseTarget('irc'), { platform: 'irc', chat: undefined, thread: '' });
  t.strictSame(parseTarget(' IRC:#room '), { platform: 'irc', chat: '#room', thread: '' });
  t.strictSame(parseTarget('slack:C1:77'), { platform: 'slack', chat: 'C1', thread: '77' });
  for (const wrong of ['', ':#room', 'irc:', 'irc:a b', 'irc:a:b:c', 'irc:a\r\nQUIT'])
    t.equal(parseTarget(wrong), undefined, JSON.stringify(wrong));
});

t.test('a problem becomes one sentence with its remedy and without a stack', async (t) => {
  t.equal(
    sentenceOf({ code: 'NO_PROVIDER', message: 'no model is set', fix: 'set model.default' }),
    'Sorry, that did not work: no model is set (set model.default)',
  );
  t.equal(sentenceOf(new TypeError('x is not a function')), 'Sorry, something went wrong inside the service; its log has the details.');
});

/** A door into `store`, and a person who writes through it. */
function openDoor(store: GatewayStore, gatherMs: number) {
  const log = createLogger({ sink: { write() {}, close() {} }, component: 'test' });
  const secrets = () => ({ get: () => undefined, names: () => [], values: () => [] });
  const door = createDoor({
    context: { log, profile: 'default', secrets } as unknown as WorkerContext,
    store,
    platforms: { settings: () => ({ allowed_users: ['*'] }) } as unknown as Platforms,
    gatherMs: () => gatherMs,
    onMessage() {},
    onCommand() {},
    isAnswer: () => false,
    onReply() {},
  });
  return (chat: string, text: string, user = 'ann') =>
    door.receive('irc', { chat, chatType: 'group', user, identities: [user], text, messageId: null, at: 0 }).kind;
}

const { inboxPerChatMax } = limits.gateway;

t.test('lines that become one prompt count as one waiting message', async (t) => {
  using home = testHome();
  using store = new GatewayStore(join(home.root, 'gateway.db'));
  const say = openDoor(store, limits.gateway.ircGatherMaxMs);
  const paste = Array.from({ length: inboxPerChatMax + 50 }, (_, n) => say('#a', `line ${n}`));
  t.strictSame(new Set(paste), new Set(['stored']));
  const parted = Array.from({ length: inboxPerChatMax + 3 }, (_, n) => say('#b', 'mine', n % 2 ? 'ann' : 'bob'));
  t.equal(parted.filter((kind) => kind === 'full').length, 3, 'lines of two people by turns are not gathered');
  const long = Array.from({ length: inboxPerChatMax + 3 }, () => say('#c', 'x'.repeat(limits.gateway.gatherMaxBytes)));
  t.ok(long.includes('full'), 'nor are more bytes than one prompt holds');
});

t.test('a chat that writes faster than it is answered is told once, and loses nothing that was taken', async (t) => {
  using home = testHome();
  using store = new GatewayStore(join(home.root, 'gateway.db'));
  const say = openDoor(store, 0);
  const kinds = Array.from({ length: limits.gateway.inboxPerChatMax + 3 }, (_, n) => say('#a', `line ${n}`));
  t.strictSame(
    [kinds.filter((kind) => kind === 'stored').length, kinds.filter((kind) => kind === 'full').length],
    [limits.gateway.inboxPerChatMax, 3],
  );
  t.equal(say('#b', 'hello'), 'stored', 'another chat is not concerned');
  t.equal(say('#a', '/stop'), 'stored', 'a command always gets through');
  t.strictSame(store.outbox.openChats(), [{ platform: 'irc', chat: '#a', thread: '' }]);
  t.equal(store.outbox.countOpen(), 1, 'one notice for all three');
});

t.test('a message that failed permanently is listed with every line gathered into it', async (t) => {
  using home = testHome();
  using store = new GatewayStore(home.gatewayDb);
  const say = openDoor(store, 0);
  for (const text of ['one', 'two', 'three']) say('#a', text);
  const [first, ...lines] = store.inbox.after({ ...store.inbox.get(1)!, id: 0 }, 10);
  store.inbox.submit(first!, lines);
  store.inbox.close(first!.id, 'failed', Date.now(), 'no');
  t.match(readUndelivered(home), [{ id: 'm1', text: 'one\ntwo\nthree' }]);
});
