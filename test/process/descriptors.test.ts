/** A worker that has used up its file descriptors is reported with the cause and the fix, and is replaced when it does not recover. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { cliService, type CliService } from '../harness/cliService.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

const rowOf = async (service: CliService) => (await service.status()).workers.find(({ slot }) => slot === 'dashboard')!;

/** Connections to the page until it has no descriptor left; they stay open. */
async function fill(port: number, pid: number): Promise<Socket[]> {
  execFileSync('prlimit', [`--pid=${pid}`, '--nofile=64:64']);
  const sockets: Socket[] = [];
  for (let n = 0; n < 80; n++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    sockets.push(socket);
  }
  return sockets;
}

t.test('exhausted descriptors are seen, explained and end when the clients are gone; a worker that stays so is replaced', async (t) => {
  await using service = cliService({ 'config.yaml': 'supervisor: { liveness: { suspect_ms: 2000, kill_ms: 20000 } }\n' });
  t.match(await service.agent('up', '--demo', '--port', '0'), { code: 0 });
  const { supervisor } = await service.status();
  const port = Number(new URL(supervisor.dashboard!).port);
  const pid = (await rowOf(service)).pid!;

  const held = await fill(port, pid);
  await until('it is seen', async () => (await rowOf(service)).liveness === 'exhausted');
  const status = await service.agent('status', '--json');
  t.equal(status.code, 1);
  t.match(JSON.parse(status.stdout), { problems: [{ what: /dashboard has no free file descriptor/, fix: /LimitNOFILE/ }] });
  const doctor = JSON.parse((await service.agent('doctor', '--json')).stdout) as {
    checks: { id: string; status: string; detail: string }[];
  };
  t.match(
    doctor.checks.find(({ id }) => id === 'files'),
    { status: 'warn', detail: /dashboard has 6\d of 64 open/ },
  );
  for (const socket of held) socket.destroy();
  await until('it has recovered', async () => (await rowOf(service)).liveness === 'ok');
  t.same((await service.status()).problems, []);
  t.equal((await rowOf(service)).pid, pid, 'a shortage that passes costs no restart');

  // The page closes connections without a request after a while: new ones follow, as those of a client that repeats.
  const kept: Socket[] = [];
  await until(
    'another one serves',
    async () => {
      const row = await rowOf(service);
      if (row.pid !== pid) return row.state === 'ready';
      kept.push(...(await fill(port, pid)));
      return false;
    },
    90_000,
  );
  const why = JSON.parse((await service.agent('why', 'dashboard', '--json')).stdout) as object;
  t.match(why, { sentence: /no free file descriptor for 2\d s/, fix: /LimitNOFILE/ });
  for (const socket of kept) socket.destroy();
});
