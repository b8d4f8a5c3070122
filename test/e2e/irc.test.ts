import Database from 'better-sqlite3';
import t from 'tap';
import { deferred, type Deferred } from '../../base/time.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { engagePause, liftPause } from '../../state/pause.ts';
import { readLog } from '../harness/logs.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startNgircd, type IrcUser, type Ngircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

/** Each waits more than it works: they run side by side. */
t.jobs = 4;
const beside = () => ({ buffered: true });

function ircHome(irc: Ngircd, settings = 'allowed_users: ["*"]', env = ''): TestHome {
  return testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, nick: agent, channels: ["#room"], gather_ms: 0, ${settings} }\n`,
    '.env': env,
  });
}

const ircState = async (worker: TestWorker) => {
  using link = await worker.dial();
  return (await link.call(gateway.platforms, {})).platforms.find(({ platform }) => platform === 'irc')!;
};
const connected = (worker: TestWorker) => until('the gateway is in the room', async () => (await ircState(worker)).state === 'connected');

async function startGateway(home: TestHome): Promise<TestWorker> {
  const worker = await startWorker(home, 'gateway');
  await connected(worker);
  return worker;
}

/** What the agent has said to `target` once it has said `last`. */
async function saidUntil(user: IrcUser, target: string, last: string): Promise<string[]> {
  await until(`the agent says ${JSON.stringify(last)} to ${target}`, () => user.said('agent', target).includes(last));
  return user.said('agent', target);
}

async function enqueue(worker: TestWorker, target: string, text: string): Promise<number> {
  using link = await worker.dial();
  return (await link.call(gateway.enqueueDelivery, { target, text, idempotency_key: `${target} ${text}`, origin: 'cli' })).delivery_id;
}

function outboxStates(home: TestHome): string[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return (db.prepare('SELECT state FROM outbox').all() as { state: string }[]).map((row) => row.state);
  } finally {
    db.close();
  }
}

/** As if it had been stored more than a day ago; the gateway is not running. */
function makeOlder(home: TestHome, id: number): void {
  const db = new Database(home.gatewayDb);
  try {
    db.prepare('UPDATE outbox SET expires_at = ? WHERE id = ?').run(Date.now() - 1, id);
  } finally {
    db.close();
  }
}

t.test('a line in the room is answered in the room, a private one in private', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `you said: ${text}`);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'good morning');
  alice.say('#room', 'agent: and to you');
  alice.say('agent', 'psst');
  t.strictSame(await saidUntil(alice, '#room', 'you said: and to you'), ['you said: good morning', 'you said: and to you']);
  t.strictSame(await saidUntil(alice, 'alice', 'you said: psst'), ['you said: psst']);
  const asked = agent.turns.map(({ session_key, user, surface, platform }) => `${session_key} ${user} ${surface} ${platform}`);
  const [room, person] = ['agent:main:irc:group:#room alice gateway irc', 'agent:main:irc:dm:alice alice gateway irc'];
  t.strictSame(asked.toSorted(), [person, room, room], 'one conversation for the room, one for the person');
  t.equal(worker.child.exitCode, null);
});

t.test('lesson 35: with the gateway killed by SIGKILL between receipt and answer, the answer still arrives, once', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  const slow = deferred<string>();
  await using agent = await fakeAgent(home, ({ text }) => (text === 'slow' ? slow.promise : `${text} heard`));
  const first = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'slow');
  await until('the turn runs', () => agent.turns.length === 1);
  await first[Symbol.asyncDispose]();
  await using second = await startGateway(home);
  await until('the turn is joined', () => agent.calls() === 2);
  slow.resolve('the slow answer');
  await saidUntil(alice, '#room', 'the slow answer');
  alice.say('#room', 'marker');
  t.strictSame(await saidUntil(alice, '#room', 'marker heard'), ['the slow answer', 'marker heard']);
  t.equal(agent.turns.length, 2);
  t.equal(second.child.exitCode, null);
});

t.test('messages for a chat survive a kill of the gateway and a restart of the server, in order and once', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `${text} heard`);
  const first = await startGateway(home);
  await irc.kill();
  await until('the loss is seen', async () => (await ircState(first)).state === 'retrying');
  for (const text of ['one', 'two', 'three']) await enqueue(first, 'irc:#room', text);
  await first[Symbol.asyncDispose]();
  await irc.start();
  // She is there first: what is said to an empty room nobody hears.
  const alice = await irc.join('alice', '#room');
  await using second = await startWorker(home, 'gateway');
  await saidUntil(alice, '#room', 'three');
  alice.say('#room', 'marker');
  t.strictSame(await saidUntil(alice, '#room', 'marker heard'), ['one', 'two', 'three', 'marker heard']);
  t.equal(agent.turns.length, 1);
  t.equal(second.child.exitCode, null);
});

t.test('lesson 36: killed while a line is on its way, it is sent once more and says so, and never a third time', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `${text} heard`);
  const first = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  irc.freeze();
  await enqueue(first, 'irc:#room', 'news');
  await until('the line is on its way', () => outboxStates(home).includes('sending'));
  await first[Symbol.asyncDispose]();
  irc.thaw();
  const second = await startGateway(home);
  await saidUntil(alice, '#room', '(may be a duplicate) news');
  await until('it is settled', () => outboxStates(home).every((state) => state === 'delivered'));
  await second[Symbol.asyncDispose]();
  await using third = await startGateway(home);
  alice.say('#room', 'marker');
  // Whether the server took the first one before the connection broke is what nobody can know.
  const said = await saidUntil(alice, '#room', 'marker heard');
  t.ok(said.filter((line) => line === 'news').length <= 1);
  t.strictSame(
    said.filter((line) => line !== 'news'),
    ['(may be a duplicate) news', 'marker heard'],
  );
  t.equal(agent.turns.length, 1);
  t.equal(third.child.exitCode, null);
});

t.test('lesson 36: a message past its time is never sent, a known key never twice, whatever is killed', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `${text} heard`);
  const first = await startGateway(home);
  await irc.kill();
  await until('the loss is seen', async () => (await ircState(first)).state === 'retrying');
  const stale = await enqueue(first, 'irc:#room', 'stale');
  await enqueue(first, 'irc:#room', 'fresh');
  await first[Symbol.asyncDispose]();
  makeOlder(home, stale);
  await irc.start();
  const alice = await irc.join('alice', '#room');
  const second = await startGateway(home);
  t.strictSame(await saidUntil(alice, '#room', 'fresh'), ['fresh']);
  {
    using link = await second.dial();
    t.match(await link.call(gateway.deliveryStatus, { delivery_id: stale }), { status: 'expired', tries: 0, error: /within a day/ });
  }
  await until('its arrival is on record', () => outboxStates(home).includes('delivered'));
  for (const text of ['stale', 'fresh']) await enqueue(second, 'irc:#room', text);
  await second[Symbol.asyncDispose]();
  await using third = await startGateway(home);
  alice.say('#room', 'marker');
  t.strictSame(await saidUntil(alice, '#room', 'marker heard'), ['fresh', 'marker heard']);
  await until('the answer is on record', () => outboxStates(home).filter((state) => state === 'delivered').length === 2);
  t.strictSame(outboxStates(home).toSorted(), ['delivered', 'delivered', 'expired']);
  t.equal(agent.turns.length, 1);
  t.equal(third.child.exitCode, null);
});

t.test(
  'lesson 37: what waits for a channel is not tried before it is ready, and goes without a restart of the gateway',
  beside(),
  async (t) => {
    await using irc = await startNgircd();
    await irc.kill();
    using home = ircHome(irc);
    await using worker = await startWorker(home, 'gateway');
    await until('the server is missed', async () => (await ircState(worker)).state === 'retrying');
    using link = await worker.dial();
    const statusOf = (delivery_id: number, wait_ms = 0) => link.call(gateway.deliveryStatus, { delivery_id, wait_ms });
    const early = await enqueue(worker, 'irc:#room', 'early');
    t.match(await statusOf(early, 100), { status: 'pending', tries: 0, error: null });
    await irc.start();
    const alice = await irc.join('alice', '#room');
    t.match(await statusOf(early, 20_000), { status: 'delivered', tries: 1 });
    await irc.kill();
    await until('the loss is seen', async () => (await ircState(worker)).state === 'retrying');
    const late = await enqueue(worker, 'irc:#room', 'late');
    await irc.start();
    const again = await irc.join('alice', '#room');
    t.match(await statusOf(late, 20_000), { status: 'delivered', tries: 1 });
    t.strictSame([await saidUntil(alice, '#room', 'early'), await saidUntil(again, '#room', 'late')], [['early'], ['late']]);
    t.equal(worker.child.exitCode, null);
  },
);

t.test('a long answer comes in lines that the protocol carries whole', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  const words = Array.from({ length: 150 }, (_, n) => `wörd${n}`).join(' ');
  await using agent = await fakeAgent(home, () => `first\n\n${words}\n\`\`\`js\ncode()\n\`\`\`\nlast`);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'tell me all');
  const lines = await saidUntil(alice, '#room', 'last');
  t.strictSame([lines[0], lines.at(-2), lines.at(-1)], ['first', 'code()', 'last']);
  t.equal(lines.slice(1, -2).join(' '), words, 'nothing is lost at a cut');
  t.ok(lines.every((line) => Buffer.byteLength(`:agent!agent@host PRIVMSG #room :${line}\r\n`) <= 512));
  t.equal(agent.turns.length, 1);
  t.equal(worker.child.exitCode, null);
});

