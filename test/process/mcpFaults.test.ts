import { readFileSync } from 'node:fs';
import t from 'tap';
import { testHome } from '../harness/home.ts';
import { fixture, node, startTestBroker, startTimeOf } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

t.test('a command that does not exist: the error names it and what to do', async (t) => {
  await using broker = await startTestBroker({
    lost: { command: 'no-such-program' },
    nowhere: { command: process.execPath, cwd: '/no/such/directory' },
    empty: {},
    off: { command: 'no-such-program', enabled: false },
  });
  t.same(await broker.tools(), []);
  await t.rejects(broker.call({ server: 'lost', tool: 'x' }), {
    code: 'MCP_FAILED',
    message: 'lost: the command "no-such-program" is not on the PATH of the service',
    fix: /full path in mcp_servers.lost.command/,
  });
  t.match(await broker.state('lost'), { state: 'failed', error: /no-such-program/ }, 'without any retry');
  t.match(await broker.test('lost'), { ok: false, error: /no-such-program/, fix: /install it/ });
  t.match(await broker.test('nowhere'), { ok: false, error: /working directory \/no\/such\/directory does not exist/ });
  t.match(await broker.state('empty'), { state: 'failed', error: /needs "command".*or "url"/ });
  t.match(await broker.state('off'), { state: 'disabled', error: null });
});

t.test('a server that dies in a call: MCP_FAILED, the call is not repeated, the next one works', async (t) => {
  const home = testHome();
  const calls = home.write('calls', '');
  await using broker = await startTestBroker({ s: node(fixture('crashesMidCall'), { env: { CALLS: calls } }) }, { home });
  const before = (await broker.call({ server: 's', tool: 'pid' })).text;
  await t.rejects(broker.call({ server: 's', tool: 'crash' }), {
    code: 'MCP_FAILED',
    message: 's ended with exit code 3 while crash ran; the call was not repeated',
  });
  t.not((await broker.call({ server: 's', tool: 'pid' })).text, before, 'by a new process');
  t.equal(readFileSync(calls, 'utf8'), 'crash\n');
  t.match(readFileSync(`${broker.home.logs}/mcp.log`, 'utf8'), /"component":"mcp.s".*about to fall over/, 'its stderr is in the log');
});

t.test('a server killed while idle comes back by itself', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('printsGarbage')) });
  await broker.tools();
  const { pid } = await broker.state('s');
  process.kill(pid!, 'SIGKILL');
  const back = await until('a new process serves', async () => {
    const now = await broker.state('s');
    return now.state === 'connected' && now.pid !== pid && now;
  });
  t.match(back, { error: null, tools: 1 });
});

t.test('a server that never answers the handshake is given up in time, with its last words', async (t) => {
  await using broker = await startTestBroker({
    s: node(fixture('neverAnswers'), { connect_timeout: 3 }),
    good: node(fixture('changesTools')),
  });
  t.same(await broker.tools(), ['mcp__good__grow'], 'the others are there');
  const { ok, error } = await broker.test('s');
  t.match({ ok, error }, { ok: false, error: /did not finish the MCP handshake within 3 s; its last words: listening, but that is all/ });
});

t.test('garbage on stdout is survived; nothing but garbage is named in the error', async (t) => {
  await using broker = await startTestBroker({
    s: node(fixture('printsGarbage')),
    only: node(fixture('printsGarbage'), { env: { ONLY: '1' }, connect_timeout: 3 }),
  });
  t.match(await broker.call({ server: 's', tool: 'hi' }), { text: 'hello' });
  t.match(await broker.test('only'), { ok: false, error: /it printed on stdout, where only MCP messages belong: \{"half"/ });
});

t.test('leaving: a server that ignores SIGTERM is killed with its grandchildren, also one that left the group', async (t) => {
  const family: number[] = [];
  {
    await using broker = await startTestBroker({ s: node(fixture('ignoresSigterm')) });
    family.push(...(JSON.parse((await broker.call({ server: 's', tool: 'family' })).text) as number[]));
    t.same(
      family.map((pid) => startTimeOf(pid) !== undefined),
      [true, true, true],
    );
    t.match(await broker.worker.kill('SIGTERM'), { code: 0 });
  }
  t.same(
    family.map((pid) => startTimeOf(pid)),
    [undefined, undefined, undefined],
  );
});

t.test('a daemon of a server that cleared its environment ends with the server, and after a killed broker', async (t) => {
  const home = testHome();
  const servers = { s: node(fixture('startsDaemon')) };
  const first = await startTestBroker(servers, { home });
  const daemon = async (broker: typeof first) => {
    const pid = Number((await broker.call({ server: 's', tool: 'daemon' })).text);
    t.teardown(() => startTimeOf(pid) !== undefined && process.kill(pid, 'SIGKILL'));
    return pid;
  };
  const abandoned = await daemon(first);
  await first.worker.kill('SIGKILL');
  t.ok(startTimeOf(abandoned), 'it outlives its broker');
  await using second = await startTestBroker(servers, { home });
  const stopped = await daemon(second);
  t.equal(startTimeOf(abandoned), undefined, 'the next broker has ended it');
  second.configure({});
  await second.reload();
  t.equal(startTimeOf(stopped), undefined, 'it ended with its server');
});

t.test('a broker killed by SIGKILL: the next one ends what it left behind before it starts its own', async (t) => {
  const home = testHome();
  const servers = { s: node(fixture('ignoresSigterm')) };
  const first = await startTestBroker(servers, { home });
  const family = JSON.parse((await first.call({ server: 's', tool: 'family' })).text) as number[];
  await first.worker.kill('SIGKILL');
  t.same(
    family.map((pid) => startTimeOf(pid) !== undefined),
    [true, true, true],
    'such a server outlives its broker',
  );
  await using second = await startTestBroker(servers, { home });
  t.same(
    family.map((pid) => startTimeOf(pid)),
    [undefined, undefined, undefined],
  );
  t.match(await second.call({ server: 's', tool: 'family' }), { is_error: false });
});

t.test('a secret in the answer of a server or its stderr does not reach the log', async (t) => {
  const loud = 'process.stderr.write(`error: my key is ${process.env.API}\\n`); process.exit(1)';
  await using broker = await startTestBroker(
    { s: { command: process.execPath, args: ['-e', loud], env: { API: '${MY_API_KEY}' } } },
    { env: 'MY_API_KEY=top-secret-value-42\n' },
  );
  t.match(await broker.test('s'), { ok: false, error: /ended with exit code 1; its last words: error: my key is \[redacted\]/ });
  await broker.tools();
  t.match(await broker.state('s'), { error: /my key is \[redacted\]/ });
  await t.rejects(broker.call({ server: 's', tool: 'x' }), { message: /my key is \[redacted\]/ });
  const log = readFileSync(`${broker.home.logs}/mcp.log`, 'utf8');
  t.match(log, /my key is \[redacted\]/);
  t.notMatch(log, /top-secret-value-42/);
});
