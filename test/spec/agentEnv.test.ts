import t from 'tap';
import Database from 'better-sqlite3';
import { createTools, defineTool } from '../../agent/tools/registry.ts';
import { decideTools } from '../../agent/tools/policy.ts';
import { runTurn } from '../../agent/turn.ts';
import { systemClock, type Clock } from '../../base/time.ts';
import { runTurn as turnRun } from '../../ipc/contracts/agent.ts';
import { sessionResume } from '../../ipc/contracts/rpc.ts';
import { setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import type { ModelChunk } from '../../agent/ports.ts';
import { kindTable, localKinds } from '../../agent/models/kinds.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';
import { z } from 'zod';

t.test('cfg.3 model.default and model.provider choose the model of the profile', async (t) => {
  await using provider = await startOpenAi({ text: 'from b' });
  using home = testHome({
    'config.yaml': `model: { default: large-2, provider: b }\nproviders: { a: { base_url: "http://127.0.0.1:1/v1" }, b: { base_url: "${provider.url}" } }\n`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const session_id = await client.create();
  t.match((await client.turn(session_id, 'hi')).complete, { text: 'from b' });
  t.equal(provider.requests[0]!.body.model, 'large-2');
  t.match((await client.link.call(sessionResume, { session_id })).info, { model: 'large-2', provider: 'b', scripted: false });
});

t.test('cfg.18 agent.disabled_toolsets is subtracted last when toolsets resolve', async (t) => {
  using home = testHome({ 'config.yaml': 'agent: { disabled_toolsets: [terminal] }\nplatform_toolsets: { cli: [terminal, memory] }\n' });
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session_id = await client.create();
  t.match((await client.turn(session_id, 'run: id')).complete.text, /TOOL_REFUSED: agent\.disabled_toolsets/);
  t.same((await client.link.call(sessionResume, { session_id })).info.tools, ['memory']);
});

t.test('cfg.19 platform_toolsets: a bare composite entry inherits new toolsets, an explicit list does not', async (t) => {
  const tool = (name: string, toolset: string) =>
    defineTool({ name, toolset, description: '', args: z.object({}), run: async () => ({ text: '', isError: false }) });
  const before = [tool('memory', 'memory')];
  const after = [...before, tool('web_search', 'web')];
  const names = (tools: typeof before, entry: string | string[]) =>
    decideTools(tools, { surface: 'gateway', platform: 'irc', platformToolsets: { irc: entry } }).allowed.map(({ name }) => name);
  t.same(
    [names(before, 'agent-irc'), names(after, 'agent-irc'), names(after, ['agent-irc'])],
    [['memory'], ['memory', 'web_search'], ['memory', 'web_search']],
  );
  t.same([names(before, ['memory']), names(after, ['memory'])], [['memory'], ['memory']]);
  using home = testHome({ 'config.yaml': 'platform_toolsets: { irc: [terminal] }\n' });
  await using worker = await startWorker(home, 'agent', { demo: true });
  const link = await worker.dial();
  const run = (text: string) =>
    link.call(turnRun, { session_key: 'agent:main:irc:dm:ada', text, idempotency_key: text, surface: 'gateway', platform: 'irc' });
  t.match(
    [(await run('run: echo yes')).text, (await run('remember: x')).text],
    [/^terminal returned:\nyes$/, /TOOL_REFUSED: platform_toolsets\.irc .* does not list memory/],
  );
  link.destroy();
});

t.test('other.5 the tool_names JSON column of the sessions table holds the tool-name order pinned for the session', async (t) => {
  await using provider = await startOpenAi();
  const config = `model: { default: m }\nproviders: { box: { base_url: "${provider.url}" } }\n`;
  using home = testHome({ 'config.yaml': config });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const session_id = await client.create();
  const db = new Database(home.stateDb, { readonly: true });
  t.teardown(() => db.close());
  const pinned = () =>
    JSON.parse((db.prepare('SELECT tool_names FROM sessions WHERE id = ?').pluck().get(session_id) as string | null) ?? 'null') as string[];
  const sent = () => provider.requests.at(-1)!.body.tools!.map((tool) => tool.function.name);
  t.equal(pinned(), null, 'not before the first turn');
  await client.turn(session_id, 'one');
  const order = pinned();
  t.same(sent(), order);
  for (const name of ['memory', 'read_file', 'session_search', 'terminal']) t.ok(order.includes(name), name);
  home.write('config.yaml', `${config}agent: { disabled_toolsets: [memory] }\n`);
  await client.turn(session_id, 'two');
  t.same(pinned(), order, 'the order stays');
  t.same(
    sent(),
    order.filter((name) => name !== 'memory'),
  );
  home.write('config.yaml', config);
  await client.turn(session_id, 'three');
  t.same(sent(), order, 'and what comes back takes its old place');
});

t.test('ver.2 session database: schema version 28 adds the tool_names column by declarative reconciliation', async (t) => {
  using home = testHome();
  const old = new Database(home.stateDb);
  old.exec(
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, last_active INTEGER NOT NULL DEFAULT 0); INSERT INTO sessions VALUES ('s', 'kept', 9999999999999); PRAGMA user_version = 27",
  );
  old.close();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  t.match(await client.link.call(sessionResume, { session_id: 's' }), { info: { title: 'kept', tools: [] } });
  await worker.kill('SIGTERM');
  const db = new Database(home.stateDb, { readonly: true });
  t.teardown(() => db.close());
  t.equal(db.pragma('user_version', { simple: true }), 28);
  t.ok((db.pragma('table_info(sessions)') as { name: string }[]).some(({ name }) => name === 'tool_names'));
});

/** Writes a line for every TCP connection a process opens. */
const SPY = `--import=data:text/javascript,${encodeURIComponent(
  "import net from 'node:net'; const connect = net.Socket.prototype.connect; net.Socket.prototype.connect = function (...args) { const [first] = [args[0]].flat(); if (first?.port) process.stderr.write('TCP ' + first.port + '\\n'); return connect.apply(this, args); };",
)}`;

t.test('err.15 provider resolution with nothing usable answers no_provider_configured', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  t.match((await client.turn(await client.create(), 'hi')).complete, {
    status: 'error',
    error: { code: 'NO_PROVIDER', message: /no_provider_configured/ },
  });
});

const connections = (output: string): string[] => [...output.matchAll(/TCP (\d+)/g)].map(([, port]) => port!).toSorted();

t.test('free.2 with the gate off and no identity, resolution reports no provider configured without any network call', async (t) => {
  const nothing = { ready: false, provider_configured: false, free_tier: null, message: /no_provider_configured/ };
  const localPorts = localKinds.map((kind) => String(kindTable[kind].localPort)).toSorted();
  for (const [config, looks] of [
    ['model_catalog: { detect_local: false }\n', []],
    ['', localPorts],
  ] as const) {
    using home = testHome({ 'config.yaml': config });
    await using worker = await startWorker(home, 'agent', { env: { NODE_OPTIONS: SPY } });
    using client = await connect(worker);
    // The look for servers on this machine is made once, in the background after ready, and is no part of resolution.
    await until('the look is over', () => connections(worker.output()).length === looks.length);
    for (let n = 0; n < 3; n++) {
      t.match(await client.link.call(setupStatus, {}), nothing);
      t.match((await client.turn(await client.create(), 'hi')).complete, { status: 'error', error: { code: 'NO_PROVIDER' } });
    }
    t.same(connections(worker.output()), looks, 'resolution called nobody');
    await using provider = await startOpenAi();
    home.write('config.yaml', `${config}model: { default: m }\nproviders: { box: { base_url: "${provider.url}" } }\n`);
    await client.turn(await client.create(), 'hi');
    t.same(connections(worker.output()), [...looks, new URL(provider.url).port].toSorted(), 'the spy sees a call when there is one');
  }
});

t.test('free.2 a server that was found on this machine is no longer used once detect_local is off', async (t) => {
  await using provider = await startOpenAi();
  using home = testHome();
  home.write(
    'cache/models-default.json',
    JSON.stringify({ providers: {}, detected: [{ kind: 'ollama', baseUrl: provider.url, models: ['m'] }], probedAt: Date.now() }),
  );
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  t.match((await client.turn(await client.create(), 'hi')).complete, { status: 'complete' });
  home.write('config.yaml', 'model_catalog: { detect_local: false }\n');
  t.match((await client.turn(await client.create(), 'hi')).complete, { status: 'error', error: { code: 'NO_PROVIDER' } });
});

/** A turn whose only tool never ends by itself, on a clock whose timers fire at once. */
async function turnWithHangingTool() {
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after(ms, callback) {
      waits.push(ms);
      const soon = setImmediate(callback);
      return () => clearImmediate(soon);
    },
  };
  const hangs = defineTool({
    name: 'hangs',
    toolset: 'x',
    description: '',
    args: z.object({}),
    run: (_args, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({ text: '', isError: true }))),
  });
  const script: ModelChunk[][] = [[{ type: 'toolCall', call: { id: '1', name: 'hangs', args: {} } }], [{ type: 'text', text: 'done' }]];
  const results: string[] = [];
  const end = await runTurn({
    model: {
      provider: 'fake',
      id: 'fake',
      scripted: true,
      contextWindow: null,
      vision: false,
      effortFor: () => undefined,
      async *stream() {
        yield* script.shift()!;
      },
    },
    system: '',
    tools: createTools({ allowed: [hangs], refused: new Map() }),
    transcript: {
      messages: () => [],
      openAssistant: () => 1,
      closeAssistant() {},
      takeSteer: () => [],
      toolsStarting() {},
      addToolResult: (_call, result) => void results.push(result.text),
    },
    events: { emit() {} },
    signal: new AbortController().signal,
    clock,
  });
  return { end, results, guardMs: waits[0] };
}

t.test('err.16 a tool that hits the deadline guard ends with tool_timeout, and the turn goes on', async (t) => {
  const { end, results } = await turnWithHangingTool();
  t.match(results, [/^TOOL_TIMEOUT \(tool_timeout\): hangs took longer than 420 s and was stopped/]);
  t.match(end, { status: 'complete', text: 'done' });
});

t.test('lim.3 the deadline guard of a tool call is 420 seconds', async (t) => {
  const { guardMs, results } = await turnWithHangingTool();
  t.equal(guardMs, 420_000);
  t.match(results, [/took longer than 420 s/]);
});
