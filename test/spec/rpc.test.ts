import t from 'tap';
import { sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome();
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('rpc.8 session.resume answers a snapshot that includes pending_connection', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  await client.turn(session_id, 'say: 1 word');
  const snapshot = await client.link.call(sessionResume, { session_id });
  t.match(snapshot, {
    session_id,
    pending_connection: null,
    open_requests: [],
    status: 'idle',
    messages: [{ role: 'user' }, { role: 'assistant', content: 'alpha' }],
  });
});

t.test('rpc.8 the snapshot is all that a surface needs: rows, what runs, what waits, the plan, the numbers', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', title: 'A snapshot' });
  await client.turn(session_id, 'fail: 500');
  await client.submit(session_id, 'slow: 30');
  await client.next('message.delta', (params) => params.session_id === session_id && String(params.payload.text).includes('slowly'));
  await client.submit(session_id, 'say: 2 words');
  const snapshot = await client.link.call(sessionResume, { session_id: 'A snapshot' });
  t.match(snapshot, {
    session_id,
    status: 'working',
    messages: [
      { role: 'user' },
      { role: 'assistant', finish_reason: 'error', error: { code: 'PROVIDER_FAILED' }, duration_ms: Number },
      { role: 'user' },
    ],
    inflight: { text: /^Starting slowly/, tools: [] },
    queued: [{ text: 'say: 2 words' }],
    plan: { todos: [], revision: 0 },
    pending_connection: null,
    info: { title: 'A snapshot', running: true },
    epoch: String,
  });
  // Events after it may have come together with it.
  const before = client.events.filter(
    (params) => params.session_id === session_id && params.seq !== null && params.seq <= snapshot.latest_seq,
  );
  t.equal(before.at(-1)!.seq, snapshot.latest_seq);
  const said = before.filter(({ type }) => type === 'message.delta').map(({ payload }) => String(payload.text));
  t.equal(said.join(''), snapshot.inflight!.text, 'text and number fit together');
  await client.link.call(sessionInterrupt, { session_id });
});

t.test('rpc.9 session.interrupt interrupts the turn', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  await client.submit(session_id, 'slow: 60');
  await client.next('message.delta');
  t.same(await client.link.call(sessionInterrupt, { session_id }), { status: 'interrupted' });
  t.match((await client.next('message.complete')).payload, { status: 'interrupted' });
});

t.test('ev.7 tool.start is sent when a tool call begins, with its full arguments', async (t) => {
  using client = await connect(worker);
  const command = `echo ${'long '.repeat(2_000)}`.trim();
  const { events } = await client.turn(await client.create(), `run: ${command}`);
  const at = (type: string) => events.findIndex((params) => params.type === type);
  t.match(events[at('tool.start')]!.payload, { tool_id: String, name: 'terminal', args: { command } });
  t.ok(at('tool.start') < at('tool.complete'));
});

t.test('ev.8 tool.progress is sent while a tool works, with preview data', async (t) => {
  using client = await connect(worker);
  const { events } = await client.turn(await client.create(), 'run: echo first; sleep 0.1; echo second');
  const seen = events.filter(({ type }) => type === 'tool.progress').map(({ payload }) => payload.preview);
  t.same(seen, ['first', 'second']);
});

t.test('ev.9 tool.complete is sent when a tool finishes, with its parsed result', async (t) => {
  using client = await connect(worker);
  const { events } = await client.turn(await client.create(), 'run: echo out; exit 4');
  t.match(events.find(({ type }) => type === 'tool.complete')!.payload, {
    name: 'terminal',
    result: { exit_code: 4, output: 'out\n' },
    result_text: 'out\n[exit code 4]',
    is_error: false,
  });
});
