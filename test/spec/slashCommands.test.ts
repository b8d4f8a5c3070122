/** Rows of the interface spec about slash commands, through `command.dispatch` of a real agent worker. */
import t from 'tap';
import type { ResultOf } from '../../ipc/method.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import { sessionHistory, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { promptBtw, sessionQueue } from '../../ipc/contracts/rpcSessions.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';
import { until } from '../harness/until.ts';

t.setTimeout(60_000);

const home = testHome();
let worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const run = (client: AgentClient, session_id: string, line: string): Promise<ResultOf<typeof commandDispatch>> =>
  client.link.call(commandDispatch, { session_id, line, surface: 'cli' });

t.test('slash.2 /queue: a bare prompt is put in line; list, edit, rm, move, clear and add manage it', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  await client.submit(session, 'slow: 60');
  await client.next('message.delta');
  const texts = async () => (await client.link.call(sessionQueue, { session_id: session, action: 'list' })).queued.map(({ text }) => text);

  t.match(await run(client, session, '/queue say: 1 word'), { kind: 'prompt', text: /Queued/, message_id: Number });
  await run(client, session, '/q add list the open files');
  await run(client, session, '/queue say: 3 words');
  t.same(await texts(), ['say: 1 word', 'list the open files', 'say: 3 words']);
  t.match((await run(client, session, '/queue list')).text, / 1 {2}say: 1 word\n {2}2 {2}list the open files/);
  await run(client, session, '/queue move 3 1');
  t.same(await texts(), ['say: 3 words', 'say: 1 word', 'list the open files']);
  await run(client, session, '/queue edit 2 say: 2 words');
  await run(client, session, '/queue rm 3');
  t.same(await texts(), ['say: 3 words', 'say: 2 words']);
  t.same(
    (
      await client.next(
        'queue.updated',
        ({ payload }) => (payload.queued as unknown[]).length === 3 && (payload.queued as { text: string }[])[0]!.text === 'say: 3 words',
      )
    ).payload.queued,
    [
      { id: Number, text: 'say: 3 words' },
      { id: Number, text: 'say: 1 word' },
      { id: Number, text: 'list the open files' },
    ].map((row, i) => ({
      ...row,
      id: (
        client.events.findLast(({ type, payload }) => type === 'queue.updated' && (payload.queued as unknown[]).length === 3)!.payload
          .queued as { id: number }[]
      )[i]!.id,
    })),
  );
  await t.rejects(run(client, session, '/queue rm 7'), { code: 'BAD_REQUEST' });
  await run(client, session, '/queue clear');
  t.same(await texts(), []);
  await run(client, session, '/stop');
});
