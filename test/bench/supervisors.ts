/**
 * `npm run bench -- supervisors`: our supervisor beside pm2, supervisord, runit, s6 and a ten-line Node
 * supervisor (the floor), all in the same run with the same workers. Installs the peers that npm and Debian
 * offer when it may. Prints a table; never judges. `--rounds N` (5), `--idle SECONDS` (30), `--only PEER,…`,
 * `--rows PART,…`, `--quick`, `--json`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requirePackage } from '../harness/debianPackage.ts';
import { machine, round, shown, spread } from './measure.ts';
import { layOutPackage } from './package.ts';
import { runit, s6, supervisord } from './peers/debianPeers.ts';
import { bareNode, ours, pm2 } from './peers/nodePeers.ts';
import type { Peer } from './peers/peer.ts';
import {
  capture,
  grandchild,
  idle,
  kills,
  startAndStop,
  statusCommand,
  supervisorKilled,
  type Succession,
  type StartAndStop,
} from './supervisorRows.ts';
import { compileWorker, sweep, type Field } from './trial.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    idle: { type: 'string' },
    only: { type: 'string' },
    rows: { type: 'string' },
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
const idleSeconds = Number(values.idle ?? (values.quick ? 10 : 30));
const MANY = 200;
const LINES = values.quick ? 200_000 : 1_000_000;
/** Outside the project, kept from run to run. */
const PEERS = join(tmpdir(), 'agent-bench-peers');
const PM2 = '7.0.4';

interface Row {
  what: string;
  /** Figure per peer, in words. */
  cells: Map<string, string>;
}
const table: Row[] = [];

const root = mkdtempSync(join(tmpdir(), 'agent-bench-'));
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void sweep(root).then(() => process.exit(1)));
try {
  const field: Field = { place: root, program: compileWorker(root) };
  const peers = (await allPeers()).filter(({ name }) => !values.only || values.only.split(',').includes(name));
  for (const { name, missing } of peers) if (missing) process.stderr.write(`${name} is not measured: ${missing}\n`);
  await measure(
    peers.filter(({ missing }) => !missing),
    field,
  );
  print(peers);
} finally {
  await sweep(root);
}

async function allPeers(): Promise<Peer[]> {
  const packageRoot = join(root, 'package');
  layOutPackage(packageRoot);
  for (const [debian, program] of [
    ['supervisor', '/usr/bin/supervisord'],
    ['runit', '/usr/bin/runsvdir'],
    ['s6', '/usr/bin/s6-svscan'],
  ] as const) {
    await requirePackage(debian, program).catch((thrown: unknown) => process.stderr.write(`${String(thrown)}\n`));
  }
  return [ours(packageRoot), bareNode(), installPm2(), supervisord(), runit(), s6()];
}

function installPm2(): Peer {
  const program = join(PEERS, 'node_modules/pm2/bin/pm2');
  if (!existsSync(program)) {
    mkdirSync(PEERS, { recursive: true });
    writeFileSync(join(PEERS, 'package.json'), '{ "private": true }\n');
    spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `pm2@${PM2}`], {
      cwd: PEERS,
      stdio: 'ignore',
      timeout: 180_000,
    });
  }
  return pm2(program, existsSync(program) ? undefined : `npm install pm2@${PM2} failed`);
}

async function measure(peers: readonly Peer[], field: Field): Promise<void> {
  const parts: Record<string, () => Promise<void>> = {
    kill: () => killRows(peers, field),
    boot: () => bootRows(peers, field),
    idle: () => idleRows(peers, field),
    many: () => manyRows(peers, field),
    lines: () => lineRows(peers, field),
    status: () => statusRows(peers, field),
    succession: () => successionRows(peers, field),
    grandchild: () => grandchildRows(peers, field),
  };
  const chosen = values.rows?.split(',') ?? Object.keys(parts);
  for (const part of chosen) await parts[part]!();
}

