/** One session, two principals: the owner prompts from a terminal in the session of a chat, and the chat writes into it meanwhile. */
import t from 'tap';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { conversationCommand, runTurn } from '../../ipc/contracts/agent.ts';
import { sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { approvalPending, approvalRespond } from '../../ipc/contracts/rpcRequests.ts';
import { sessionQueue, sessionSteer } from '../../ipc/contracts/rpcSessions.ts';
import type { AgentClient } from '../harness/agentClient.ts';
import { anew, startProviderStage } from '../harness/providerStage.ts';
import { until } from '../harness/until.ts';

const stage = await startProviderStage(t, 'approvals: { mode: manual }\nplatform_toolsets: { irc: [terminal] }\n');
const KEY = 'agent:default:irc:group:#room';
let keys = 0;

const ask = (client: AgentClient, text: string) =>
  client.link.call(runTurn, {
    session_key: KEY,
    text,
    idempotency_key: `k${keys++}`,
    surface: 'gateway',
    platform: 'irc',
    user: 'mallory',
  });
const command = (client: AgentClient, line: string) =>
  client.link.call(conversationCommand, { session_key: KEY, line, platform: 'irc', user: 'mallory' });
const runs = (line: string) => ({ toolCalls: [{ name: 'terminal', args: JSON.stringify({ command: line }) }] });

/** The session of the chat, after its first message. */
async function chatSession({ client, provider }: typeof stage): Promise<string> {
  provider.answer({ text: 'hello' });
  await ask(client, 'hi');
  const { sessions } = await client.link.call(sessionList, { limit: 10 });
  return sessions.find(({ source }) => source === 'irc')!.id;
}
const queued = async (client: AgentClient, session_id: string) =>
  (await client.link.call(sessionResume, { session_id })).queued.map(({ text }) => text);

t.test('a text of a chat never joins a turn of the owner, and /queue there reaches only what the chat wrote', async (t) => {
  const { client, provider, home } = anew(stage);
  const session_id = await chatSession(stage);
  provider.answer(runs(`until [ -e ${home.root}/go ]; do sleep 0.02; done; echo waited`), { text: 'owner done' }, { text: 'chat done' });
  await client.submit(session_id, 'OWNERPROMPT', { surface: 'cli' });
  await client.next('tool.start');
  await client.submit(session_id, 'OWNERNEXT', { surface: 'cli' });
  await command(client, '/steer CHATTEXT');
  t.match(await client.link.call(sessionSteer, { session_id, text: 'OWNERSTEER', surface: 'cli' }), { status: 'steered' });
  t.same(await queued(client, session_id), ['OWNERNEXT', 'CHATTEXT', 'OWNERSTEER']);

  t.notMatch((await command(client, '/queue list')).text, /OWNER/);
  await t.rejects(command(client, '/queue edit 2 rm -rf everything'), { code: 'BAD_REQUEST' });
  await command(client, '/queue edit 1 CHATTEXT2');
  t.same(await queued(client, session_id), ['OWNERNEXT', 'CHATTEXT2', 'OWNERSTEER']);
  await command(client, '/queue clear');
  t.same(await queued(client, session_id), ['OWNERNEXT', 'OWNERSTEER'], 'the owner’s prompts are left');
  await command(client, '/steer CHATTEXT3');
  const { queued: all } = await client.link.call(sessionQueue, { session_id, action: 'remove', index: 1 });
  t.same(
    all.map(({ text }) => text),
    ['OWNERSTEER', 'CHATTEXT3'],
    'the owner changes them all',
  );

  const before = provider.requests.length;
  home.write('go', '');
  await client.next('message.complete', ({ payload }) => payload.text === 'chat done');
  const [ownerEnd, chatTurn] = provider.requests.slice(before).map(({ body }) => JSON.stringify(body.messages));
  t.match(ownerEnd, /OWNERSTEER/);
  t.notMatch(ownerEnd, /CHATTEXT/, 'no word of the chat reached the owner’s turn');
  t.match(chatTurn, /CHATTEXT3/, 'it got a turn of its own');
});

t.test('an approval that a turn of the owner asks for is not answered from the chat', async (t) => {
  const { client, provider, home } = anew(stage);
  const session_id = await chatSession(stage);
  const dir = join(home.root, 'precious');
  mkdirSync(dir);
  const open = async () => (await client.link.call(approvalPending, { session_id })).requests;

  provider.answer(runs(`rm -r ${dir}`), { text: 'owner done' });
  await client.submit(session_id, 'clean up', { surface: 'cli' });
  const [request] = await until('the owner is asked', async () => ((await open()).length > 0 ? await open() : undefined));
  for (const line of ['/approve', '/approve@bot', '/approve session', '/deny']) {
    await command(client, line);
    t.same(
      (await open()).map(({ id }) => id),
      [request!.id],
      line,
    );
  }
  t.ok(existsSync(dir));
  t.same(await client.link.call(approvalRespond, { session_id, choice: 'deny' }), { resolved: 1 }, 'the owner answers');
  await client.next('message.complete', ({ payload }) => payload.text === 'owner done');

  provider.answer(runs(`rm -r ${dir}`), { text: 'chat done' });
  const turn = ask(client, 'clean up here');
  await until('the chat is asked', async () => (await open()).length > 0);
  await command(client, '/approve');
  t.match(await turn, { text: 'chat done' });
  t.notOk(existsSync(dir), 'the chat answers for its own turn');
});
