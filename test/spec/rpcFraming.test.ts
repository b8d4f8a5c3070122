/** Row rpc.1 of the interface spec: how frames of the gateway RPC look, and that each of its methods is served. */
import t from 'tap';
import { z } from 'zod';
import { errorTable } from '../../base/errors.ts';
import { dialFrames } from '../../ipc/dial.ts';
import { limits } from '../../base/limits.ts';
import { rpcMethods } from '../../ipc/contracts/rpcTable.ts';
import { readToken } from '../../state/home.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

interface Frame {
  jsonrpc: string;
  id?: number | string | null;
  method?: string;
  params?: { type: string; session_id: string | null; seq: number | null; payload: Record<string, unknown> };
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data: { code: string; retry: boolean; field?: string; fix?: string } };
}

/** Frames as they are, in order of arrival. */
interface Wire extends Disposable {
  frames: Frame[];
  ask(method: string, params?: object): Promise<Frame>;
}

const home = testHome();
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const answerOf = (frames: Frame[], id: number): Promise<Frame> =>
  until(`the answer ${id}`, () => frames.find((frame) => frame.id === id && frame.method === undefined));

/** The socket of the agent worker, with the frames that a browser's relay would send. */
async function openWire(): Promise<Wire> {
  const stream = await dialFrames(home.run.socket('agent'), { token: readToken(home)!, slot: 'test', relay: true });
  const frames: Frame[] = [];
  stream.listen((body) => void frames.push(JSON.parse(body.toString()) as Frame));
  let id = 0;
  return {
    frames,
    ask(method, params) {
      stream.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, ...(params ? { params } : {}) }));
      return answerOf(frames, id);
    },
    [Symbol.dispose]: () => void stream.socket.destroy(),
  };
}

/** What a method needs besides `session_id`. */
const needed: Record<string, object> = {
  'session.events.since': { last_seen: 0 },
  'prompt.submit': { text: 'say: 1 word' },
  'session.steer': { text: 'say: 1 word' },
  'session.queue': { action: 'list' },
  'prompt.btw': { text: 'say: 1 word' },
  'prompt.background': { text: 'say: 1 word' },
  'session.search': { query: 'word' },
  'session.archive': { archived: true },
  'session.prune': { older_than_days: 30, dry_run: true },
  'session.import': { sessions: [{ messages: [{ role: 'user', content: 'from elsewhere' }] }] },
  'session.attachment': { attachment: `${'0'.repeat(64)}.png` },
  'session.cwd': { cwd: '/' },
  'request.shown': { request_id: 'nobody' },
  'request.answer': { request_id: 'nobody', result: {} },
  'command.dispatch': { line: '/version' },
  'complete.slash': { text: '/ver' },
  'complete.path': { text: '@/et' },
  'config.get': { key: 'display.skin' },
  'config.set': { key: 'display.skin', value: 'mono' },
  'skills.view': { name: 'nobody' },
  'skills.toggle': { name: 'nobody', enabled: false },
  'skills.save': { name: 'nobody', content: 'x' },
  'memory.reset': { target: 'user' },
  'model.set': { scope: 'main', provider: 'nobody', model: 'nothing' },
  'oauth.start': { provider: 'nobody' },
  'oauth.submit': { flow_id: 'nobody', code: 'x' },
  'oauth.poll': { flow_id: 'nobody' },
  'oauth.cancel': { flow_id: 'nobody' },
  'oauth.logout': { provider: 'nobody' },
  'memory.review': { decision: 'reject', all: true },
  'process.stop': { process_id: 'nobody' },
};
/** Where what is asked for does not exist here, the method itself says so. */
const refused: Record<string, string> = {
  'session.attachment': 'NOT_FOUND',
  'skills.view': 'NOT_FOUND',
  'skills.toggle': 'NOT_FOUND',
  'skills.save': 'NOT_FOUND',
  'process.stop': 'UNKNOWN_PROCESS',
  'model.set': 'UNKNOWN_MODEL',
  'oauth.start': 'NOT_FOUND',
  'oauth.submit': 'NOT_FOUND',
  'oauth.poll': 'NOT_FOUND',
  'oauth.cancel': 'NOT_FOUND',
  'oauth.logout': 'NOT_FOUND',
};

const requiredOf = (schema: z.ZodType): string[] => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).required ?? [];

