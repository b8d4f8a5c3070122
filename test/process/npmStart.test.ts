/** `npm start` as people and process managers end it (contract §1): with npm between them and the service. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { cli, cliEnv } from '../harness/cli.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

interface Started {
  npm: ChildProcess;
  printed: () => string;
  processes: number[];
}

async function npmStart(home: TestHome): Promise<Started> {
  home.write('config.yaml', `dashboard: { port: ${await freePort()} }\n`);
  // In a group of its own, as the foreground job of a terminal is.
  const npm = spawn('npm', ['start'], { cwd: projectRoot, env: cliEnv({ home }), stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  npm.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  npm.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await until('the address is printed', () => text.includes('Dashboard: http://127.0.0.1:'), 60_000);
  const status = JSON.parse((await cli(['status', '--json'], { home })).stdout) as Status;
  const processes = [status.supervisor.pid, ...status.workers.flatMap(({ pid }) => pid ?? [])];
  return { npm, printed: () => text, processes };
}

for (const { name, end } of [
  { name: 'ctrl-C, which npm hands on to a service that has it already', end: ({ npm }: Started) => process.kill(-npm.pid!, 'SIGINT') },
  { name: 'SIGTERM to npm alone', end: ({ npm }: Started) => process.kill(npm.pid!, 'SIGTERM') },
]) {
  t.test(`contract 1: npm start is drained and stopped by ${name}`, async (t) => {
    using home = testHome();
    const started = await npmStart(home);
    const ended = once(started.npm, 'exit');
    const turn = cli(['chat', '-q', 'slow: 2', '--json'], { home });
    const sessions = async () =>
      JSON.parse((await cli(['sessions', 'list', '--json'], { home })).stdout) as { sessions: { message_count: number }[] };
    await until('a turn runs', async () => (await sessions()).sessions.some(({ message_count }) => message_count > 0));
    end(started);
    t.match(JSON.parse((await turn).stdout), { status: 'complete', error: null }, 'the turn that ran came to its end');
    await ended;
    await until('every process is gone', () => started.processes.every((pid) => !groupAlive(pid)));
    t.equal(started.printed().match(/Dashboard: /g)?.length, 1);
  });
}
