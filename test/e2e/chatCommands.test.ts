/** Slash commands of a chat run once, whatever happens to their answers. */
import Database from 'better-sqlite3';
import t from 'tap';
import { conversationCommand, runTurn } from '../../ipc/contracts/agent.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { sessionHistory, sessionList } from '../../ipc/contracts/rpc.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.test('a command whose answer cannot be stored is not run again: only the storing is', async (t) => {
  await using irc = await startNgircd();
  using home = testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${irc.port}, nick: agent, channels: ["#room"], allowed_users: ["alice"] }\n`,
  });
  let other: Database.Database | undefined;
  await using agent = await fakeAgent(home, () => 'hello', {
    onCommand() {
      other ??= new Database(home.gatewayDb);
      other.exec('BEGIN IMMEDIATE');
    },
  });
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  await until('the gateway is in the room', async () =>
    (await link.call(gateway.platforms, {})).platforms.some(({ state }) => state === 'connected'),
  );
  const alice = await irc.join('alice', '#room');
  alice.say('#room', '/undo');
  await until('storing it has failed', () => {
    const read = readGatewayState(home.gatewayState);
    return read.kind === 'present' && read.state.session_store?.state === 'failing';
  });
  other!.close();
  await until('the answer arrives', () => alice.said('agent', '#room').some((line) => line.includes('/undo was run')));
  t.match(agent.commands, [{ line: '/undo', idempotency_key: /^gateway:\d+$/ }]);
  t.equal(agent.commands.length, 1);
});

t.test('the same key gives the same answer again and runs nothing, also in the next agent worker', async (t) => {
  using home = testHome();
  const session_key = 'agent:default:irc:group:#room';
  const turn = (client: AgentClient, key: string) =>
    client.link.call(runTurn, { session_key, text: 'say: 1 word', idempotency_key: key, surface: 'gateway', platform: 'irc', user: 'ann' });
  const undo = (client: AgentClient, line = '/undo') =>
    client.link.call(conversationCommand, { session_key, line, platform: 'irc', user: 'ann', idempotency_key: 'gateway:7' });
  const prompts = async (client: AgentClient) => {
    const [session] = (await client.link.call(sessionList, { limit: 1 })).sessions;
    const { messages } = await client.link.call(sessionHistory, { session_id: session!.id });
    return messages.filter(({ role }) => role === 'user').length;
  };
  {
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    for (const key of ['a', 'b', 'c', 'd']) await turn(client, key);
    const [first, joined] = await Promise.all([undo(client), undo(client)]);
    t.same(joined, first);
    t.same(await undo(client), first);
    t.equal(await prompts(client), 3);
    await worker.kill('SIGKILL');
  }
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  await undo(client);
  t.equal(await prompts(client), 3);
  await undo(client, '/undo 2');
  t.equal(await prompts(client), 1, 'another line is another command');
});
