/**
 * `npm run bench -- dashboard`: the dashboard worker from the built package, under `wrk` (Debian) beside ten lines of
 * bare fastify. `--rows status,stream,restart,kill,idle` chooses; `--rounds N`, `--seconds S`, `--quick`, `--json`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { sleep } from '../../base/time.ts';
import { down, restartSlot, status as statusMethod, waitReady, type WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome, readToken, type Home } from '../../state/home.ts';
import { requirePackage } from '../harness/debianPackage.ts';
import { freePort } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { machine, pssMiB, round, shown, spread, untilReady } from './measure.ts';
import { layOutPackage } from './package.ts';

const rows = ['status', 'stream', 'restart', 'kill', 'idle'] as const;
const { values } = parseArgs({
  options: {
    rows: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
  },
});
const chosen: readonly string[] = values.rows?.split(',') ?? rows;
const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
const seconds = Number(values.seconds ?? (values.quick ? 2 : 5));
const TOKEN = 'b'.repeat(64);
const TABS = 50;
const SOCKETS = 2_000;

const place = mkdtempSync(join(tmpdir(), 'agent-bench-dashboard-'));
const packageRoot = join(place, 'package');
const wrk = await requirePackage('wrk', '/usr/bin/wrk');
const table: { what: string; value: string; beside: string }[] = [];

try {
  layOutPackage(packageRoot);
  if (chosen.includes('status')) await benchStatus();
  if (chosen.includes('stream')) await benchStream();
  if (chosen.includes('restart')) await benchRestart();
  if (chosen.includes('kill')) await benchKill();
  if (chosen.includes('idle')) await benchIdle();
  print();
} finally {
  rmSync(place, { recursive: true, force: true });
}

// --- what is measured ---

/** Requests a second of `GET /api/status`, the two servers in turn. */
async function benchStatus(): Promise<void> {
  await using service = await bootService('status');
  const port = await freePort();
  const bare = await untilReady(
    [process.execPath, join(import.meta.dirname, 'peers', 'bareFastify.mjs'), String(port), packageRoot],
    { PATH: process.env.PATH },
    () => until('the peer answers', () => timed(port).catch(() => undefined)),
  );
  try {
    load(service.port);
    load(port);
    const pairs = Array.from({ length: rounds }, () => ({ ours: load(service.port), bare: load(port) }));
    const ratio = spread(pairs.map((pair) => pair.ours / pair.bare));
    add(
      'GET /api/status',
      `${shown(spread(pairs.map(({ ours }) => ours)), 0)} requests/s`,
      `bare fastify ${shown(spread(pairs.map((pair) => pair.bare)), 0)}; ratio ${shown(ratio, 2)}`,
    );
  } finally {
    await bare.end();
  }
}

/** The same answer while a chat streams to fifty tabs: latency of single requests, a hundred a second. */
async function benchStream(): Promise<void> {
  await using service = await bootService('stream');
  const tabs = await Promise.all(Array.from({ length: TABS }, () => openTab(service.port)));
  const { session_id } = await tabs[0]!.call('session.create', {});
  for (const tab of tabs.slice(1)) await tab.call('session.resume', { session_id });
  await tabs[0]!.call('prompt.submit', { session_id, text: `say: ${seconds * 400} words` });
  await until('the text comes', () => tabs.at(-1)!.received() > 5);
  const before = tabs.map((tab) => tab.received());
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  while (performance.now() < endsAt) {
    const startedAt = performance.now();
    latencies.push(await timed(service.port));
    await sleep(Math.max(0, 10 - (performance.now() - startedAt)));
  }
  const frames = tabs.reduce((sum, tab, n) => sum + tab.received() - before[n]!, 0);
  latencies.sort((a, b) => a - b);
  add(
    `GET /api/status while a chat streams to ${TABS} tabs`,
    `p50 ${round(at(latencies, 0.5), 2)} ms, p99 ${round(at(latencies, 0.99), 2)} ms`,
    `${latencies.length} requests, ${Math.round(frames / seconds)} frames/s to all tabs`,
  );
  for (const tab of tabs) tab.close();
}

/** Requests that fail while the worker is replaced on purpose: on new connections, and on kept ones. */
async function benchRestart(): Promise<void> {
  await using service = await bootService('restart');
  for (const keepAlive of [false, true]) {
    const agent = new Agent({ keepAlive, maxSockets: 8 });
    const counts = { done: 0, failed: [] as string[] };
    let going = true;
    const clients = Array.from({ length: 8 }, async () => {
      while (going) {
        await timed(service.port, agent).then(
          () => counts.done++,
          (thrown: unknown) => counts.failed.push(String((thrown as NodeJS.ErrnoException).code ?? thrown)),
        );
        // As a page that looks now and then: a connection stands idle in between.
        await sleep(keepAlive ? 3 : 0);
      }
    });
    for (let n = 0; n < rounds; n++) {
      await service.control.call(restartSlot, { slot: 'dashboard', actor: 'bench' });
      await sleep(500);
    }
    going = false;
    await Promise.all(clients);
    agent.destroy();
    add(
      `${rounds} planned restarts under load, ${keepAlive ? 'kept' : 'new'} connections`,
      `${counts.failed.length} of ${counts.done + counts.failed.length} requests failed`,
      [...new Set(counts.failed)].join(', '),
    );
  }
}

