/** A supervisor that does not respond, or has lost its files: `agent status` reports it, `agent down` ends the service. */
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { openHome } from '../../state/home.ts';
import { homeIdOf, processesOfHome } from '../../state/marks.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { cliService, pidOf } from '../harness/cliService.ts';
import { until } from '../harness/until.ts';

t.setTimeout(300_000);

const up = ['up', '--demo', '--port', '0'];
const isGone = (pid: number) => startTimeOf(pid) === undefined;
const pidsOf = ({ workers }: Status) => workers.flatMap(({ pid }) => pid ?? []);

t.test('a stopped supervisor is reported with every process checked, and `agent down` ends all of it', async (t) => {
  await using service = cliService();
  await service.agent(...up);
  const before = await service.status();
  process.kill(before.supervisor.pid, 'SIGSTOP');
  process.kill(pidOf(before, 'cron')!, 'SIGKILL');
  await until('cron is gone', () => isGone(pidOf(before, 'cron')!));
  const status = await service.agent('status', '--json');
  t.equal(status.code, 1);
  t.equal(errorOf(status).code, 'NOT_RESPONDING');
  const { supervisor, workers } = JSON.parse(status.stdout) as { supervisor: { state: string } } & Status;
  t.equal(supervisor.state, 'not_responding');
  t.match(
    workers.find(({ slot }) => slot === 'cron'),
    { state: 'down', pid: null, gone: true },
  );
  t.match(
    workers.find(({ slot }) => slot === 'agent'),
    { state: 'ready', pid: pidOf(before, 'agent') },
  );
  t.match(await service.agent('why', 'cron'), { code: 0, stdout: /ended while the supervisor did not respond/ });
  t.equal((await service.agent('chat', '-q', 'say: 2 words')).code, 0, 'a chat with the worker that serves');
  const down = await service.agent('down', '--json');
  t.equal(down.code, 0, down.stderr);
  t.ok([before.supervisor.pid, ...pidsOf(before)].every(isGone), 'nothing is left');
});

t.test('a supervisor that neither runs nor answers is killed by proof of its identity, its workers with it', async (t) => {
  await using service = cliService();
  await service.agent(...up);
  const before = await service.status();
  // Stopped again whenever it is continued, as one that is blocked in the kernel stays blocked.
  const freeze = setInterval(() => {
    try {
      process.kill(before.supervisor.pid, 'SIGSTOP');
    } catch {
      clearInterval(freeze);
    }
  }, 1);
  try {
    const down = await service.agent('down', '--no-drain', '--json');
    t.match({ code: down.code, ...(JSON.parse(down.stdout) as object) }, { code: 0, signalled: [before.supervisor.pid] });
  } finally {
    clearInterval(freeze);
  }
  t.ok([before.supervisor.pid, ...pidsOf(before)].every(isGone));
});

t.test('`agent down` ends a service whose run/ was removed, and a second supervisor does not start beside it', async (t) => {
  await using service = cliService();
  await service.agent(...up);
  const before = await service.status();
  process.kill(before.supervisor.pid, 'SIGSTOP');
  for (const name of readdirSync(service.home.run.dir)) rmSync(join(service.home.run.dir, name), { recursive: true });
  rmSync(service.home.run.dir, { recursive: true });
  t.equal((await service.agent(...up)).code, 1);
  t.equal((await service.agent('down')).code, 0);
  t.ok([before.supervisor.pid, ...pidsOf(before)].every(isGone));
});

t.test('a running supervisor makes what was removed from run/ again', async (t) => {
  await using service = cliService();
  await service.agent(...up);
  const before = await service.status();
  rmSync(service.home.run.dir, { recursive: true });
  const after = await until('it answers again', async () => {
    const { code } = await service.agent('stop', 'cron');
    return code === 0 && service.status();
  });
  t.equal(after.supervisor.pid, before.supervisor.pid);
  t.equal((await service.agent('down')).code, 0);
  t.ok([before.supervisor.pid, ...pidsOf(before)].every(isGone));
});

t.test('a moved home is the home of the service that runs in it; a copy of it is not', async (t) => {
  await using service = cliService();
  await service.agent(...up);
  const before = await service.status();
  const { root } = service.home;
  const copy = openHome(`${root}-copy`);
  cpSync(root, copy.root, { recursive: true, filter: (path) => !/\.(?:sock|out)$|\.fifo$/.test(path) });
  t.equal((await cli(['down'], { home: copy })).code, 0);
  t.notOk([before.supervisor.pid, ...pidsOf(before)].some(isGone), 'the service of the original runs on');
  const moved = openHome(`${root}-moved`);
  renameSync(root, moved.root);
  t.equal((await cli(['down'], { home: moved })).code, 0);
  t.ok([before.supervisor.pid, ...pidsOf(before)].every(isGone));
  t.same(processesOfHome(homeIdOf(root)), []);
});
