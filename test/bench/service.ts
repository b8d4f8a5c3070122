/**
 * `npm run bench -- service`: the service itself, from the built package laid out as npm installs it.
 * Prints a table; never judges. `--rounds N` (default 7), `--idle SECONDS` (default 60), `--quick`, `--json`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { down, status as statusMethod, waitReady, type Status } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import { sleep } from '../../base/time.ts';
import { openHome, readToken, type Home } from '../../state/home.ts';
import { freePort } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { cpuNs, inTurn, machine, pssMiB, round, runMs, shown, spread, untilReady } from './measure.ts';
import { layOutPackage } from './package.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, idle: { type: 'string' }, quick: { type: 'boolean' }, json: { type: 'boolean' } },
});
const rounds = Number(values.rounds ?? (values.quick ? 3 : 7));
const idleSeconds = Number(values.idle ?? (values.quick ? 10 : 60));
let bareHome = 0;

/** The working folder: a package as installed, and homes that are gone afterwards. */
const place = mkdtempSync(join(tmpdir(), 'agent-bench-'));
const packageRoot = join(place, 'package');
const agentd = join(packageRoot, 'dist/bin/agentd.js');
const agent = join(packageRoot, 'bin/agent');
/** Those that were not taken down, because the bench failed in between. */
const supervisors = new Set<number>();
const table: { what: string; value: string; beside?: string }[] = [];

try {
  layOutPackage(packageRoot);
  await benchCommand();
  await benchBoot();
  await benchWorkers();
  await benchIdle();
  print();
} finally {
  for (const supervisor of supervisors) await endSupervisor(supervisor);
  rmSync(place, { recursive: true, force: true });
}

interface Service {
  home: Home;
  env: NodeJS.ProcessEnv;
  pid: number;
  bootMs: number;
  status(): Promise<Status>;
  /** Stops it in good order; answers the ms until its process is gone. */
  down(): Promise<number>;
}

async function environment(name: string): Promise<{ home: Home; env: NodeJS.ProcessEnv }> {
  const root = join(place, name);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  return {
    home: openHome(root),
    env: { PATH: process.env.PATH, HOME: root, AGENT_HOME: root, AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' },
  };
}

async function bootService(name: string): Promise<Service> {
  const { home, env } = await environment(name);
  const link = async (startingMs = 0) => dial(home.run.supervisorSocket, { token: readToken(home) ?? '', slot: 'bench', startingMs });
  const command = [process.execPath, agentd, '--demo', '--port', String(await freePort())];
  const { ms, pid, end } = await untilReady(command, env, async () => {
    await until('the token is made', () => readToken(home));
    using control = await link(20_000);
    const { ready, status } = await control.call(waitReady, { timeout_ms: 30_000 });
    if (!ready) throw new Error(`not ready: ${JSON.stringify(status.workers)}`);
  });
  supervisors.add(pid);
  return {
    home,
    env,
    pid,
    bootMs: ms,
    async status() {
      using control = await link();
      return await control.call(statusMethod, {});
    },
    async down() {
      const startedAt = performance.now();
      using control = await link();
      await control.call(down, { actor: 'bench' });
      await until('the supervisor is gone', () => !alive(pid));
      const stopMs = performance.now() - startedAt;
      await end();
      supervisors.delete(pid);
      return stopMs;
    },
  };
}

async function endSupervisor(pid: number): Promise<void> {
  if (!alive(pid)) return;
  process.kill(pid, 'SIGTERM');
  await until(`supervisor ${pid} is gone`, () => !alive(pid));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** `agent status` as a whole process beside `node -e 0`, with the service up and with it down. */
async function benchCommand(): Promise<void> {
  const service = await bootService('command');
  const bare = () => runMs([process.execPath, '-e', '0'], service.env);
  const up = inTurn(4 * rounds, () => runMs([agent, 'status'], service.env, [0, 1]), bare);
  await service.down();
  const off = inTurn(4 * rounds, () => runMs([agent, 'status'], service.env, [3]), bare);
  add('`agent status`, service up, whole process', `${shown(up.a)} ms`, `\`node -e 0\` ${shown(up.b)} ms; ratio ${shown(up.ratio, 2)}`);
  add(
    '`agent status`, service down, whole process',
    `${shown(off.a)} ms`,
    `\`node -e 0\` ${shown(off.b)} ms; ratio ${shown(off.ratio, 2)}`,
  );
}

/** Boot to every wanted slot ready; stop of the idle service. The first boot, without a compile cache, is told apart. */
async function benchBoot(): Promise<void> {
  const first = await bootService('cold');
  await first.down();
  const boots: number[] = [];
  const stops: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const service = await bootService('cold');
    boots.push(service.bootMs);
    stops.push(await service.down());
  }
  add('boot to all ready (supervisor and 5 workers), first start ever', `${round(first.bootMs)} ms`);
  add('boot to all ready (supervisor and 5 workers)', `${shown(spread(boots))} ms`);
  add('stop of the idle service, until the supervisor is gone', `${shown(spread(stops))} ms`);
}

/** kill -9 to ready of each worker beside the bare start of the same worker without a supervisor. */
async function benchWorkers(): Promise<void> {
  const service = await bootService('workers');
  const slots = (await service.status()).workers.filter((worker) => worker.state === 'ready');
  for (const { slot } of slots) {
    const back: number[] = [];
    for (let i = 0; i < Math.min(rounds, 5); i++) {
      const before = await readyFor(service, slot, 1_100);
      const startedAt = performance.now();
      process.kill(before.pid!, 'SIGKILL');
      await until(`${slot} is back`, async () => {
        using link = await dial(service.home.run.socket(slot), { token: readToken(service.home)!, slot: 'bench' });
        return link.peer.pid !== before.pid;
      });
      back.push(performance.now() - startedAt);
    }
    const bare: number[] = [];
    for (let i = 0; i < Math.min(rounds, 5); i++) bare.push(await bareStart(slot));
    add(
      `kill -9 to ready: ${slot}`,
      `${shown(spread(back))} ms`,
      `bare start ${shown(spread(bare))} ms; ratio of medians ${round(spread(back).median / spread(bare).median, 2)}`,
    );
  }
  await service.down();
}

/** Five kills a minute are replaced at once; to measure more, each waits until it would be again. */
async function readyFor(service: Service, slot: string, ms: number) {
  return until(`${slot} has been ready for a second`, async () => {
    const worker = (await service.status()).workers.find((one) => one.slot === slot)!;
    return worker.state === 'ready' && Date.now() - Date.parse(worker.since) > ms ? worker : undefined;
  });
}

async function bareStart(slot: string): Promise<number> {
  const { home, env } = await environment(`bare${bareHome++}`);
  const command = [process.execPath, join(packageRoot, 'dist/services', slot, 'main.js')];
  const more = {
    AGENT_SLOT: slot,
    AGENT_DEMO: '1',
    AGENT_DASHBOARD_PORT: String(await freePort()),
    NODE_COMPILE_CACHE: join(place, 'workers', 'cache', 'compile'),
  };
  const { ms, end } = await untilReady(command, { ...env, ...more }, () =>
    until(`${slot} serves`, async () => {
      using link = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'bench' });
      return link.isOpen;
    }),
  );
  await end();
  return ms;
}

