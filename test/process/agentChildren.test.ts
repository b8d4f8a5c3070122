import t from 'tap';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventPayloads } from '../../ipc/contracts/rpcEvents.ts';
import { promptSubmit, sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { toolsList } from '../../ipc/contracts/rpcTools.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { answerApproval, connect, useTool as use, type AgentClient } from '../harness/agentClient.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome();
const worker = await startWorker(home, 'agent', { demo: true });
const work = mkdtempSync(join(tmpdir(), 'agent-work-'));
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
  rmSync(work, { recursive: true, force: true });
});

const create = (client: AgentClient) => client.create({ source: 'cli', cwd: work });
/** A goal that is this command; the rest of a child's prompt, lines of the same script, is text that nobody reads. */
const goalOf = (command: string) => `run: ${command}; : <<'REST'`;

t.test('a message goes nowhere without a gateway, and the result says what to do', async (t) => {
  using client = await connect(worker);
  t.match(await use(client, await create(client), 'send_message', { to: 'irc:#room', text: 'hi' }), {
    is_error: true,
    result_text: /^PEER_UNREACHABLE: the gateway worker does not answer \(.*agent start gateway\)/,
  });
});

t.test('a message is in the durable outbox of the gateway when the tool answers', async (t) => {
  home.write(
    'config.yaml',
    `platforms:\n  irc: { enabled: true, host: 127.0.0.1, port: ${await freePort()}, tls: false, nick: agent, channels: ["#room"] }\n`,
  );
  t.teardown(() => home.write('config.yaml', ''));
  await using gateway = await startWorker(home, 'gateway');
  using client = await connect(worker);
  const sessionId = await create(client);
  t.match(await use(client, sessionId, 'send_message', { to: 'irc:#room', text: 'hi' }), {
    is_error: false,
    result: { to: 'irc:#room', state: 'pending' },
    result_text: /^Message to irc:#room: pending \(delivery 1\)/,
  });
  t.match(await use(client, sessionId, 'send_message', { to: 'nowhere:x', text: 'hi' }), {
    is_error: true,
    result_text: /^UNKNOWN_TARGET/,
  });
  t.match(await use(client, sessionId, 'send_message', { to: 'origin', text: 'hi' }), {
    is_error: true,
    result_text: /belongs to no chat/,
  });
  t.equal(gateway.child.exitCode, null);
});

t.test('a child does its task in a hidden session, shows its steps to the parent, and reports', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  const { events } = await client.turn(
    sessionId,
    `tool: delegate_task ${JSON.stringify({ tasks: [{ goal: 'look at the weather' }, { goal: 'count the sheep' }] })}`,
  );
  const of = (type: string) => events.filter((params) => params.type === type).map(({ payload }) => payload);
  t.match(
    of('subagent.start').toSorted((a, b) => Number(a.task_index) - Number(b.task_index)),
    [
      { goal: 'look at the weather', task_index: 0, task_count: 2, depth: 1, parent_id: null },
      { goal: 'count the sheep', task_index: 1, task_count: 2 },
    ],
  );
  t.match(of('subagent.complete'), [{ status: 'complete', model_calls: 1 }, { status: 'complete' }]);
  const done = of('tool.complete')[0] as EventPayloads['tool.complete'];
  t.match(done, {
    is_error: false,
    result_text: /^Task 1 \(complete\):\nYou said: "look at the weather[^]*Task 2 \(complete\):/,
  });
  const child = String((of('subagent.start')[0] as { subagent_id: string }).subagent_id);
  t.match(
    (await client.link.call(sessionResume, { session_id: child })).messages,
    [{ role: 'user' }, { role: 'assistant' }],
    'its transcript is kept',
  );
  const toolsOf = (name: string, list: { name: string; enabled: boolean }[]) => list.find((row) => row.name === name)?.enabled ?? false;
  const { toolsets } = await client.link.call(toolsList, { session_id: child });
  t.same(
    ['terminal', 'file', 'memory', 'messaging', 'delegation'].map((name) => toolsOf(name, toolsets)),
    [true, true, false, false, false],
  );
});

