/** Faults of files: a socket taken away, records damaged, a log flooded. Everything is put back. */
import { readFileSync, rmSync, readdirSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration, sleep } from '../../base/time.ts';
import { restartSlot } from '../../ipc/contracts/supervisor.ts';
import { setConfigValue } from '../../state/config/edit.ts';
import { readText } from '../../state/config/load.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import type { Home } from '../../state/home.ts';
import { logPath } from '../../state/logs.ts';
import { withSupervisor } from '../connect.ts';
import { bytesForPeople } from '../terminal.ts';
import { askStatus, chooseSlot, LEAST_MISSED, lostOf, runningPids, until, whoServes, type Drill, type Scene } from './drill.ts';
import { damage } from './fault.ts';
import { startStopwatch } from './stopwatch.ts';

export const breakSocket: Drill = {
  name: 'break-socket',
  summary: 'remove the socket file of a worker, then put a stray file in its place; the worker has to bind it again',
  interrupts: ({ slot }) =>
    `for some seconds nobody can reach ${slot ?? 'one worker (cron, unless --slot says otherwise)'}; open connections go on`,
  async run(scene) {
    const { home } = scene;
    const row = chooseSlot(await askStatus(home), scene.slot, LEAST_MISSED);
    if (row.kind === 'sidecar')
      throw new AgentError('USAGE', `${row.slot} has no socket of ours`, { fix: 'name a worker: agent, dashboard, gateway, cron, mcp' });
    const path = home.run.socket(row.slot);
    const limitMs = limits.drill.socketMs * 3;
    try {
      rmSync(path);
      scene.step(`removed ${path}`);
      const removedMs = await untilServed(scene, row.slot, row.pid!, limitMs);
      writeFileStray(path);
      scene.step(`put a stray file at ${path}`);
      const strayMs = await untilServed(scene, row.slot, row.pid!, limitMs);
      const recoveredMs = Math.max(removedMs, strayMs);
      const verdict = `the same process of ${row.slot} served again, at the latest after ${formatDuration(recoveredMs)}`;
      return { slot: row.slot, recoveredMs, publishedMs: limits.drill.socketMs, limitMs, verdict };
    } catch (thrown) {
      scene.step(`nobody mended it; restarting ${row.slot}`);
      rmSync(path, { force: true });
      await withSupervisor(home, (link) => link.call(restartSlot, { slot: row.slot, actor: 'cli', cause: 'agent drill break-socket' }));
      throw thrown;
    }
  },
};

function writeFileStray(path: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, 'not a socket\n', { mode: 0o600 });
}

async function untilServed(scene: Scene, slot: string, pid: number, limitMs: number): Promise<number> {
  const startedAt = scene.now();
  const serving = await until(scene, `${slot} serves on its socket again`, limitMs, () => whoServes(scene.home, slot));
  const ms = scene.now() - startedAt;
  if (serving !== pid)
    throw new AgentError('INTERNAL', `${slot} was replaced (process ${pid} → ${serving}) where binding again was enough`);
  scene.step(`process ${pid} serves on it again`);
  return ms;
}

export const corruptState: Drill = {
  name: 'corrupt-state',
  summary: 'damage run/slots.json, run/status.json and gateway_state.json; nothing may stop',
  interrupts: () => 'nothing; `agent status` may know less for some seconds',
  async run(scene) {
    const { home } = scene;
    const before = runningPids(await askStatus(home));
    const startedAt = scene.now();
    const paths = [home.run.slots, home.run.status, home.gatewayState].filter((path) => existsSync(path));
    using stack = new DisposableStack();
    const damaged = paths.map((path) => stack.use(damage(path)));
    scene.step(`damaged ${paths.map((path) => basename(path)).join(', ')} (copies are kept)`);
    let slowestMs = 0;
    for (const deadline = startedAt + limits.drill.corruptMs; scene.now() < deadline;) {
      const askedAt = scene.now();
      await askStatus(home);
      slowestMs = Math.max(slowestMs, scene.now() - askedAt);
      await sleep(100, scene.signal);
    }
    scene.step(`the supervisor answered throughout, at the slowest in ${formatDuration(slowestMs)}`);
    const put = damaged.filter((one) => one.restore()).map(({ path }) => basename(path));
    const own = paths.map((path) => basename(path)).filter((name) => !put.includes(name));
    scene.step(
      [own.length ? `${own.join(', ')} written anew by the service` : '', put.length ? `${put.join(', ')} put back from the copy` : '']
        .filter(Boolean)
        .join('; '),
    );
    const lost = lostOf(before, await askStatus(home));
    return {
      ok: lost.length === 0,
      recoveredMs: slowestMs,
      limitMs: limits.ipc.callMs,
      verdict: lost.length ? lost.join('; ') : `${before.size} workers went on, the same processes`,
    };
  },
};

const FLOOD_SLOT = 'drill-flood';

