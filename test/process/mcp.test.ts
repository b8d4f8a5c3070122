import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { listTools } from '../../ipc/contracts/mcp.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { testHome } from '../harness/home.ts';
import { everything, fixture, node, startHttpServer, startTestBroker } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

t.test('server-everything over stdio: its tools are listed under safe names and answer', async (t) => {
  await using broker = await startTestBroker({ everything: node(everything, { args: [everything, 'stdio'] }) });
  const names = await broker.tools();
  t.ok(names.includes('mcp__everything__echo'));
  t.ok(names.includes('mcp__everything__get_sum'), 'a dash becomes an underscore');
  t.match(await broker.call({ name: 'mcp__everything__echo', args: { message: 'hi' } }), { text: 'Echo: hi', is_error: false });
  t.match(await broker.call({ server: 'everything', tool: 'get-sum', args: { a: 2, b: 40 } }), { text: /42/ }, 'by its own name too');
  const image = await broker.call({ server: 'everything', tool: 'get-tiny-image' });
  t.match(image.text, /\[image image\/png, \d+ KiB\]/, 'what is no text is described');
  t.match(await broker.state('everything'), { state: 'connected', tools: names.length, error: null });
});

t.test('server-everything over streamable HTTP and over SSE: the same tools answer', async (t) => {
  await using http = await startHttpServer('streamableHttp');
  await using sse = await startHttpServer('sse');
  await using broker = await startTestBroker({
    http: { url: `http://127.0.0.1:${http.port}/mcp` },
    sse: { url: `http://127.0.0.1:${sse.port}/sse`, transport: 'sse' },
  });
  for (const server of ['http', 'sse']) {
    t.match(await broker.call({ server, tool: 'echo', args: { message: server } }), { text: `Echo: ${server}` });
  }
  t.match(await broker.test('http'), { ok: true, error: null });
});

t.test('an HTTP server that was restarted has forgotten the session: the call goes through all the same', async (t) => {
  const first = await startHttpServer('streamableHttp');
  await using broker = await startTestBroker({ http: { url: `http://127.0.0.1:${first.port}/mcp` } });
  await broker.tools();
  await first[Symbol.asyncDispose]();
  await t.rejects(broker.call({ server: 'http', tool: 'echo', args: { message: 'x' } }), { code: 'MCP_FAILED' }, 'while it is down');
  await using _second = await startHttpServer('streamableHttp', first.port);
  t.match(await broker.call({ server: 'http', tool: 'echo', args: { message: 'back' } }), { text: 'Echo: back' });
});

t.test('a server sees its own env, with secrets filled in, and none of the service', async (t) => {
  await using broker = await startTestBroker(
    {
      env: node(fixture('answersHuge'), {
        args: [fixture('answersHuge'), '${SECRET_OF_MINE}'],
        env: { API: '${SECRET_OF_MINE}', ABSENT: '${NOT_SET}' },
      }),
    },
    { env: 'SECRET_OF_MINE=s3cr3t-value-1\nOTHER_SECRET=other-value-2\n' },
  );
  const seen = JSON.parse((await broker.call({ server: 'env', tool: 'env' })).text) as Record<string, string>;
  t.match(seen, { API: '[redacted]', ABSENT: '${NOT_SET}', HOME: broker.home.root }, 'a secret that it says back is not handed on');
  t.notOk('UNRELATED_SECRET' in seen || 'OTHER_SECRET' in seen || 'AGENT_HOME' in seen, 'nothing else is inherited');
  t.same(
    JSON.parse((await broker.call({ server: 'env', tool: 'args' })).text),
    ['${SECRET_OF_MINE}'],
    'a secret never stands in an argument list',
  );
});

t.test('tools.include and tools.exclude decide what is listed and what can be called; include has precedence', async (t) => {
  const server = (tools: object) => node(fixture('oddResults'), { tools });
  await using broker = await startTestBroker({
    some: server({ include: ['p*d', 'number'] }),
    less: server({ exclude: ['no_*', 'bad_*', 'un*', 'list'] }),
    both: server({ include: ['pid'], exclude: ['*'] }),
    none: server({ include: [] }),
  });
  const names = await broker.tools();
  const of = (name: string) => names.flatMap((each) => (each.startsWith(`mcp__${name}__`) ? each.slice(`mcp__${name}__`.length) : []));
  t.same(of('some'), ['number', 'pid']);
  t.same(of('less'), ['nothing', 'number', 'pid']);
  t.same([of('both'), of('none')], [['pid'], []]);
  t.match(await broker.state('some'), { tools: 2 });
  await t.rejects(broker.call({ server: 'some', tool: 'no_content' }), { code: 'TOOL_UNKNOWN', message: /mcp_servers.some.tools/ });
  await t.rejects(broker.call({ name: 'mcp__some__no_content' }), { code: 'TOOL_UNKNOWN' });
});

t.test('a server with a command and a url is not used, and says what to remove', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('changesTools'), { url: 'http://127.0.0.1:9/mcp' }) });
  t.match(await broker.state('s'), { state: 'failed', error: /"command" and "url": remove one/ });
});

