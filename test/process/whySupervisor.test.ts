/** `agent why` on ends that no supervisor saw: its own, those of workers meanwhile, and all processes at once. */
import t from 'tap';
import type { Why } from '../../ipc/blackBoxes.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { writeJsonAtomic } from '../../state/atomicFile.ts';
import { cliService, pidOf, type CliService } from '../harness/cliService.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

const why = async ({ agent }: CliService, slot: string): Promise<Why> => JSON.parse((await agent('why', slot, '--json')).stdout) as Why;

async function kill(...pids: number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until('they are gone', () => pids.every((pid) => startTimeOf(pid) === undefined));
}

t.test('the end of a killed supervisor, and of a worker while it was away, are explained with everything down and later', async (t) => {
  await using service = cliService();
  await service.agent('up', '--demo', '--port', '0');
  t.match(await why(service, 'supervisor'), { state: 'ready', last_exit: null });
  const before = await service.status();
  await kill(before.supervisor.pid);
  await kill(pidOf(before, 'cron')!);
  const offline = await why(service, 'supervisor');
  t.match(offline, { state: 'down', times: 1, sentence: new RegExp(`process ${before.supervisor.pid}\\) was killed or crashed; 3 of 4 `) });
  t.match(await why(service, 'cron'), { state: 'down', sentence: /ended while no supervisor ran/ });
  t.match((await service.agent('why')).stdout, /^supervisor +down /m);
  await service.agent('up', '--demo', '--port', '0');
  t.match(await why(service, 'supervisor'), { state: 'ready', times: 1, last_exit: { signature: offline.last_exit!.signature } });
  t.match(await why(service, 'cron'), { state: 'ready', times: 1, sentence: /ended while no supervisor ran/ });
  t.match(await why(service, 'agent'), { last_exit: null }, 'one that lives has not ended');
  await service.agent('down');
  t.match(await why(service, 'supervisor'), { state: 'down', times: 1 }, 'a planned end is none of these');
});

t.test('all processes at once, and a restart of the host, are told apart from a killed supervisor', async (t) => {
  await using service = cliService();
  await service.agent('up', '--demo', '--port', '0');
  const before = await service.status();
  await kill(before.supervisor.pid, ...before.workers.flatMap(({ pid }) => pid ?? []));
  t.match(await why(service, 'supervisor'), { sentence: /none of the 4 processes of the service is alive/ });
  const { run } = service.home;
  writeJsonAtomic(run.supervisor, { ...before.supervisor, boot_id: 'another', oom_kills: null });
  t.match(await why(service, 'supervisor'), { sentence: /ended when the host restarted/ });
});