t.test('strangers get no turn: one refusal in private, none in the room; friends are heard', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc, 'allowed_users: ["Alice"]');
  await using agent = await fakeAgent(home, ({ text }) => `${text} heard`);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  const mallory = await irc.join('mallory', '#room');
  mallory.say('#room', 'let me in');
  for (let n = 0; n < 3; n++) mallory.say('agent', 'let me in');
  await until('the refusal is heard', () => mallory.said('agent', 'mallory').length > 0);
  alice.say('#room', 'hello');
  await saidUntil(mallory, '#room', 'hello heard');
  t.strictSame(
    { turns: agent.turns.length, room: mallory.said('agent', '#room'), private: mallory.said('agent', 'mallory') },
    {
      turns: 1,
      room: ['hello heard'],
      private: ['Sorry, I may not talk to you. The operator can add you to allowed_users.'],
    },
  );
  t.equal(
    readLog(home, 'gateway').filter(({ msg }) => msg.includes('mallory is not in allowed_users')).length,
    1,
    'and one line in the log',
  );
  t.equal(worker.child.exitCode, null);
});

t.test('where it has to be named, only lines that name it are for it', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc, 'allowed_users: ["*"], require_mention: true');
  await using agent = await fakeAgent(home, ({ text }) => `<${text}>`);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  for (const text of ['nothing for you', 'agents are many', 'Agent, one', 'is @agent here?', 'agent: last']) alice.say('#room', text);
  t.strictSame(await saidUntil(alice, '#room', '<last>'), ['<one>', '<is @agent here?>', '<last>']);
  t.equal(agent.turns.length, 3);
  t.equal(worker.child.exitCode, null);
});