t.test(
  'rpc.1 gateway.ready comes first, with protocol, version, epoch and heartbeat_ms; each answer bears the id of its call',
  async (t) => {
    using wire = await openWire();
    await wire.ask('client.ping');
    const [first] = wire.frames;
    t.match(first, { jsonrpc: '2.0', method: 'event', params: { type: 'gateway.ready', session_id: null, seq: null } });
    const { payload } = first!.params!;
    t.match(payload, {
      protocol: limits.ipc.protocol,
      version: /^\d+\.\d+\.\d+/,
      epoch: String,
      heartbeat_ms: limits.dashboard.heartbeatMs,
    });
    const several = await Promise.all(['session.list', 'client.ping', 'setup.status', 'no.such'].map((method) => wire.ask(method)));
    t.same(
      several.map(({ jsonrpc, id }) => [jsonrpc, id]),
      [2, 3, 4, 5].map((id) => ['2.0', id]),
    );
    t.match(several[3]!.error, { code: -32601, message: /no\.such/, data: { code: 'METHOD_NOT_FOUND', retry: false } });
    t.notOk('result' in several[3]!);
    using later = await openWire();
    await later.ask('client.ping');
    t.equal(later.frames[0]!.params!.payload.epoch, payload.epoch, 'the epoch is that of the store');
  },
);

t.test('rpc.1 every method is served, in the shape that its contract says', async (t) => {
  using wire = await openWire();
  for (const { name, params: schema, result } of rpcMethods) {
    const { session_id } = (await wire.ask('session.create', {})).result!;
    const params = { ...needed[name], ...(requiredOf(schema).includes('session_id') ? { session_id } : {}) };
    const answer = await wire.ask(name, params);
    if (refused[name]) t.match(answer.error, { data: { code: refused[name] } }, name);
    else t.match(result.safeParse(answer.result), { success: true }, `${name} ${answer.error?.message ?? ''}`);
  }
});

t.test('rpc.1 an unknown parameter answers 4000 with the field; a call without its session answers 4006', async (t) => {
  using wire = await openWire();
  const { session_id } = (await wire.ask('session.create', {})).result!;
  for (const { name, params: schema } of rpcMethods) {
    const ofSession = requiredOf(schema).includes('session_id');
    const params = { ...needed[name], ...(ofSession ? { session_id } : {}) };
    const unknown = await wire.ask(name, { ...params, nonsense: 1 });
    t.match(unknown.error, { code: 4000, data: { code: 'BAD_REQUEST', field: 'nonsense', retry: false } }, name);
    if (!ofSession) continue;
    const without = await wire.ask(name, needed[name] ?? {});
    t.match(without.error, { code: 4006, message: /session_id is missing/, data: { code: 'MISSING_SESSION', field: 'session_id' } }, name);
  }
  t.match(
    (await wire.ask('session.title', { session_id, title: 7 })).error,
    { code: 4000, data: { field: 'title' } },
    'a wrong type as well',
  );
  t.match((await wire.ask('session.resume', { session_id: 'nobody' })).error, {
    code: errorTable.UNKNOWN_SESSION.rpc,
    data: { code: 'UNKNOWN_SESSION' },
  });
});

t.test('rpc.1 the same frames go over /api/ws of the dashboard', async (t) => {
  await using dashboard = await startDashboard(home);
  const socket = dashboard.socket('/api/ws');
  const frames: Frame[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as Frame));
  const ready = await until('the first frame', () => frames[0]);
  t.match(ready, {
    jsonrpc: '2.0',
    method: 'event',
    params: { type: 'gateway.ready', payload: { protocol: limits.ipc.protocol, epoch: String } },
  });
  const ask = (id: number, params: object) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'session.title', params }));
    return answerOf(frames, id);
  };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.create', params: {} }));
  const session_id = (await answerOf(frames, 1)).result!.session_id;
  t.match(await ask(2, { session_id, title: 'By a browser' }), { jsonrpc: '2.0', id: 2, result: { session_id, title: 'By a browser' } });
  t.match((await ask(3, { session_id, nonsense: 1 })).error, { code: 4000, data: { field: 'nonsense' } });
  t.match((await ask(4, {})).error, { code: 4006, data: { code: 'MISSING_SESSION' } });
  socket.close();
});
