/** `agent drill` on a real service: each fault is injected, healed, measured, and leaves everything as it was. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { DrillResult } from '../../bin/drill/drill.ts';
import { damage, processesOf, signalProcess } from '../../bin/drill/fault.ts';
import { isSameProcess, type ProcessIdentity } from '../../state/processIdentity.ts';
import { errorOf } from '../harness/cli.ts';
import { cliService, pidOf } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { openTerminal } from '../harness/tmux.ts';
import { cliEnv } from '../harness/cli.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

/** Sooner than by default, and late enough for a machine whose disk other tests keep busy. */
const CONFIG = JSON.stringify({ supervisor: { liveness: { suspect_ms: 2_000, kill_ms: 8_000 } } });

t.test('drills of the running service', { timeout: 200_000 }, async (t) => {
  await using service = cliService({ 'config.yaml': CONFIG });
  const { agent, home, status } = service;
  t.equal((await agent('up', '--demo', '--port', '0')).code, 0);
  const drill = async (...words: string[]) => {
    const { code, stdout, stderr } = await agent('drill', ...words, '--yes', '--json');
    return { code, stderr, result: JSON.parse(stdout) as DrillResult };
  };

  await t.test('kill: another process serves, and the figure stands beside the published one', async (t) => {
    const before = pidOf(await status(), 'cron');
    const { code, result } = await drill('kill');
    t.match(result, { drill: 'kill', slot: 'cron', ok: true, published_ms: Number, verdict: /^cron served again after / });
    t.equal(code, 0);
    t.not(pidOf(await status(), 'cron'), before);
  });

  await t.test('break-socket: the same process binds the path again, removed or taken by a stray file', async (t) => {
    const before = pidOf(await status(), 'cron');
    const { code, result } = await drill('break-socket');
    t.match(result, { ok: true, slot: 'cron' });
    t.equal(code, 0);
    t.equal(pidOf(await status(), 'cron'), before);
  });

  await t.test('corrupt-state: nothing stops, and no damaged file is left', async (t) => {
    const { code, result } = await drill('corrupt-state');
    t.match(result, { ok: true, recovered_ms: Number }, result.verdict);
    if (!result.ok) for (const slot of ['agent', 'dashboard', 'cron', 'mcp']) t.comment((await agent('why', slot)).stdout);
    t.equal(code, 0);
    for (const path of [home.run.slots, home.run.status]) t.doesNotThrow(() => void JSON.parse(readFileSync(path, 'utf8')), path);
    t.ok(processesOf(home).length >= 4, 'every worker is on record');
  });

  await t.test('freeze: liveness finds a stopped worker and replaces it', async (t) => {
    const before = pidOf(await status(), 'mcp');
    const { code, result } = await drill('freeze', '--slot', 'mcp');
    t.match(result, { ok: true, slot: 'mcp' });
    t.equal(code, 0);
    t.not(pidOf(await status(), 'mcp'), before);
  });

  await t.test('fill-log: the flood stays within its budget; config.yaml and the logs are as before', async (t) => {
    const { code, result } = await drill('fill-log');
    t.match(result, { ok: true, slot: 'drill-flood' });
    t.equal(code, 0);
    t.equal(readFileSync(home.config, 'utf8'), CONFIG);
    t.notOk(existsSync(join(home.logs, 'drill-flood.log')));
  });

  await t.test('supervisor: killed and started again as it was, no worker is replaced', async (t) => {
    const before = await status();
    const { code, result } = await drill('supervisor');
    t.match(result, { ok: true, published_ms: 1_000 });
    t.equal(code, 0);
    const after = await status();
    t.same(
      after.workers.map(({ slot, pid }) => [slot, pid]),
      before.workers.map(({ slot, pid }) => [slot, pid]),
    );
    t.match(after.supervisor, { demo: true, dashboard: before.supervisor.dashboard!.replace(/[?#].*/, '') });
  });

  await t.test('without a terminal and without --yes nothing is touched', async (t) => {
    const before = pidOf(await status(), 'cron');
    const result = await agent('drill', 'kill', '--json');
    t.equal(result.code, 2);
    t.match(errorOf(result), { code: 'USAGE', fix: /--yes/ });
    t.equal(pidOf(await status(), 'cron'), before);
  });

  await t.test('on a terminal it says what will be interrupted and asks', async (t) => {
    const before = pidOf(await status(), 'cron');
    const command = `${process.execPath} ${join(projectRoot, 'bin/main.ts')} drill kill; echo code=$?; sleep 60`;
    await using terminal = await openTerminal(command, { env: cliEnv({ home }) });
    await terminal.shows('is doing at this moment is cut off');
    await terminal.shows('Go on? [y/N]');
    await terminal.press('n', 'Enter');
    await terminal.shows('nothing was done');
    await terminal.shows('code=1');
    t.equal(pidOf(await status(), 'cron'), before);
  });

  await t.test('a slot that does not exist exits 2', async (t) => {
    const result = await agent('drill', 'kill', '--slot', 'nobody', '--yes', '--json');
    t.equal(result.code, 2);
    t.match(errorOf(result), { code: 'UNKNOWN_SLOT' });
  });
});

t.test('without a service there is nothing to break: exit 3', async (t) => {
  await using service = cliService();
  t.equal((await service.agent('drill', 'kill', '--yes')).code, 3);
});

t.test('lesson 23: a signal never reaches a process that is not the one on record', async (t) => {
  const me: ProcessIdentity = { pid: process.pid, start_time: 1, boot_id: 'another boot' };
  t.equal(isSameProcess(me), false);
  t.equal(signalProcess(me, 'SIGKILL'), false);
});

t.test('damage is put back unless the owner has written the file anew', async (t) => {
  using home = testHome({ 'a.json': '{"a":1}', 'b.json': '{"b":1}' });
  const [a, b] = [join(home.root, 'a.json'), join(home.root, 'b.json')];
  {
    using first = damage(a);
    using second = damage(b);
    t.throws(() => void JSON.parse(readFileSync(first.path, 'utf8')));
    home.write('b.json', '{"b":2}');
    t.equal(second.restore(), false);
  }
  t.equal(readFileSync(a, 'utf8'), '{"a":1}');
  t.equal(readFileSync(b, 'utf8'), '{"b":2}');
  using made = damage(join(home.root, 'c.json'));
  t.equal(made.restore(), true);
  t.notOk(existsSync(made.path), 'what was not there is gone again');
});