t.test('commands in a chat work beside a running turn, and while automation is paused', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  const held: Deferred<string> = deferred();
  await using agent = await fakeAgent(home, ({ text }) => (text === 'think' ? held.promise : `${text} heard`));
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'think');
  await until('the turn runs', () => agent.turns.length === 1);
  alice.say('#room', 'agent: /status');
  await saidUntil(alice, '#room', 'An answer for this chat is being worked on.');
  alice.say('#room', 'agent: /stop');
  await saidUntil(alice, '#room', 'Stopped.');
  t.strictSame(agent.stops, ['agent:main:irc:group:#room']);
  held.resolve('thought');
  await saidUntil(alice, '#room', 'thought');
  engagePause(home.estop, { reason: 'lunch' });
  alice.say('#room', 'are you there');
  alice.say('#room', 'agent: /new');
  await saidUntil(alice, '#room', 'A new conversation starts here.');
  t.strictSame(agent.resets, ['agent:main:irc:group:#room']);
  alice.say('#room', 'agent: /status');
  await saidUntil(alice, '#room', 'Automation is paused (lunch); 1 message(s) wait.');
  alice.say('#room', 'agent: /help');
  await saidUntil(alice, '#room', '/help was run');
  t.equal(agent.turns.length, 1, 'no turn while paused');
  liftPause([home.estop]);
  await saidUntil(alice, '#room', 'are you there heard');
  t.equal(worker.child.exitCode, null);
});

