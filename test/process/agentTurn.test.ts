import t from 'tap';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { callTool } from '../../ipc/contracts/mcp.ts';
import { drain, report } from '../../ipc/contracts/peer.ts';
import { configGet } from '../../ipc/contracts/rpcSettings.ts';
import {
  eventsSince,
  promptSubmit,
  sessionCreate,
  sessionHistory,
  sessionInterrupt,
  sessionList,
  sessionResume,
} from '../../ipc/contracts/rpc.ts';
import { type EventPayloads } from '../../ipc/contracts/rpcEvents.ts';
import { approvalRespond } from '../../ipc/contracts/rpcRequests.ts';
import { method } from '../../ipc/method.ts';
import { readToken } from '../../state/home.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ '.env': 'MY_API_KEY=sk-very-secret-value' });
const worker = await startWorker(home, 'agent', { demo: true, env: { OTHER_API_KEY: 'sk-other-secret', LANG: 'C.UTF-8' } });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('a turn streams over the socket, gateway.ready first, numbers rising by one', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  const { complete, events } = await client.turn(sessionId, 'What is the *weather* like?');
  t.match(client.events[0], {
    type: 'gateway.ready',
    session_id: null,
    payload: { protocol: 1, epoch: /^[0-9a-f]{16}$/, heartbeat_ms: Number },
  });
  t.match(complete, { status: 'complete', error: null, usage: { input: 5 }, text: /^You said: "What is the \*weather\* like\?"/ });
  t.same(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
    'no gap, nothing twice',
  );
  const types = events.map(({ type }) => type);
  t.same(
    [...new Set(types)],
    ['prompt.accepted', 'session.title', 'session_info', 'message.start', 'message.delta', 'session.usage', 'message.complete'],
  );
  t.ok(types.filter((type) => type === 'message.delta').length > 5, 'in small pieces');
  const streamed = events
    .filter(({ type }) => type === 'message.delta')
    .map(({ payload }) => payload.text)
    .join('');
  t.equal(streamed, complete.text, 'the pieces are the answer');
  const { messages } = await client.link.call(sessionHistory, { session_id: sessionId });
  t.match(messages, [
    { role: 'user', content: 'What is the *weather* like?' },
    { role: 'assistant', content: complete.text, finish_reason: 'stop' },
  ]);
  t.match(await client.link.call(sessionList, {}), {
    total: 1,
    sessions: [
      { id: sessionId, source: 'cli', title: 'What is the *weather* like?', model: 'rehearsal', message_count: 2, status: 'idle' },
    ],
  });
});

