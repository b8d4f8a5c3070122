/** Background commands that end by themselves: the chat hears of it, and the model reads it with the next prompt. */
import t from 'tap';
import { sessionHistory } from '../../ipc/contracts/rpc.ts';
import { processList, processStop } from '../../ipc/contracts/rpcTools.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const provider = await startOpenAi();
const home = testHome({
  'config.yaml': `model: { default: tiny-1 }\nproviders: { box: { base_url: "${provider.url}" } }\napprovals: { mode: 'off' }\n`,
});
let worker = await startWorker(home, 'agent');
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const call = (name: string, args: object) => ({ toolCalls: [{ name, args: JSON.stringify(args) }] });
const background = (command: string) => call('terminal', { command, background: true });
const isOf = (sessionId: string) => (params: { session_id: string | null }) => params.session_id === sessionId;
const notes = async ({ link }: AgentClient, session_id: string) =>
  (await link.call(sessionHistory, { session_id })).messages.filter(({ role }) => role === 'system').map(({ content }) => content);
/** The prompt that the provider got last, as lines of role and text. */
const lastPrompt = () =>
  provider.requests
    .at(-1)!
    .body.messages.slice(1)
    .map(({ role, content }) => `${role}: ${String(content)}`);

t.test('a background command that ends between two turns is told at once, and once to the model', async (t) => {
  using client = await connect(worker);
  const id = await client.create();
  const gate = `${home.root}/gate`;
  provider.answer(background(`while [ ! -e ${gate} ]; do sleep 0.02; done; echo all built; exit 3`), { text: 'It runs.' });
  await client.turn(id, 'build it');
  t.same(await notes(client, id), []);
  home.write('gate', '');
  t.match((await client.next('notice', isOf(id))).payload, {
    level: 'warn',
    text: /^The background command proc_\w+ \(while .*\) ended with exit code 3 after .+\.$/,
  });
  t.match(await notes(client, id), [/exit code 3 after .*\.\nLast output:\nall built$/]);
  provider.answer({ text: 'I see.' }, { text: 'Still.' });
  await client.turn(id, 'and now?');
  t.match(lastPrompt().slice(-3), [
    /^assistant: It runs/,
    /^user: \[Note of the service, not of the user: The background command .*all built\]$/s,
    'user: and now?',
  ]);
  await client.turn(id, 'and then?');
  t.equal(lastPrompt().filter((line) => line.includes('Note of the service')).length, 1, 'it stays where it was, so that the cache fits');
});

t.test('one that somebody ended needs no word', async (t) => {
  using client = await connect(worker);
  const id = await client.create();
  provider.answer(background('sleep 300'), { text: 'It runs.' });
  await client.turn(id, 'go');
  const [row] = (await client.link.call(processList, { session_id: id })).processes;
  t.same(await client.link.call(processStop, { process_id: row!.process_id }), { stopped: true });
  t.same(await notes(client, id), []);
  t.notOk(client.events.some(({ type, session_id }) => type === 'notice' && session_id === id));
});

t.test('one that ends while a turn runs is told below the turn, unless the model looks at it there', async (t) => {
  using client = await connect(worker);
  for (const looks of [false, true]) {
    const id = await client.create();
    const ended = Promise.withResolvers<void>();
    const look = { name: 'process', args: '' };
    provider.answer(background('sleep 0.05; exit 4'), { until: ended.promise, ...(looks ? { toolCalls: [look] } : { text: 'over' }) });
    await client.submit(id, 'start and wait');
    const { process_id } = (await client.next('tool.complete', isOf(id))).payload.result as { process_id: string };
    look.args = JSON.stringify({ action: 'poll', process_id });
    await client.next('notice', isOf(id));
    t.same(await notes(client, id), [], 'not between a call and its result');
    if (looks) provider.answer({ text: 'over' });
    ended.resolve();
    await client.next('message.complete', isOf(id));
    const { messages } = await client.link.call(sessionHistory, { session_id: id });
    t.equal(messages.at(-1)!.role, looks ? 'assistant' : 'system');
  }
});

t.test('one that ended with its worker is told when the next one serves', async (t) => {
  using client = await connect(worker);
  const id = await client.create();
  provider.answer(background('sleep 300'), { text: 'It runs.' });
  await client.turn(id, 'serve');
  await worker.kill('SIGKILL');
  worker = await startWorker(home, 'agent');
  using next = await connect(worker);
  t.match(await notes(next, id), [/^The background command proc_\w+ \(sleep 300\) ended with the agent worker that had started it\.$/]);
  await worker.kill('SIGKILL');
  worker = await startWorker(home, 'agent');
  using last = await connect(worker);
  t.equal((await notes(last, id)).length, 1);
  await until('nothing is left of it', async () => (await last.link.call(processList, { session_id: id })).processes.length === 0);
});