export const fillLog: Drill = {
  name: 'fill-log',
  summary: `flood the log capture through a temporary sidecar with ${limits.drill.floodLines.toLocaleString('en')} lines`,
  interrupts: () => `nothing; config.yaml gets the entry services.${FLOOD_SLOT} for a while, its log is removed afterwards`,
  async run(scene) {
    const { home } = scene;
    const others = runningPids(await askStatus(home));
    await using flood = await startFlood(home);
    const startedAt = scene.now();
    scene.step(`services.${FLOOD_SLOT} prints ${limits.drill.floodLines.toLocaleString('en')} lines of 100 bytes`);
    let slowestMs = 0;
    await until(scene, 'its last line or a counted drop is in the log', limits.drill.floodMs, async () => {
      const askedAt = scene.now();
      await askStatus(home);
      slowestMs = Math.max(slowestMs, scene.now() - askedAt);
      return flood.isOver();
    });
    const recoveredMs = scene.now() - startedAt;
    const bytes = flood.bytesOnDisk();
    const budget = limits.logs.fileMaxBytes * limits.logs.filesMax;
    scene.step(
      `captured in ${formatDuration(recoveredMs)}; ${bytesForPeople(bytes)} on disk of ${bytesForPeople(budget)} that it may take`,
    );
    scene.step(`the control socket answered throughout, at the slowest in ${formatDuration(slowestMs)}`);
    const lost = lostOf(others, await askStatus(home));
    const faults = [
      bytes > budget * 1.1 ? 'the log outgrew its budget' : '',
      slowestMs > limits.drill.floodAnswerMs ? `the control socket took ${formatDuration(slowestMs)} to answer` : '',
      ...lost,
    ].filter(Boolean);
    return {
      slot: FLOOD_SLOT,
      ok: faults.length === 0,
      recoveredMs,
      limitMs: limits.drill.floodMs,
      verdict:
        faults.join('; ') ||
        `${Math.round(limits.drill.floodLines / (recoveredMs / 1_000)).toLocaleString('en')} lines a second, rotated within the budget`,
    };
  },
};

interface Flood extends AsyncDisposable {
  isOver(): boolean;
  bytesOnDisk(): number;
}

/** Adds the sidecar to config.yaml; disposing takes it out again, byte for byte if nobody else wrote there meanwhile. */
async function startFlood(home: Home): Promise<Flood> {
  const log = logPath(home, FLOOD_SLOT);
  const files = () =>
    readdirSync(dirname(log))
      .filter((name) => name === basename(log) || name.startsWith(`${basename(log)}.`))
      .map((name) => join(dirname(log), name));
  const existed = existsSync(home.config);
  const before = existed ? readText(home.config) : '';
  await setConfigValue(home.config, `services.${FLOOD_SLOT}`, { command: process.execPath, args: ['-e', program()], restart: 'never' });
  const ours = readText(home.config);
  return {
    isOver: () => files().some((path) => /flood 0*\d+ of \d+ is the last|dropped/.test(tailOf(path))),
    bytesOnDisk: () => files().reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0),
    async [Symbol.asyncDispose]() {
      if (readText(home.config) !== ours) await setConfigValue(home.config, `services.${FLOOD_SLOT}`, undefined);
      else if (existed) writeFileAtomic(home.config, before);
      else rmSync(home.config, { force: true });
      await gone(home);
      for (const path of files()) rmSync(path, { force: true });
    },
  };
}

/** Its log may go once the supervisor has let go of it. */
async function gone(home: Home): Promise<void> {
  const never = new AbortController();
  using watch = startStopwatch();
  await until(
    { signal: never.signal, now: () => watch.now() },
    `${FLOOD_SLOT} is gone`,
    limits.sidecar.stopGraceMs + limits.worker.heartbeatMs * 2,
    async () => (await askStatus(home)).workers.every(({ slot }) => slot !== FLOOD_SLOT),
  ).catch(() => {});
}

function tailOf(path: string): string {
  try {
    return readFileSync(path, 'latin1').slice(-4_000);
  } catch {
    return '';
  }
}

/** Waits for nothing but its reader; stays up so that it is not started again. */
function program(): string {
  const { floodLines } = limits.drill;
  return [
    `const fs = require('node:fs'); const total = ${floodLines}; let batch = '';`,
    `const put = (text) => { const bytes = Buffer.from(text); for (let at = 0; at < bytes.length;) at += fs.writeSync(1, bytes, at); };`,
    `for (let n = 1; n <= total; n++) { batch += ('flood ' + String(n).padStart(8, '0') + ' of ' + total + (n === total ? ' is the last' : '')).padEnd(99, '.') + '\\n'; if (batch.length > 60000) { put(batch); batch = ''; } }`,
    `put(batch); setInterval(() => {}, 1 << 30);`,
  ].join('\n');
}