t.test('what is dangerous in a child is asked on the session of its parent: once runs it, deny does not', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  const dir = join(work, 'wanted');
  mkdirSync(dir);
  const task = `tool: delegate_task ${JSON.stringify({ goal: goalOf(`rm -r ${dir}`) })}`;
  const denied = client.turn(session_id, task);
  t.match(await answerApproval(client, session_id, 'deny'), {
    session_id,
    tool_name: 'terminal',
    command: new RegExp(`^rm -r ${dir}`),
    description: /^terminal \(for “run: rm -r/,
    choices: ['once', 'session', 'deny'],
  });
  const { events } = await denied;
  t.match(events.find(({ type }) => type === 'subagent.progress')?.payload, { tool_name: 'terminal', text: /rm -r/ }, 'it is shown, too');
  t.match(events.find(({ type }) => type === 'tool.complete')?.payload, { result_text: /DENIED: the user denied this/ });
  t.ok(existsSync(dir), 'nothing ran');

  const allowed = client.turn(session_id, task);
  await answerApproval(client, session_id, 'once');
  t.match((await allowed).events.find(({ type }) => type === 'tool.complete')?.payload, { is_error: false });
  t.notOk(existsSync(dir), 'it ran');
});

t.test('nobody is asked by the children of a prompt that nobody watches: the settings decide', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  const text = `tool: delegate_task ${JSON.stringify({ goal: goalOf('rm -r nothing') })}`;
  await client.link.call(promptSubmit, { session_id, text, unattended: true });
  t.match((await client.next('tool.complete')).payload, {
    result_text: /NOT RUN: .*nobody can be asked in a one-shot prompt; approvals\.single_query_mode is deny/,
  });
});

t.test('an interrupt of the parent takes back what a child asked', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  await client.submit(session_id, `tool: delegate_task ${JSON.stringify({ goal: goalOf('rm -r nothing') })}`);
  await client.next('status.update', ({ payload }) => payload.kind === 'waiting');
  t.equal((await client.link.call(sessionResume, { session_id })).status, 'waiting');
  await client.link.call(sessionInterrupt, { session_id });
  t.match((await client.next('request.cancel')).payload, { reason: 'interrupted' });
  t.match((await client.next('message.complete', (params) => params.session_id === session_id)).payload, { status: 'interrupted' });
  t.match(await client.link.call(sessionResume, { session_id }), { open_requests: [] });
});

t.test('an interrupt of the parent ends its children', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  await client.submit(session_id, `tool: delegate_task ${JSON.stringify({ goal: 'x', toolsets: ['nothing'] })}`);
  t.match((await client.next('tool.complete')).payload, { is_error: true, result_text: /you do not have nothing yourself/ });
  await client.next('message.complete');
  const from = client.events.length;
  await client.submit(
    session_id,
    `tool: delegate_task ${JSON.stringify({ goal: goalOf(`setsid sleep 330 & echo "$$ $!" > ${work}/childPids; sleep 331`) })}`,
  );
  const { subagent_id } = (await client.next('subagent.start', () => true, from)).payload as { subagent_id: string };
  t.match((await client.next('subagent.progress', () => true, from)).payload, { subagent_id, tool_name: 'terminal', text: /sleep 331/ });
  const pids = await until('it runs', () => {
    const found = existsSync(join(work, 'childPids')) && readFileSync(join(work, 'childPids'), 'utf8').match(/\d+/g)?.map(Number);
    return found && found.length === 2 && found;
  });
  await client.link.call(sessionInterrupt, { session_id });
  t.match((await client.next('message.complete', (params) => params.session_id === session_id, from)).payload, { status: 'interrupted' });
  t.match((await client.next('subagent.complete', () => true, from)).payload, { subagent_id, status: 'interrupted' });
  await until('nothing of the child runs', () => pids.every((pid) => startTimeOf(pid) === undefined));
  t.equal((await client.link.call(sessionResume, { session_id: subagent_id })).status, 'idle');
  t.equal((await client.link.call(promptSubmit, { session_id, text: 'say: 1 word' })).status, 'streaming', 'the parent goes on');
});

t.test('a child is cut with its worker: nothing of it runs on, and it is not begun again', async (t) => {
  using other = testHome();
  const first = await startWorker(other, 'agent', { demo: true });
  using client = await connect(first);
  const session_id = await create(client);
  await client.submit(session_id, `tool: delegate_task ${JSON.stringify({ goal: goalOf(`echo x >> ${work}/childRan; sleep 332`) })}`);
  const { payload } = await client.next('subagent.start');
  await until('it works', () => existsSync(join(work, 'childRan')));
  await first.kill('SIGKILL');
  await using second = await startWorker(other, 'agent', { demo: true });
  using after = await connect(second);
  const child = await after.link.call(sessionResume, { session_id: String(payload.subagent_id) });
  t.match(child, {
    status: 'idle',
    queued: [],
    messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', content: /^Cut off/ }, { finish_reason: 'interrupted' }],
  });
  t.match((await after.turn(session_id, 'say: 1 word')).complete, { status: 'complete' });
  t.equal(readFileSync(join(work, 'childRan'), 'utf8'), 'x\n', 'it ran once');
});