/** From SIGKILL to the first answer, beside the start of the new process as the supervisor saw it. */
async function benchKill(): Promise<void> {
  await using service = await bootService('kill');
  const over: number[] = [];
  const back: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const { pid, restarts } = await service.worker('dashboard');
    const startedAt = performance.now();
    process.kill(pid!, 'SIGKILL');
    // A connection made now waits in the listener that outlives the worker.
    await until('it answers', () => timed(service.port).catch(() => undefined), 20_000);
    const ms = performance.now() - startedAt;
    const next = await until('it is ready', async () => {
      const seen = await service.worker('dashboard');
      return seen.restarts > restarts && seen.state === 'ready' && seen;
    });
    back.push(ms);
    over.push(ms - next.ready_ms!);
    // Long enough not to be a loop of crashes.
    await sleep(1_500);
  }
  add('SIGKILL of the dashboard → first answer', `${shown(spread(back), 0)} ms`, `over its own start: ${shown(spread(over), 0)} ms`);
}

/** Memory without anybody, and with two thousand idle sockets. */
async function benchIdle(): Promise<void> {
  await using service = await bootService('idle');
  await sleep(values.quick ? 3_000 : 30_000);
  const { pid } = await service.worker('dashboard');
  const { pid: agentPid } = await service.worker('agent');
  const idle = pssMiB(pid!);
  const agentIdle = pssMiB(agentPid!);
  add('dashboard worker, idle', `${round(idle)} MiB PSS`);
  const sockets: WebSocket[] = [];
  while (sockets.length < SOCKETS) {
    sockets.push(...(await Promise.all(Array.from({ length: 100 }, async () => (await openTab(service.port)).socket))));
  }
  await sleep(2_000);
  const each = (now: number, before: number) => `${round(((now - before) * 1024) / SOCKETS)} KiB`;
  add(
    `${sockets.filter((socket) => socket.readyState === socket.OPEN).length} idle sockets held`,
    `+${each(pssMiB(pid!), idle)} a socket`,
    `at the agent worker +${each(pssMiB(agentPid!), agentIdle)}`,
  );
  for (const socket of sockets) socket.terminate();
}

// --- the service, and clients of it ---

interface Service extends AsyncDisposable {
  home: Home;
  port: number;
  control: Link;
  worker(slot: string): Promise<WorkerStatus>;
}

async function bootService(name: string): Promise<Service> {
  const root = join(place, name);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const home = openHome(root);
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    HOME: root,
    AGENT_HOME: root,
    AGENT_GATEWAY_BOOTSTRAP_STATE: 'running',
    AGENT_DASHBOARD_SESSION_TOKEN: TOKEN,
  };
  const child = spawn(process.execPath, [join(packageRoot, 'dist/bin/agentd.js'), '--demo', '--port', String(port)], {
    env,
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until('the token is made', () => readToken(home));
  const control = await dial(home.run.supervisorSocket, { token: readToken(home)!, slot: 'bench', startingMs: 20_000 });
  const { ready } = await control.call(waitReady, { timeout_ms: 30_000 });
  if (!ready) throw new Error('the service is not ready');
  return {
    home,
    port,
    control,
    worker: async (slot) => (await control.call(statusMethod, {})).workers.find((worker) => worker.slot === slot)!,
    async [Symbol.asyncDispose]() {
      await control.call(down, { actor: 'bench' }).catch(() => child.kill('SIGKILL'));
      await ended;
      control.close();
    },
  };
}

/** Requests a second over sixteen kept connections. */
function load(port: number): number {
  const { stdout, status } = spawnSync(wrk, ['-t1', '-c16', `-d${seconds}s`, `http://127.0.0.1:${port}/api/status`], { encoding: 'utf8' });
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
  if (status !== 0 || !(perSecond > 0) || /Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk: ${stdout}`);
  return perSecond;
}

/** Milliseconds of one `GET /api/status`, answer read to its end. Any other answer than 200 is an error. */
function timed(port: number, agent: Agent | false = false): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/api/status', agent: agent || undefined, timeout: 10_000 }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve(performance.now() - startedAt) : reject(new Error(String(answer.statusCode))),
      );
      answer.once('error', reject);
    })
      .once('error', reject)
      .once('timeout', () => reject(new Error('timeout')));
  });
}

interface Tab {
  socket: WebSocket;
  received(): number;
  call(method: string, params: object): Promise<Record<string, string>>;
  close(): void;
}

/** Resolves when `gateway.ready` is there. */
async function openTab(port: number): Promise<Tab> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/ws?token=${TOKEN}`);
  const open = new Map<number, (result: Record<string, string>) => void>();
  let received = 0;
  const ready = Promise.withResolvers<void>();
  socket.once('error', ready.reject);
  socket.once('close', (code) => ready.reject(new Error(`closed with ${code}`)));
  socket.on('message', (data: Buffer) => {
    received++;
    ready.resolve();
    if (open.size === 0) return;
    const { id, result } = JSON.parse(data.toString()) as { id?: number; result?: Record<string, string> };
    if (id === undefined || !result) return;
    open.get(id)?.(result);
    open.delete(id);
  });
  await ready.promise;
  let lastId = 0;
  return {
    socket,
    received: () => received,
    call: (method, params) =>
      new Promise((resolve) => {
        lastId += 1;
        open.set(lastId, resolve);
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }));
      }),
    close: () => socket.terminate(),
  };
}

function at(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

function add(what: string, value: string, beside = ''): void {
  table.push({ what, value, beside });
  if (!values.json) process.stderr.write(`  ${what}: ${value}${beside ? ` (${beside})` : ''}\n`);
}

function print(): void {
  if (values.json) return void process.stdout.write(`${JSON.stringify({ machine: machine(), rows: table }, null, 2)}\n`);
  process.stdout.write(`${machine()}\n\n| what | value | beside |\n|---|---|---|\n`);
  for (const { what, value, beside } of table) process.stdout.write(`| ${what} | ${value} | ${beside} |\n`);
}
