/** What the model is sent after a conversation was changed under it: read from the requests as they arrive at the provider. */
import t from 'tap';
import { sessionDelete, sessionList } from '../../ipc/contracts/rpc.ts';
import {
  sessionBranch,
  sessionCompress,
  sessionExport,
  sessionImport,
  sessionUndo,
  sessionUsage,
} from '../../ipc/contracts/rpcSessions.ts';
import { startProviderStage } from '../harness/providerStage.ts';

const { provider, client } = await startProviderStage(t);

/** Says it; what the provider was sent, without the system prompt. */
async function say(session_id: string, text: string): Promise<string[]> {
  provider.answer({ text: `re ${text}` });
  await client.turn(session_id, text);
  return provider.requests
    .at(-1)!
    .body.messages.slice(1)
    .map(({ content }) => String(content));
}

async function talked(...texts: string[]): Promise<string> {
  const session_id = await client.create();
  for (const text of texts) await say(session_id, text);
  return session_id;
}

t.test('an exchange that was taken back is not sent again, and neither is what a later undo takes', async (t) => {
  const session_id = await talked('one', 'two', 'three');
  await client.link.call(sessionUndo, { session_id });
  t.same(await say(session_id, 'four'), ['one', 're one', 'two', 're two', 'four']);
  await client.link.call(sessionUndo, { session_id, count: 2 });
  t.same(await say(session_id, 'five'), ['one', 're one', 'five']);
  await client.link.call(sessionUndo, { session_id, count: 9 });
  t.same(await say(session_id, 'six'), ['six']);
});

t.test('a branch and the session it comes from each send their own words', async (t) => {
  const session_id = await talked('one', 'two');
  const { session_id: whole } = await client.link.call(sessionBranch, { session_id });
  const { session_id: earlier } = await client.link.call(sessionBranch, { session_id, count: 1 });
  t.same(await say(whole, 'in the branch'), ['one', 're one', 'two', 're two', 'in the branch']);
  t.same(await say(earlier, 'from earlier'), ['one', 're one', 'from earlier']);
  await client.link.call(sessionUndo, { session_id: whole, count: 2 });
  t.same(await say(session_id, 'in the first'), ['one', 're one', 'two', 're two', 'in the first']);
  t.same(await say(whole, 'again'), ['one', 're one', 'again']);
});

t.test('a session that was deleted and imported again under its id sends what was imported', async (t) => {
  const session_id = await talked('one', 'two');
  const document = await client.link.call(sessionExport, { session_id });
  await say(session_id, 'after the export');
  await client.link.call(sessionDelete, { session_id });
  t.same((await client.link.call(sessionImport, { sessions: [document] })).imported_ids, [session_id]);
  t.same(await say(session_id, 'three'), ['one', 're one', 'two', 're two', 'three']);
});

t.test('after a compression the summary is sent for what it stands for, also when an exchange after it is taken back', async (t) => {
  const filler = 'lorem ipsum '.repeat(50);
  const session_id = await talked(`one ${filler}`, `two ${filler}`, 'three');
  provider.answer({ text: 'the record' });
  t.match(await client.link.call(sessionCompress, { session_id, keep: 1 }), { status: 'compressed' });
  t.match(await say(session_id, 'four'), [/\nthe record\n/, 'three', 're three', 'four']);
  await client.link.call(sessionUndo, { session_id });
  t.match(await say(session_id, 'five'), [/\nthe record\n/, 'three', 're three', 'five']);
});

t.test('a row of the list carries what its session used, also of exchanges that were taken back', async (t) => {
  const session_id = await talked('one', 'two');
  await client.link.call(sessionUndo, { session_id });
  const { usage } = await client.link.call(sessionUsage, { session_id });
  t.match(usage, { model_calls: 2 });
  t.ok(usage.input > 0 && usage.output > 0);
  const { sessions } = await client.link.call(sessionList, { limit: 1 });
  t.match(sessions[0], { id: session_id, message_count: 2 });
  t.same(sessions[0]!.usage, usage);
});