async function killRows(peers: readonly Peer[], field: Field): Promise<void> {
  const c = await kills(peers, field, 'c plain', 'main');
  const node = await kills(peers, field, 'node', 'ready');
  for (const peer of peers) {
    const { first, later } = c.get(peer)!;
    add('death → replacement’s `main()`, C worker', peer, `${shown(spread([...first, ...later]), 2)} ms`);
    add('kill -9 → ready, Node worker, first time', peer, `${shown(spread(node.get(peer)!.first))} ms`);
    add('kill -9 → ready, Node worker, 2nd to 5th time', peer, `${shown(spread(node.get(peer)!.later))} ms`);
  }
}

async function bootRows(peers: readonly Peer[], field: Field): Promise<void> {
  await eachInTurn(peers, field, 4, 'node', (peer, runs) => {
    add('boot, 4 Node workers ready', peer, `${shown(spread(runs.map(({ bootMs }) => bootMs)))} ms`);
    add('the first boot ever in a home', peer, `${shown(spread(runs.map(({ firstMs }) => firstMs)))} ms`);
    add('stop of these', peer, `${shown(spread(runs.map(({ stopMs }) => stopMs)))} ms`);
  });
}

async function manyRows(peers: readonly Peer[], field: Field): Promise<void> {
  await eachInTurn(peers, field, MANY, 'c plain', (peer, runs) => {
    add(`${MANY} programs, start of all`, peer, `${shown(spread(runs.map(({ bootMs }) => bootMs)))} ms`);
    add(`${MANY} programs, the first start ever`, peer, `${shown(spread(runs.map(({ firstMs }) => firstMs)))} ms`);
    add(`${MANY} programs, stop of all`, peer, `${shown(spread(runs.map(({ stopMs }) => stopMs)))} ms`);
  });
}

/** Round by round through all peers, so that the machine's drift hits all alike. */
async function eachInTurn(
  peers: readonly Peer[],
  field: Field,
  count: number,
  kind: 'node' | 'c plain',
  tell: (peer: Peer, runs: StartAndStop[]) => void,
): Promise<void> {
  const runs = new Map(peers.map((peer) => [peer, [] as StartAndStop[]]));
  // The first one fills caches and counts for nobody.
  for (let turn = 0; turn <= rounds; turn++) {
    for (const peer of peers) {
      const run = await attempt(peer, () => startAndStop(peer, field, count, kind));
      if (run && turn > 0) runs.get(peer)!.push(run);
    }
  }
  for (const [peer, all] of runs) if (all.length > 0) tell(peer, all);
}

async function idleRows(peers: readonly Peer[], field: Field): Promise<void> {
  const few = await idle(peers, field, 6, idleSeconds);
  const many = await idle(peers, field, MANY, idleSeconds);
  for (const peer of peers) {
    const a = few.get(peer)!;
    const b = many.get(peer)!;
    add(`idle CPU in ${idleSeconds} s, 6 / ${MANY} programs`, peer, `${round(a.cpuMs, 1)} / ${round(b.cpuMs, 1)} ms`);
    add(`wake-ups in ${idleSeconds} s, 6 / ${MANY} programs`, peer, `${a.wakeUps} / ${b.wakeUps}`);
    add('PSS of the supervisor, 6 programs', peer, `${round(a.pssMiB)} MiB in ${a.processes}`);
    add(`PSS per program more, 6 to ${MANY}`, peer, `${round(((b.pssMiB - a.pssMiB) * 1_024) / (MANY - 6), 0)} KiB`);
  }
}

async function lineRows(peers: readonly Peer[], field: Field): Promise<void> {
  for (const peer of peers) {
    const runs: Awaited<ReturnType<typeof capture>>[] = [];
    for (let turn = 0; turn < rounds; turn++) {
      const run = await attempt(peer, () => capture(peer, field, LINES));
      if (run) runs.push(run);
    }
    if (runs.length === 0) continue;
    const most = (of: (run: (typeof runs)[number]) => number) => Math.max(...runs.map(of));
    add(
      `${LINES.toLocaleString('en')} lines of 100 bytes: lines/s to disk`,
      peer,
      shown(spread(runs.map(({ perSecond }) => Math.round(perSecond))), 0),
    );
    add('of these lost / torn / doubled, worst run', peer, `${most((r) => r.lost)} / ${most((r) => r.torn)} / ${most((r) => r.doubled)}`);
  }
}

