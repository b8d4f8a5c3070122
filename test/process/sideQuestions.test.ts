/** Side questions end with their worker, said and not silently; the model that answers them sees no tools. */
import t from 'tap';
import { drain } from '../../ipc/contracts/peer.ts';
import { promptBtw } from '../../ipc/contracts/rpcSessions.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

t.test('a drain ends a side question with an error event, and takes no new ones', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session_id = await client.create();
  await client.link.call(promptBtw, { session_id, text: 'slow: 60' });
  const draining = client.link.call(drain, { deadline_ms: 20_000 });
  t.match((await client.next('btw.complete')).payload, { question: 'slow: 60', text: '', error: /DRAINING/ });
  await t.rejects(client.link.call(promptBtw, { session_id, text: 'say: 1 word' }), { code: /DRAINING|PEER_GONE/ });
  await draining.catch(() => {});
});

t.test('the request of a side question holds the conversation as talk and no tools', async (t) => {
  await using provider = await startOpenAi(
    { toolCalls: [{ name: 'read_file', args: '{"path":"/etc/hostname"}' }] },
    { text: 'It is a name.' },
    { text: 'The side answer.' },
  );
  using home = testHome({
    'config.yaml': `model: { default: m, provider: fake }\nproviders:\n  fake: { kind: openai-compatible, base_url: "${provider.url}" }\n`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const session_id = await client.create();
  await client.turn(session_id, 'what is the host called');
  await client.link.call(promptBtw, { session_id, text: 'who asked that?' });
  t.match((await client.next('btw.complete')).payload, { text: 'The side answer.', error: null });
  const { body } = provider.requests.at(-1)!;
  t.same(body.tools ?? [], []);
  t.ok(body.messages.every(({ role, tool_calls }) => role !== 'tool' && !tool_calls));
  t.match(body.messages.at(-1), { role: 'user', content: 'who asked that?' });
  t.match(JSON.stringify(body.messages), /called read_file/);
});
