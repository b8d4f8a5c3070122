import { readFileSync } from 'node:fs';
import t from 'tap';
import { listTools } from '../../ipc/contracts/mcp.ts';
import { drain } from '../../ipc/contracts/peer.ts';
import { testHome } from '../harness/home.ts';
import { fixture, node, startTestBroker, startTimeOf } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

t.test('callers share a server; equal settings of two profiles share it too', async (t) => {
  const home = testHome({
    'profiles/work/SOUL.md': '',
    'profiles/work/config.yaml': JSON.stringify({ mcp_servers: { other: node(fixture('crashesMidCall')) } }),
  });
  await using broker = await startTestBroker({ s: node(fixture('crashesMidCall')) }, { home });
  using second = await broker.worker.dial();
  const pids = await Promise.all([
    broker.call({ server: 's', tool: 'pid' }),
    broker.call({ server: 's', tool: 'pid' }),
    broker.call({ server: 'other', tool: 'pid', profile: 'work' }),
  ]);
  t.equal(new Set(pids.map(({ text }) => text)).size, 1);
  t.match((await second.call(listTools, { profile: 'work' })).tools, [{ name: 'mcp__other__crash' }, { name: 'mcp__other__pid' }]);
  await t.rejects(second.call(listTools, { profile: 'nobody' }), { code: 'UNKNOWN_PROFILE' });
});

t.test('list_changed: the tools and the version of the list follow', async (t) => {
  await using broker = await startTestBroker({ s: node(fixture('changesTools')) });
  const before = await broker.link.call(listTools, {});
  await broker.call({ server: 's', tool: 'grow' });
  await until('the new tool is listed', async () => (await broker.tools()).includes('mcp__s__grown_1'));
  t.not((await broker.link.call(listTools, {})).version, before.version);
});

t.test('config.yaml changes: unchanged servers keep their process, others are gone before the answer', async (t) => {
  await using broker = await startTestBroker({
    kept: node(fixture('printsGarbage')),
    changed: node(fixture('printsGarbage'), { env: { A: '1' } }),
    removed: node(fixture('ignoresSigterm')),
  });
  await broker.tools();
  const pid = async (name: string) => (await broker.state(name))?.pid;
  const [kept, changed] = [await pid('kept'), await pid('changed')];
  const family = JSON.parse((await broker.call({ server: 'removed', tool: 'family' })).text) as number[];
  broker.configure({
    kept: node(fixture('printsGarbage')),
    changed: node(fixture('printsGarbage'), { env: { A: '2' } }),
    added: node(fixture('changesTools')),
  });
  t.same(await broker.reload(), { started: ['changed', 'added'], stopped: ['changed', 'removed'], kept: ['kept'] });
  t.same(
    [...family, changed].map((p) => startTimeOf(p!)),
    [undefined, undefined, undefined, undefined],
    'grandchildren too, also one that left the group',
  );
  t.same(await broker.tools(), ['mcp__added__grow', 'mcp__changed__hi', 'mcp__kept__hi']);
  t.equal(await pid('kept'), kept);
  broker.configure({ kept: node(fixture('printsGarbage')) });
  t.same(await broker.tools(), ['mcp__kept__hi'], 'without a reload, noticed by the file');
  broker.home.write('config.yaml', 'mcp_servers: [oops\n');
  t.same(await broker.tools(), ['mcp__kept__hi'], 'a config.yaml that cannot be read takes nothing away');
});

t.test('drain: new calls are refused, a running one finishes', async (t) => {
  const home = testHome();
  const seen = home.write('seen', '');
  await using broker = await startTestBroker({ s: node(fixture('slowCall'), { env: { SEEN: seen } }) }, { home });
  const running = broker.call({ server: 's', tool: 'finish' });
  await until('it runs', () => readFileSync(seen, 'utf8').includes('call'));
  const drained = broker.link.call(drain, { deadline_ms: 5_000 });
  await until('new calls are refused', () =>
    broker.call({ server: 's', tool: 'finish' }).then(
      () => false,
      (thrown) => thrown.code === 'DRAINING',
    ),
  );
  t.match(await running, { text: 'finished' });
  t.match(await drained, { interrupted: 0 });
});

t.test('drain at its deadline: the call is cancelled and counted', async (t) => {
  const home = testHome();
  const seen = home.write('seen', '');
  await using broker = await startTestBroker({ s: node(fixture('slowCall'), { env: { SEEN: seen } }) }, { home });
  const running = t.rejects(broker.call({ server: 's', tool: 'wait' }), { code: 'DRAINING' });
  await until('it runs', () => readFileSync(seen, 'utf8').includes('call'));
  t.match(await broker.link.call(drain, { deadline_ms: 100 }), { interrupted: 1 });
  await running;
});
