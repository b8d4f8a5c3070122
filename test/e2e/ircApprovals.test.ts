import t from 'tap';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startNgircd, type IrcUser, type Ngircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

t.jobs = 3;
const beside = () => ({ buffered: true });

function ircHome(irc: Ngircd): TestHome {
  const settings = 'allowed_users: ["alice", "carol"]';
  const home = testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, nick: agent, channels: ["#room", "#other"], ${settings} }\nplatform_toolsets: { irc: [terminal, clarify] }\n`,
  });
  mkdirSync(join(home.root, 'old'));
  return home;
}

async function startGateway(home: TestHome): Promise<TestWorker> {
  const worker = await startWorker(home, 'gateway');
  await until('the gateway is in the room', async () => {
    using link = await worker.dial();
    return (await link.call(gateway.platforms, {})).platforms.some(({ state }) => state === 'connected');
  });
  return worker;
}

function outboxStates(home: TestHome): string[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return (db.prepare('SELECT state FROM outbox').all() as { state: string }[]).map((row) => row.state);
  } finally {
    db.close();
  }
}

const hears = (user: IrcUser, target: string, what: RegExp, count = 1) =>
  until(`${String(what)} in ${target}`, () => user.said('agent', target).filter((line) => what.test(line)).length >= count);

t.test(
  'a dangerous command of a chat turn is asked about in that chat alone, and only those who may talk there answer',
  beside(),
  async (t) => {
    await using irc = await startNgircd();
    using home = ircHome(irc);
    await using _agent = await startWorker(home, 'agent', { demo: true });
    await using _gateway = await startGateway(home);
    const alice = await irc.join('alice', '#room');
    const mallory = await irc.join('mallory', '#room');
    const carol = await irc.join('carol', '#other');
    const dir = join(home.root, 'old');
    alice.say('#room', `run: rm -r ${dir}`);
    await hears(alice, '#room', /\/approve, \/approve session or \/deny/);
    t.match(
      alice.said('agent', '#room').join('\n'),
      `May terminal run this?\nrm -r ${dir}\n(rm -r deletes folders with everything in them)`,
    );
    mallory.say('#room', '/approve');
    carol.say('#other', '/approve@agent');
    await hears(carol, '#other', /^Nothing waits for an answer here/);
    t.ok(existsSync(dir), 'neither a stranger nor another chat lets it run');
    alice.say('#room', '/approve');
    await hears(alice, '#room', /^Approved/);
    await hears(alice, '#room', /^terminal returned/);
    t.notOk(existsSync(dir));
    mkdirSync(dir);
    alice.say('#room', `run: rm -r ${dir}`);
    await hears(alice, '#room', /or \/deny/, 2);
    alice.say('#room', '/deny');
    await hears(alice, '#room', /DENIED: the user denied this/);
    t.ok(existsSync(dir));
  },
);

t.test('a question of the agent is answered in plain words, past the line of messages', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using _gateway = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', 'tool: clarify {"questions":[{"question":"Which colour?","choices":["red","blue"]},{"question":"How many?"}]}');
  await hears(alice, '#room', /^Which colour\? \(1 of 2\)/);
  await hears(alice, '#room', /^Answer with a number/);
  alice.say('#room', '2');
  await hears(alice, '#room', /^How many\? \(2 of 2\)/);
  alice.say('#room', 'about seven');
  await hears(alice, '#room', /→ about seven/);
  t.match(alice.said('agent', '#room').join('\n'), /Which colour\?\n→ blue/);
});

t.test('a question survives the gateway that asked it', beside(), async (t) => {
  await using irc = await startNgircd();
  using home = ircHome(irc);
  await using _agent = await startWorker(home, 'agent', { demo: true });
  const first = await startGateway(home);
  const alice = await irc.join('alice', '#room');
  alice.say('#room', `run: rm -r ${join(home.root, 'old')}`);
  await hears(alice, '#room', /or \/deny/);
  await until('it is known to be delivered', () => outboxStates(home).every((state) => state === 'delivered'));
  await first[Symbol.asyncDispose]();
  await using _second = await startGateway(home);
  alice.say('#room', '/approve');
  await hears(alice, '#room', /^terminal returned/);
  t.notOk(existsSync(join(home.root, 'old')));
  t.equal(alice.said('agent', '#room').filter((line) => /or \/deny/.test(line)).length, 1, 'asked once');
});