t.test('an address of the older transport is found out without `transport`, and a wrong address keeps its status', async (t) => {
  await using sse = await startHttpServer('sse');
  await using broker = await startTestBroker({
    sse: { url: `http://127.0.0.1:${sse.port}/sse` },
    wrong: { url: `http://127.0.0.1:${sse.port}/nowhere` },
  });
  t.match(await broker.call({ server: 'sse', tool: 'echo', args: { message: 'hi' } }), { text: 'Echo: hi' });
  t.match(await broker.test('wrong'), { ok: false, error: /HTTP 404/, fix: /check its url.*transport: sse/ });
});

t.test('what a server says about its use is handed on, unless it is untrusted; so are its hints', async (t) => {
  const script = { args: [everything, 'stdio'] };
  await using broker = await startTestBroker({
    s: node(everything, script),
    u: node(everything, { ...script, trust: 'untrusted', connect_timeout: 61 }),
  });
  const { tools, instructions } = await broker.link.call(listTools, {});
  t.match(instructions, [{ server: 's', text: /\w+/ }]);
  t.equal(instructions.length, 1);
  t.same(new Set(tools.map(({ server, trust }) => `${server} ${trust}`)), new Set(['s null', 'u untrusted']));
});

t.test('results: huge ones are cut in the middle, tool errors are results, protocol errors are MCP_FAILED', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('answersHuge')) });
  const { text } = await broker.call({ server: 's', tool: 'huge' });
  t.ok(text.length < 4.2e6 && text.startsWith('begin') && text.endsWith('end') && text.includes('characters left out'));
  t.match(await broker.call({ server: 's', tool: 'wrong' }), { is_error: true, text: 'that went wrong' });
  await t.rejects(broker.call({ server: 's', tool: 'refuse' }), { code: 'MCP_FAILED', message: /no such thing/ });
  await t.rejects(broker.call({ server: 'nobody', tool: 'x' }), { code: 'UNKNOWN_SERVER', fix: /known servers: s/ });
  await t.rejects(broker.call({ server: 's', tool: 'x' }), { code: 'TOOL_UNKNOWN', fix: /agent mcp test s/ });
  await t.rejects(broker.call({ name: 'mcp__s__x' }), { code: 'TOOL_UNKNOWN' });
  await t.rejects(broker.call({ tool: 'x' }), { code: 'INVALID_PARAMS' });
  const odd = (await broker.tools()).filter((name) => name.startsWith('mcp__s__odd_name_'));
  t.equal(new Set(odd).size, 2, 'two tools that would get one name get two');
  t.same((await Promise.all(odd.map(async (name) => (await broker.call({ name })).text))).toSorted(), ['odd-name!', 'odd.name!']);
});

t.test('a cancelled call is cancelled at the server; a call over its limit too', async (t) => {
  const home = testHome();
  const seen = home.write('seen', '');
  const slow = (more: object = {}) => ({ s: node(fixture('slowCall'), { env: { SEEN: seen }, ...more }) });
  await using broker = await startTestBroker(slow(), { home });
  await broker.tools();
  const lines = () => readFileSync(seen, 'utf8').trim().split('\n');
  const stop = new AbortController();
  const call = broker.call({ server: 's', tool: 'wait' }, stop.signal);
  await until('the call arrived', () => lines().includes('call 2'));
  stop.abort(new Error('enough'));
  await t.rejects(call, /enough/);
  await until('the cancellation arrived', () => lines().includes('cancelled 2'));
  // From now on with a limit; before, the one who gives up has to be the first.
  home.write('seen', '');
  broker.configure(slow({ timeout: 0.3 }));
  await t.rejects(broker.call({ server: 's', tool: 'wait' }), { code: 'TIMEOUT', message: /s: wait did not answer within 0.3 s/ });
  await until('the second cancellation arrived', () => lines().includes('cancelled 2'));
});

t.test('the audit names server, tool, time and outcome, and no argument', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('answersHuge')) });
  await broker.call({ server: 's', tool: 'odd-name!', args: { password: 'hunter2-hunter2' } });
  await broker.call({ server: 's', tool: 'wrong' });
  await broker.call({ server: 's', tool: 'refuse' }).catch(() => {});
  using db = closing(openReadOnly(join(broker.home.root, 'mcp.db')));
  const rows = db.store.prepare('SELECT profile, server, tool, outcome FROM calls ORDER BY id').all();
  t.same(rows, [
    { profile: 'default', server: 's', tool: 'odd-name!', outcome: 'ok' },
    { profile: 'default', server: 's', tool: 'wrong', outcome: 'tool_error' },
    { profile: 'default', server: 's', tool: 'refuse', outcome: 'MCP_FAILED' },
  ]);
  t.notOk(readFileSync(join(broker.home.root, 'mcp.db-wal')).includes('hunter2'));
});

const closing = <T extends { close(): unknown }>(store: T) => ({ store, [Symbol.dispose]: () => void store.close() });
