/** Lines of one person that belong together, answers that are too long, and their end. */
import t from 'tap';
import { deferred } from '../../base/time.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { GatewayStore } from '../../services/gateway/store.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startNgircd, type Ngircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

t.jobs = 3;
const beside = () => ({ buffered: true });

function ircHome(irc: Ngircd, settings = ''): TestHome {
  return testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, channels: ["#room"], allowed_users: ["*"]${settings} }\n`,
  });
}

async function startGateway(home: TestHome): Promise<TestWorker> {
  const worker = await startWorker(home, 'gateway');
  await until('the gateway is in the room', async () => {
    using link = await worker.dial();
    return (await link.call(gateway.platforms, {})).platforms.some(({ state }) => state === 'connected');
  });
  return worker;
}

function rows<T>(home: TestHome, sql: string): T[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

const long = (word: string, count: number): string => Array.from({ length: count }, (_, n) => `${word} ${n + 1}`).join('\n');
const paste = (count: number): string[] => Array.from({ length: count }, (_, n) => `line ${n + 1}`);

t.test('pasted lines are one turn with one answer, and every line is closed with it', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using agent = await fakeAgent(home, ({ text }) => `${text.split('\n').length} lines read`);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  for (const line of paste(20)) alice.say('#room', line);
  await until('the answer is heard', () => alice.said('agent', '#room').includes('20 lines read'));
  t.strictSame(
    agent.turns.map(({ text }) => text),
    [paste(20).join('\n')],
  );
  t.strictSame(rows(home, 'SELECT state, COUNT(*) AS n, COUNT(closed_at) AS closed FROM inbox GROUP BY state ORDER BY state'), [
    { state: 'answered', n: 1, closed: 1 },
    { state: 'gathered', n: 19, closed: 19 },
  ]);
  t.equal(worker.child.exitCode, null);
});

t.test('another person and a command part the lines', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  const held = deferred<string>();
  await using agent = await fakeAgent(home, ({ text }) => (text === 'first' ? held.promise : `<${text.split('\n').length}>`));
  await using worker = await startGateway(home);
  const [alice, bob] = [await irc.join('alice', '#room'), await irc.join('bob', '#room')];
  alice.say('#room', 'first');
  await until('it runs', () => agent.turns.length === 1);
  for (const line of paste(2)) alice.say('#room', line);
  await until('they are stored', () => rows(home, 'SELECT 1 FROM inbox').length === 3);
  bob.say('#room', 'and me');
  await until('it is stored', () => rows(home, 'SELECT 1 FROM inbox').length === 4);
  bob.say('#room', '/whoami');
  await until('it is answered', () => alice.said('agent', '#room').includes('You are bob on irc, in #room.'));
  bob.say('#room', 'me again');
  await until('it is stored', () => rows(home, 'SELECT 1 FROM inbox').length === 6);
  held.resolve('done');
  await until('all are closed', () => rows(home, 'SELECT 1 FROM inbox WHERE closed_at IS NULL').length === 0);
  t.strictSame(
    agent.turns.map(({ text }) => text),
    ['first', 'line 1\nline 2', 'and me', 'me again'],
  );
  t.equal(worker.child.exitCode, null);
});

t.test('killed while lines are gathered or answered, the gateway asks once for all of them', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc, ', gather_ms: 5000');
  const slow = deferred<string>();
  await using agent = await fakeAgent(home, ({ text }) => (text.startsWith('line 1') ? slow.promise : `${text} heard`));
  const first = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  for (const line of paste(5)) alice.say('#room', line);
  await until('the lines are stored', () => rows(home, 'SELECT 1 FROM inbox').length === 5);
  t.equal(agent.turns.length, 0, 'more may follow');
  await first[Symbol.asyncDispose]();
  const second = await startGateway(home);
  await until('the turn runs', () => agent.turns.length === 1);
  await second[Symbol.asyncDispose]();
  await using third = await startGateway(home);
  await until('the turn is joined', () => agent.calls() === 2);
  slow.resolve('all heard');
  await until('the answer is heard', () => alice.said('agent', '#room').includes('all heard'));
  t.strictSame(
    agent.turns.map(({ text }) => text),
    [paste(5).join('\n')],
  );
  await until('all are closed', () => rows(home, 'SELECT 1 FROM inbox WHERE closed_at IS NULL').length === 0);
  t.equal(third.child.exitCode, null);
});

t.test('a command ends the wait for more lines, so that /stop finds their turn', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc, ', gather_ms: 10000');
  const held = deferred<string>();
  await using agent = await fakeAgent(home, () => held.promise);
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'think');
  alice.say('#room', '/stop');
  await until('the turn runs', () => agent.turns.length === 1);
  await until('it is stopped', () => agent.stops.length === 1);
  held.resolve('');
  t.equal(worker.child.exitCode, null);
});

t.test('where it has to be named, the lines that follow a named one at once belong to it', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc, ', require_mention: true');
  await using agent = await fakeAgent(home, () => 'ok');
  await using worker = await startGateway(home);
  const [alice, bob] = [await irc.join('alice', '#room'), await irc.join('bob', '#room')];
  bob.say('#room', 'not for it');
  alice.say('#room', 'agent: a long line');
  alice.say('#room', 'and its end');
  await until('it is answered', () => alice.said('agent', '#room').includes('ok'));
  t.strictSame(
    agent.turns.map(({ text }) => text),
    ['a long line\nand its end'],
  );
  t.equal(worker.child.exitCode, null);
});

t.test('/stop ends an answer that is being sent, and its own answer is the last line', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using _agent = await fakeAgent(home, ({ text }) => long(text, 2_000));
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  const said = () => alice.said('agent', '#room');
  alice.say('#room', 'drop');
  await until('it pours', () => said().includes('drop 6'));
  alice.say('#room', '/stop');
  await until('it is stopped', () => said().includes('Stopped.'));
  const before = said();
  t.ok(before.length < 12, `${before.length} lines`);
  t.equal(before.at(-1), 'Stopped.');
  alice.say('#room', '/more');
  await until('there is no more', () => said().includes('There is nothing more to show.'));
  t.equal(said().length, before.length + 1, 'not one of its lines came after the answer to /stop');
  t.match(rows(home, "SELECT state, error FROM outbox WHERE text LIKE 'drop%'"), [{ state: 'discarded', error: /stopped/ }]);
  t.equal(worker.child.exitCode, null);
});

t.test('/more shows what was cut off the last message', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  {
    using store = new GatewayStore(home.gatewayDb);
    const message = { idempotency_key: 'k', platform: 'irc', chat: '#room', thread: '', text: long('row', 63), origin: 'gateway' };
    store.outbox.close(store.outbox.enqueue(message, Date.now()).row.id, 'delivered', Date.now());
  }
  await using _agent = await fakeAgent(home, () => 'ok');
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  for (let n = 0; n < 2; n++) alice.say('#room', '/more');
  await until('there is no more', () => alice.said('agent', '#room').includes('There is nothing more to show.'));
  t.strictSame(alice.said('agent', '#room'), ['row 60', 'row 61', 'row 62', 'row 63', 'There is nothing more to show.']);
  t.equal(worker.child.exitCode, null);
});

t.test('a line that stands for a file is not shown in an answer', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using _agent = await fakeAgent(home, () => 'Here it is:\nMEDIA:/srv/private/plan.png\nDone.');
  await using worker = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'draw');
  await until('it is answered', () => alice.said('agent', '#room').includes('Done.'));
  t.notMatch(alice.said('agent', '#room').join(' '), /private/);
  t.equal(worker.child.exitCode, null);
});