async function statusRows(peers: readonly Peer[], field: Field): Promise<void> {
  for (const count of [4, MANY]) {
    for (const peer of peers) {
      const isOurs = peer.name === 'agent';
      const times = await attempt(peer, () => statusCommand(peer, field, count, rounds, isOurs));
      if (!times) continue;
      const bare = spread(times.bareMs).median;
      const beside = (ms: number[]) =>
        `${shown(spread(ms))} ms = ${round(spread(ms).median / bare, 2)} × \`node -e 0\` (${round(bare)} ms)`;
      add(`status command, ${count} programs`, peer, beside(times.commandMs));
      if (isOurs) add(`status command, ${count} programs, supervisor stopped with SIGSTOP`, peer, beside(times.frozenMs));
    }
  }
}

async function successionRows(peers: readonly Peer[], field: Field): Promise<void> {
  for (const peer of peers) {
    const runs: Awaited<ReturnType<typeof supervisorKilled>>[] = [];
    for (let turn = 0; turn < (peer.name === 'agent' ? rounds : 1); turn++) {
      const run = await attempt(peer, () => supervisorKilled(peer, field));
      if (run) runs.push(run);
    }
    const [one] = runs;
    if (!one) continue;
    const total = (of: (run: Succession) => number) => runs.reduce((sum, run) => sum + of(run), 0);
    add(
      'supervisor killed and started again, 4 printing workers: survive / kept / doubled',
      peer,
      `${one.survived} / ${one.kept} / ${one.doubled}`,
    );
    add('of their numbered lines lost / torn', peer, `${total((r) => r.lostLines)} / ${total((r) => r.tornLines)}`);
    const control = runs.flatMap(({ controlMs }) => (controlMs === null ? [] : [controlMs]));
    if (control.length > 0) add('control is back after the start', peer, `${shown(spread(control))} ms`);
  }
}

async function grandchildRows(peers: readonly Peer[], field: Field): Promise<void> {
  for (const peer of peers) {
    const left = await attempt(peer, () => grandchild(peer, field));
    if (!left) continue;
    const word = (alive: boolean) => (alive ? 'left behind' : 'gone');
    add('grandchild, own session, ignores SIGTERM: after a crash', peer, word(left.afterCrash));
    add('the same after a stop', peer, `${word(left.afterStop)} (${round(left.stopMs, 0)} ms)`);
  }
}

/** A peer that fails at something has no figure there; the others go on. */
async function attempt<T>(peer: Peer, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    process.stderr.write(`${peer.name}: ${(thrown as Error).message}\n`);
    return undefined;
  }
}

function add(what: string, { name }: Peer, value: string | undefined): void {
  let row = table.find((one) => one.what === what);
  if (!row) table.push((row = { what, cells: new Map() }));
  row.cells.set(name, value ?? 'failed');
  process.stderr.write(`${what} | ${name}: ${value ?? 'failed'}\n`);
}

function print(peers: readonly Peer[]): void {
  if (values.json) {
    const rows = table.map(({ what, cells }) => ({ what, ...Object.fromEntries(cells) }));
    process.stdout.write(`${JSON.stringify({ machine: machine(), rounds, idleSeconds, rows }, null, 2)}\n`);
    return;
  }
  const title = ({ name, version }: Peer) => `${name} ${version}`.trim();
  process.stdout.write(`\n${machine()}; ${rounds} rounds; median (min–max)\n\n| what | ${peers.map(title).join(' | ')} |\n`);
  process.stdout.write(`|---${'|---'.repeat(peers.length)}|\n`);
  for (const { what, cells } of table) {
    process.stdout.write(`| ${what} | ${peers.map(({ name }) => cells.get(name) ?? '–').join(' | ')} |\n`);
  }
}