t.test('other commands of a chat are answered by the agent, and one that asks something becomes a turn', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using _cron = await startWorker(home, 'cron');
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'agent: /whoami');
  await saidUntil(alice, '#room', 'You are alice on irc, in #room.');
  alice.say('#room', 'agent: /blueprint reminder');
  await saidUntil(alice, '#room', 'Answer with: /blueprint reminder what=…');
  alice.say('#room', 'agent: /yolo');
  await until('it is refused', () => alice.said('agent', '#room').some((line) => line.includes('/yolo is not for a chat')));
  alice.say('#room', 'agent: /queue say: 3 words');
  await saidUntil(alice, '#room', 'alpha bravo charlie');
  t.equal(worker.child.exitCode, null);
  t.equal(agent.child.exitCode, null);
});

t.test('a taken nick, a kick and a wrong password are lived with or named', beside(), async (t) => {
  await using irc = await startNgircd({ password: 'sesame' });
  using home = ircHome(irc, 'allowed_users: ["*"]', 'IRC_PASSWORD=sesame\n');
  await using agent = await fakeAgent(home, ({ text }) => `${text} heard`);
  const holder = await irc.join('agent', '#room');
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'agent_: hello');
  await until('it answers under another nick', () => alice.said('agent_', '#room').includes('hello heard'));
  holder[Symbol.dispose]();
  alice.say('#room', 'and now');
  await until('it answers', () => alice.lines.some(({ message }) => message === 'and now heard'));
  t.notMatch(worker.output() + JSON.stringify(readLog(home, 'gateway')), 'sesame', 'the password is in no log');
  t.equal(agent.turns.length, 2);

  using wrong = ircHome(irc, 'allowed_users: ["*"]', 'IRC_PASSWORD=guess-guess\n');
  await using refused = await startWorker(wrong, 'gateway');
  const state = await until('it gives up', async () => {
    const now = await ircState(refused);
    return now.state === 'fatal' ? now : undefined;
  });
  t.match(state, { error_code: 'CONFIG_INVALID', error_message: /refuses the password.*correct IRC_PASSWORD in \.env/ });
  t.equal(refused.child.exitCode, null, 'the gateway itself goes on');
});

t.test('lesson 37: what cannot be delivered says why, and does not hold up what can', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, () => 'ok');
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#elsewhere');
  const nobody = await enqueue(worker, 'irc:nobody', 'hello?');
  const elsewhere = await enqueue(worker, 'irc:#Elsewhere', 'hello there');
  using link = await worker.dial();
  t.match(await link.call(gateway.deliveryStatus, { delivery_id: nobody, wait_ms: 10_000 }), {
    status: 'failed',
    error: /nobody: No such nick/,
  });
  t.match(await link.call(gateway.deliveryStatus, { delivery_id: elsewhere, wait_ms: 10_000 }), {
    status: 'delivered',
    tries: 1,
    error: null,
  });
  t.strictSame(
    await saidUntil(alice, '#elsewhere', 'hello there'),
    ['hello there'],
    'a room that is not in the settings is entered for it',
  );
  t.equal(agent.turns.length, 0);
});

t.test('lines that arrive while the store is locked are kept, in order, and the gateway runs on', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `you said: ${text}`);
  await using worker = await startGateway(home);
  using alice = await irc.join('alice', '#room');
  const other = new Database(home.gatewayDb);
  other.exec('BEGIN EXCLUSIVE');
  for (const line of ['one', 'two', 'three']) alice.say('#room', line);
  await until('the gateway waits for its store', () => readLog(home, 'gateway').some(({ msg }) => /wait in memory/.test(String(msg))));
  other.exec('COMMIT');
  other.close();
  t.same(await saidUntil(alice, '#room', 'you said: three'), ['you said: one', 'you said: two', 'you said: three']);
  t.equal(agent.turns.length, 3);
  t.equal(worker.child.exitCode, null, 'the same process');
});
