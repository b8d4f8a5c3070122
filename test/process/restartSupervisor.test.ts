/** `agent restart supervisor` replaces the supervisor under its workers; other forms of `agent restart` name several slots. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

t.test('the workers run on, no request at the dashboard is refused, and what was chosen at the start stays', async (t) => {
  await using service = cliService();
  const { agent, status } = service;
  t.equal((await agent('up', '--demo', '--port', '0')).code, 0);
  t.equal((await agent('stop', 'cron')).code, 0);
  const before = await status();
  const address = new URL('/api/status', before.supervisor.dashboard!);
  let answered = 0;
  const refused: unknown[] = [];
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted)
      await fetch(address).then(
        () => answered++,
        (thrown: unknown) => refused.push(thrown),
      );
  })();
  const restarted = await agent('restart', 'supervisor', '--json');
  over.abort();
  await asking;
  t.equal(restarted.code, 0, restarted.stderr);
  const receipt = JSON.parse(restarted.stdout) as Receipt;
  t.match(receipt, { slot: 'supervisor', action: 'restart', ok: true, old_pid: before.supervisor.pid });
  t.equal(startTimeOf(before.supervisor.pid), undefined, 'the old one is gone');
  t.same(refused, []);
  t.ok(answered > 0);
  const after = await status();
  t.equal(after.supervisor.pid, receipt.new_pid);
  const pids = ({ workers }: typeof after) => workers.map(({ slot, pid, state }) => ({ slot, pid, state }));
  t.same(pids(after), pids(before), 'workers and what was stopped by hand are as before');
  t.match(after.supervisor, { demo: true, dashboard: before.supervisor.dashboard, adopted: 3 });
  t.match(await agent('why', 'supervisor', '--json'), { stdout: /"last_exit":null/ }, 'its end was planned');
  t.match(await agent('chat', '-q', 'say: 2 words'), { code: 0 });
});

t.test('what nothing would start again is not ended; under a manager it leaves with the code that means "start me again"', async (t) => {
  await using service = cliService({ 'config.yaml': 'dashboard: { port: 0 }\n' });
  const { agent, status, home } = service;
  const environment = { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root };
  const start = (script: string, args: string[], env = {}) =>
    spawn(process.execPath, [join(projectRoot, 'bin', script), ...args], { env: { ...environment, ...env }, stdio: 'ignore' });
  const foreground = start('main.ts', ['up', '--foreground']);
  await until('it is up', async () => (await agent('status')).code === 0);
  t.equal(errorOf(await agent('restart', 'supervisor', '--json')).code, 'RESTART_REFUSED');
  t.equal((await status()).supervisor.pid, foreground.pid);
  t.match(await agent('down'), { code: 0 });

  const managed = start('agentd.ts', [], { XPC_SERVICE_NAME: 'ai.agent.agent-service' });
  const ended = once(managed, 'exit');
  await until('it is up', async () => (await agent('status')).code === 0);
  const { workers } = await status();
  const restarting = agent('restart', 'supervisor');
  t.same(await ended, [exitCodes.restart, null]);
  start('agentd.ts', [], { XPC_SERVICE_NAME: 'ai.agent.agent-service' }).unref();
  t.match(await restarting, { code: 0, stdout: /adopted/ });
  t.same(
    (await status()).workers.map(({ pid }) => pid),
    workers.map(({ pid }) => pid),
  );
  t.match(await agent('restart', 'all'), { code: 0, stdout: /agent restarted[\s\S]*dashboard restarted[\s\S]*cron restarted/ });
  t.match(await cli(['restart', 'nosuch', 'cron'], { home }), { code: 2, stderr: /nosuch/ });
});
