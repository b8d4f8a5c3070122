/** Faults of processes: a worker killed, a worker stopped in its tracks, the supervisor killed. */
import { readFileSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration } from '../../base/time.ts';
import type { Status, WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { loadConfig } from '../../state/config/load.ts';
import type { Home } from '../../state/home.ts';
import { isSameProcess } from '../../state/processIdentity.ts';
import { ensureSupervisor, type LaunchOptions } from '../launch.ts';
import { askStatus, chooseSlot, LEAST_MISSED, runningPids, until, whoServes, type Drill, type Outcome, type Scene } from './drill.ts';
import { processOf, signalProcess } from './fault.ts';

export const kill: Drill = {
  name: 'kill',
  summary: 'SIGKILL a worker; another one has to serve in its place',
  interrupts: ({ slot }) => `what ${slot ?? 'one worker (cron, unless --slot says otherwise)'} is doing at this moment is cut off`,
  async run(scene) {
    const row = chooseSlot(await askStatus(scene.home), scene.slot, LEAST_MISSED);
    const old = processOf(scene.home, row.slot);
    const startedAt = scene.now();
    signalProcess(old, 'SIGKILL');
    scene.step(`SIGKILL to ${row.slot} (process ${old.pid})`);
    const recoveredMs = await untilReplaced(scene, row, old.pid, startedAt, limits.drill.killMs * limits.drill.slowFactor);
    return verdictOf(row.slot, recoveredMs, limits.drill.killMs, limits.drill.killMs * limits.drill.slowFactor);
  },
};

export const freeze: Drill = {
  name: 'freeze',
  summary: 'SIGSTOP a worker; liveness has to find it, end it and start another',
  interrupts: ({ slot }) =>
    `${slot ?? 'one worker (cron, unless --slot says otherwise)'} answers nobody until it has been found, then it is killed`,
  async run(scene) {
    const row = chooseSlot(await askStatus(scene.home), scene.slot, LEAST_MISSED);
    if (row.kind === 'sidecar') {
      throw new AgentError(
        'USAGE',
        `${row.slot} is a program of yours, which says nothing of itself: nobody can know that it stands still`,
        {
          fix: 'name a worker: agent, dashboard, gateway, cron, mcp',
        },
      );
    }
    const old = processOf(scene.home, row.slot);
    const foundMs = loadConfig(scene.home).config.supervisor?.liveness?.kill_ms ?? limits.worker.hungMs;
    const limitMs = foundMs + limits.drill.freezeExtraMs;
    const startedAt = scene.now();
    signalProcess(old, 'SIGSTOP');
    try {
      scene.step(`SIGSTOP to ${row.slot} (process ${old.pid}); liveness gives it ${formatDuration(foundMs)}`);
      const recoveredMs = await untilReplaced(scene, row, old.pid, startedAt, limitMs);
      return verdictOf(row.slot, recoveredMs, foundMs + limits.worker.heartbeatMs + limits.drill.killMs, limitMs);
    } finally {
      // Nobody found it, or ctrl-C: it goes on as before.
      if (signalProcess(old, 'SIGCONT')) scene.step(`SIGCONT to process ${old.pid}`);
    }
  },
};

export const supervisor: Drill = {
  name: 'supervisor',
  summary: 'SIGKILL the supervisor and start it again; no worker may notice',
  interrupts: () => 'for a moment nobody watches the workers; they go on',
  async run(scene) {
    const { home } = scene;
    const before = await askStatus(home);
    const pids = runningPids(before);
    const { pid, managed_by: manager } = before.supervisor;
    const options = launchOptionsOf(before);
    const env = environmentOf(pid);
    if (!signalProcess(before.supervisor, 'SIGKILL')) throw new AgentError('NO_SUPERVISOR', `the supervisor ${pid} is gone already`);
    scene.step(`SIGKILL to the supervisor (process ${pid}), ${pids.size} workers run`);
    await until(scene, 'it is dead', limits.worker.killMs, () => !isSameProcess(before.supervisor));
    const startedAt = scene.now();
    if (manager === 'none') await startAgain(scene, { ...options, env });
    else scene.step(`waiting for ${manager} to start it again`);
    const limitMs = manager === 'none' ? limits.drill.supervisorMs * limits.drill.slowFactor : limits.drill.managerMs;
    const after = await until(scene, 'another supervisor answers', limitMs, () => answeredByAnother(home, pid));
    const controlMs = scene.now() - startedAt;
    scene.step(`supervisor ${after.supervisor.pid} answers, ${formatDuration(controlMs)} after its start`);
    await until(scene, 'every worker is ready', limitMs, async () => allAsBefore(await askStatus(home), pids));
    scene.step(`${pids.size} workers taken over, the same processes`);
    return {
      recoveredMs: controlMs,
      publishedMs: limits.drill.supervisorMs,
      limitMs,
      verdict: `0 of ${pids.size} workers were restarted; control was back ${formatDuration(controlMs)} after the start`,
    };
  },
};

/** Until another process serves the slot and the supervisor counts it as ready. Answers the ms since the fault. */
async function untilReplaced(scene: Scene, row: WorkerStatus, oldPid: number, startedAt: number, limitMs: number): Promise<number> {
  const { home } = scene;
  const { slot } = row;
  let told: string | null = null;
  let answered: number | undefined;
  let lookedAt = 0;
  return until(scene, `${slot} serves again`, limitMs, async () => {
    // Looking costs the measured one; the supervisor is asked now and then only.
    if (row.kind === 'worker') answered ??= await servesMs(scene, slot, oldPid, startedAt);
    if (row.kind === 'worker' && answered === undefined && scene.now() - lookedAt < 100) return undefined;
    lookedAt = scene.now();
    const now = (await askStatus(home)).workers.find((one) => one.slot === slot);
    const word = now?.pid === oldPid ? now.liveness : null;
    if (word && word !== 'ok' && word !== told) scene.step(`the supervisor sees it as ${(told = word)}`);
    if (!now || now.state !== 'ready' || now.pid === oldPid) return undefined;
    const recoveredMs = answered ?? scene.now() - startedAt;
    scene.step(`${slot} is ready (process ${oldPid} → ${now.pid})${now.last_exit ? `: ${now.last_exit.summary}` : ''}`);
    return recoveredMs;
  });
}

async function servesMs({ home, now }: Scene, slot: string, oldPid: number, startedAt: number): Promise<number | undefined> {
  const pid = await whoServes(home, slot).catch(() => oldPid);
  return pid === oldPid ? undefined : now() - startedAt;
}

function verdictOf(slot: string, recoveredMs: number, publishedMs: number, limitMs: number): Outcome {
  return { slot, recoveredMs, publishedMs, limitMs, verdict: `${slot} served again after ${formatDuration(recoveredMs)}` };
}

async function startAgain({ home, step }: Scene, options: LaunchOptions): Promise<void> {
  const { link, started } = await ensureSupervisor(home, options);
  link.close();
  step(started ? 'started another one, as `agent up` does' : 'somebody else has started another one');
}

async function answeredByAnother(home: Home, oldPid: number): Promise<Status | undefined> {
  const status = await askStatus(home);
  return status.supervisor.pid === oldPid ? undefined : status;
}

/** Throws when a worker was replaced: that is what must not happen, and waiting does not mend it. */
function allAsBefore({ workers }: Status, pids: ReadonlyMap<string, number>): true | undefined {
  const now = [...pids].map(([slot, pid]) => ({ slot, pid, row: workers.find((one) => one.slot === slot) }));
  return now.every(({ pid, row }) => row?.state === 'ready' && row.pid === pid) || undefined;
}

/** How the supervisor was started, so that it is started the same way again; a port that it chose itself is kept. */
function launchOptionsOf({ supervisor: { demo, dashboard, dashboard_start: start } }: Status): LaunchOptions {
  const address = dashboard === null ? undefined : URL.parse(dashboard);
  const port = address ? Number(address.port || 80) : start?.port;
  return {
    demo,
    insecure: start?.insecure === true,
    ...(typeof start?.host === 'string' ? { host: start.host } : {}),
    ...(typeof port === 'number' ? { port } : {}),
  };
}

/** What the supervisor shows of its environment, over what this command was given: as from an `agent up` in its place. */
function environmentOf(pid: number): NodeJS.ProcessEnv {
  const entries = wordsOf(`/proc/${pid}/environ`).map(
    (word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const,
  );
  return { ...process.env, ...Object.fromEntries(entries) };
}

function wordsOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