/** Memory and CPU of the service while nobody uses it. */
async function benchIdle(): Promise<void> {
  const service = await bootService('idle');
  const { workers } = await service.status();
  const processes = [
    { name: 'supervisor', pid: service.pid },
    ...workers.filter((worker) => worker.pid !== null).map((worker) => ({ name: worker.slot, pid: worker.pid! })),
  ];
  // V8 tidies up for a while after the start; idle begins when that is over.
  await sleep(20_000);
  const before = processes.map(({ pid }) => cpuNs(pid));
  await sleep(idleSeconds * 1_000);
  const used = processes.map(({ pid }, i) => (cpuNs(pid) - before[i]!) / 1e6);
  const pss = processes.map(({ pid }) => pssMiB(pid));
  processes.forEach(({ name }, i) =>
    add(`idle: ${name}`, `${round(pss[i]!)} MiB PSS`, `${round(used[i]!, 2)} ms of CPU in ${idleSeconds} s`),
  );
  const sumMs = used.reduce((a, b) => a + b, 0);
  add(
    'idle: sum of all processes',
    `${round(pss.reduce((a, b) => a + b, 0))} MiB PSS`,
    `${round(sumMs, 1)} ms of CPU in ${idleSeconds} s = ${round(sumMs / idleSeconds / 10, 3)} % of a core`,
  );
  await service.down();
}

function add(what: string, value: string, beside = ''): void {
  table.push({ what, value, beside });
  process.stderr.write(`${what}: ${value}${beside ? `   [${beside}]` : ''}\n`);
}

function print(): void {
  if (values.json) return void process.stdout.write(`${JSON.stringify({ machine: machine(), rounds, idleSeconds, table }, null, 2)}\n`);
  process.stdout.write(`\n${machine()}; ${rounds} rounds; median (min–max)\n\n| what | figure | beside |\n|---|---|---|\n`);
  for (const row of table) process.stdout.write(`| ${row.what} | ${row.value} | ${row.beside} |\n`);
}