t.test(
  'lesson 38: a command goes through the terminal tool, with an environment without secrets, and its result through the model',
  async (t) => {
    using client = await connect(worker);
    const sessionId = await client.create();
    const turn = client.turn(sessionId, 'run: uname -s; env');
    await until(
      'it is allowed',
      async () => (await client.link.call(approvalRespond, { session_id: sessionId, choice: 'once' })).resolved === 1,
    );
    const { complete, events } = await turn;
    t.match(complete, { status: 'complete', text: /^terminal returned:\n```\n\w+\n/ });
    const tool = events.find(({ type }) => type === 'tool.complete')!.payload as EventPayloads['tool.complete'];
    t.match(tool, { name: 'terminal', args: { command: 'uname -s; env' }, is_error: false, result: { exit_code: 0 } });
    t.match(tool.result_text, /LANG=C\.UTF-8/);
    t.notMatch(tool.result_text, /secret|_KEY=|AGENT_(?!TOOL_MARK)/, 'nothing of the service is in it');
    t.notMatch(tool.result_text, new RegExp(readToken(home)!), 'neither is the token of its sockets');
  },
);

t.test('an interrupt ends a slow answer at once and keeps what had arrived', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  await client.submit(sessionId, 'slow: 30');
  await client.next('message.delta');
  t.same(await client.link.call(sessionInterrupt, { session_id: sessionId }), { status: 'interrupted' });
  const { payload } = await client.next('message.complete');
  t.match(payload, { status: 'interrupted', text: /^Starting(?!.*Done)/, error: null });
  t.same(await client.link.call(sessionInterrupt, { session_id: sessionId }), { status: 'not_interrupted' });
  t.match((await client.link.call(sessionHistory, { session_id: sessionId })).messages.at(-1), {
    role: 'assistant',
    finish_reason: 'interrupted',
    content: /^Starting/,
  });
  t.match((await client.turn(sessionId, 'say: 1 word')).complete, { status: 'complete', text: 'alpha' }, 'the session goes on');
});

t.test('an interrupt kills the whole process group of a running command', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  await client.submit(sessionId, 'run: sleep 303 & echo "group $$"; sleep 304');
  const { payload } = await client.next('tool.progress', ({ payload: { preview } }) => /group \d+/.test(String(preview)));
  const pgid = Number(/\d+/.exec(String(payload.preview))![0]);
  t.ok(groupAlive(pgid));
  t.match(
    (await client.link.call(sessionResume, { session_id: sessionId })).inflight,
    { tools: [{ name: 'terminal' }] },
    'a snapshot shows the open tool',
  );
  await client.link.call(sessionInterrupt, { session_id: sessionId });
  t.match((await client.next('message.complete')).payload, { status: 'interrupted' });
  t.match((await client.next('tool.complete')).payload, { is_error: true, result_text: /^Interrupted before it finished/ });
  await until('the group is gone', () => !groupAlive(pgid));
});

t.test('a client that reconnects replays exactly what it missed', async (t) => {
  using watcher = await connect(worker);
  const sessionId = await watcher.create();
  using leaver = await connect(worker);
  await leaver.link.call(sessionResume, { session_id: sessionId });
  await watcher.submit(sessionId, 'say: 60 words');
  await leaver.next('message.delta');
  // What is still in the pipe when the link goes counts as missed.
  const seen = [...leaver.events];
  leaver.link.destroy();
  const lastSeen = seen.findLast(({ seq }) => seq !== null)!.seq!;
  await watcher.next('message.complete');
  using back = await connect(worker);
  const replay = await back.link.call(eventsSince, { session_id: sessionId, last_seen: lastSeen });
  t.match(replay, { truncated: false, epoch: watcher.events[0]!.payload.epoch, count: replay.events.length, open_requests: [] });
  // The status bar that follows the end may or may not be in the replay yet.
  const upToEnd = (events: typeof replay.events) =>
    events.filter(({ session_id, type }) => session_id === sessionId && type !== 'session_info');
  const all = [...upToEnd(seen), ...upToEnd(replay.events)];
  t.same(all, upToEnd(watcher.events), 'seen and replayed together are what an unbroken client saw');
  await back.turn(sessionId, 'say: 1 word');
  t.ok(
    back.events.some(({ type }) => type === 'message.complete'),
    'it follows the session again',
  );
});

t.test('a snapshot taken in mid-stream and the events after it fit together', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  // Long enough for a machine that lets the worker run on and this process wait.
  using late = await connect(worker);
  await client.submit(sessionId, 'say: 1000 words');
  await client.next('message.delta');
  const snapshot = await late.link.call(sessionResume, { session_id: sessionId });
  t.match(snapshot, {
    status: 'working',
    messages: [{ role: 'user' }],
    inflight: { message_id: Number },
    info: { scripted: true, running: true },
  });
  const { payload } = await late.next('message.complete');
  const after = late.events.filter(({ type }) => type === 'message.delta').map((params) => String(params.payload.text));
  t.equal(snapshot.inflight!.text + after.join(''), payload.text);
  t.equal(late.events.find(({ seq }) => seq !== null)!.seq, snapshot.latest_seq + 1);
});

t.test('a client that does not read does not hold up the turn', async (t) => {
  using reader = await connect(worker);
  using deaf = await connect(worker);
  const sessionId = await reader.create();
  await deaf.link.call(sessionResume, { session_id: sessionId });
  deaf.link.pause();
  // More than a socket holds: the tool's output travels twice in one event.
  for (let n = 0; n < 6; n++)
    t.match((await reader.turn(sessionId, 'run: head -c 45000 /dev/zero | tr "\\0" x')).complete, { status: 'complete' });
  deaf.link.resume();
  await deaf.next('message.complete');
});

t.test('prompts of a busy session wait in line and run in order', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  const busy = 'run: until [ -e ~/go-on ]; do sleep 0.02; done; echo went on';
  t.match(await client.link.call(promptSubmit, { session_id, text: busy }), { status: 'streaming' });
  const second = await client.link.call(promptSubmit, { session_id, text: 'say: 1 word' });
  const third = await client.link.call(promptSubmit, { session_id, text: 'say: 2 words' });
  t.same([second.status, third.status], ['queued', 'queued']);
  t.match((await client.link.call(sessionResume, { session_id })).queued, [
    { id: second.message_id, text: 'say: 1 word' },
    { id: third.message_id },
  ]);
  t.match((await client.turn(await client.create(), 'say: 3 words')).complete, { status: 'complete' }, 'another session is not held up');
  t.equal((await client.link.call(sessionResume, { session_id })).queued.length, 2, 'its end starts nothing here');
  home.write('go-on', '');
  await client.next('message.complete', ({ payload }) => payload.text === 'alpha bravo');
  const here = client.events.filter((params) => params.session_id === session_id);
  t.same(
    here.filter(({ type }) => type === 'message.complete').map(({ payload }) => payload.text),
    ['terminal returned:\nwent on', 'alpha', 'alpha bravo'],
  );
  const { messages } = await client.link.call(sessionHistory, { session_id });
  t.same(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user', 'assistant'],
    'each prompt stands before its answer',
  );
  t.same(here.findLast(({ type }) => type === 'queue.updated')!.payload, { queued: [] });
});

t.test('display.busy_input_mode interrupt makes way for the newer prompt, without a restart', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  t.teardown(() => home.write('config.yaml', ''));
  home.write('config.yaml', 'display: { busy_input_mode: interrupt }\n');
  await client.submit(session_id, 'slow: 30');
  await client.next('message.delta');
  await client.submit(session_id, 'say: 1 word');
  await client.next('message.complete', ({ payload }) => payload.text === 'alpha');
  t.same(
    client.events.filter(({ type }) => type === 'message.complete').map(({ payload }) => payload.status),
    ['interrupted', 'complete'],
  );
});

t.test('the same idempotency key is one prompt', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  const ids = await Promise.all([1, 2, 3].map(() => client.submit(sessionId, 'say: 1 word', { idempotency_key: 'k1' })));
  await client.next('message.complete');
  ids.push(await client.submit(sessionId, 'say: 1 word', { idempotency_key: 'k1' }));
  t.equal(new Set(ids).size, 1);
  t.equal((await client.link.call(sessionHistory, { session_id: sessionId })).messages.length, 2);
});

t.test('wrong calls are answered with the code and the field', async (t) => {
  using client = await connect(worker);
  const { link } = client;
  const session_id = await client.create();
  const loose = (name: string) => method(name, { params: z.unknown(), result: z.unknown() });
  const table: { name: string; call: () => Promise<unknown>; want: object }[] = [
    {
      name: 'an unknown parameter',
      call: () => link.call(loose('prompt.submit'), { session_id, text: 'x', colour: 'red' }),
      want: { code: 'BAD_REQUEST', field: 'colour', fix: /different versions/ },
    },
    {
      name: 'a parameter of the wrong type',
      call: () => link.call(loose('session.history'), { session_id, limit: 'many' }),
      want: { code: 'BAD_REQUEST', field: 'limit' },
    },
    { name: 'an empty prompt', call: () => client.submit(session_id, ''), want: { code: 'BAD_REQUEST', field: 'text' } },
    {
      name: 'a prompt over the limit',
      call: () => client.submit(session_id, 'x'.repeat(1_000_001)),
      want: { code: 'BAD_REQUEST', field: 'text', fix: /file/ },
    },
    { name: 'an unknown session', call: () => client.submit('ses_nope', 'x'), want: { code: 'UNKNOWN_SESSION' } },
    { name: 'no session_id', call: () => link.call(loose('prompt.submit'), { text: 'x' }), want: { code: 'MISSING_SESSION' } },
    {
      name: 'a session_id that is no string',
      call: () => link.call(loose('prompt.submit'), { session_id: 5, text: 'x' }),
      want: { code: 'BAD_REQUEST', field: 'session_id' },
    },
    { name: 'an unknown method', call: () => link.call(loose('session.fly'), {}), want: { code: 'METHOD_NOT_FOUND' } },
    { name: 'a method of another worker', call: () => link.call(callTool, { name: 'x' }), want: { code: 'METHOD_NOT_FOUND' } },
    {
      name: 'a directory that is not there',
      call: () => link.call(sessionCreate, { cwd: '/no/such/place' }),
      want: { code: 'BAD_REQUEST', field: 'cwd' },
    },
    { name: 'another profile', call: () => link.call(sessionCreate, { profile: 'work' }), want: { code: 'UNKNOWN_PROFILE' } },
    { name: 'a malformed key', call: () => link.call(configGet, { key: 'a..b' }), want: { code: 'CONFIG_KEY' } },
  ];
  for (const { name, call, want } of table) await t.rejects(call(), want as { code: string }, name);
  t.match(await link.call(report, {}), { active: [], facts: { scripted: true, clients: 1 } }, 'and the worker is well');
});

t.test('a link with the wrong token is closed, and a relayed browser gets the gateway RPC alone', async (t) => {
  await t.rejects(worker.dial({ token: 'wrong' }), { code: 'BAD_TOKEN' });
  const relayed = await worker.dial({ relay: true });
  t.ok((await relayed.call(sessionList, {})).sessions);
  await t.rejects(relayed.call(drain, { deadline_ms: 0 }), { code: 'METHOD_NOT_FOUND' });
  relayed.destroy();
});

t.test('remember writes the memory file, and the next session starts with it', async (t) => {
  using client = await connect(worker);
  t.match((await client.turn(await client.create(), 'remember: likes tea')).complete.text, /Remembered: likes tea/);
  t.equal(readFileSync(join(home.memories, 'MEMORY.md'), 'utf8'), 'likes tea\n');
  t.match((await client.turn(await client.create(), 'read: ~/.env')).complete.text, /read_file failed/);
});
