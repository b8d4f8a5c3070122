/**
 * The chaos run: a real service under chat, IRC, webhook and cron load while random processes of it are
 * killed, ended or stopped in their tracks, at seeded moments, with the faults of `agent drill`; then the
 * proof that nothing was lost, nothing doubled, and nothing is left.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { everything } from '../harness/mcp.ts';
import { startNgircd, type IrcUser, type Ngircd } from '../harness/ngircd.ts';
import { homeOnTmpfs, mounts } from '../harness/smallDisk.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';
import { injectFaults, SIDECARS } from './faults.ts';
import { chat, cronJobs, fires, irc as ircLoad, pauseJobs, sends, webhooks, type AcceptedPrompt } from './loads.ts';
import { chatProblems, cronProblems, inboxProblems, sendProblems, sidecarProblems } from './proofs.ts';
import { seeded } from './random.ts';
import { ChaosService } from './service.ts';
import { SteppedClock } from './steppedClock.ts';

export interface ChaosOptions {
  /** How long faults are injected. */
  ms: number;
  seed: number;
  /** Between two faults, at random. */
  pauseMs: [from: number, to: number];
  /** Ends the faults once so many processes were killed. */
  kills?: number;
  /** The longest freeze of a process. */
  freezeMaxMs?: number;
  say(line: string): void;
  /** Ends the faults early; what was promised until then is proved all the same. */
  signal?: AbortSignal;
  /** Steps of the time of day are among the faults. */
  clock?: boolean;
  /** Folder for logs, reports and stores of a run that found a problem. */
  evidence?: string;
}

export interface ChaosReport {
  problems: string[];
  figures: Record<string, number>;
}

const SECRET = 'webhook-secret-of-the-chaos';
/** Room for the stores and logs of a long run. */
const DISK_KIB = 600_000;
const SEND_MS = 3_000;
const FIRE_MS = 2_500;
/** After the last fault everything is answered within this. */
const QUIET_MS = 120_000;
/** The gateway says a line each 0.7 s, slower than that is asked of it. */
const IRC_MS = 1_500;
const WEBHOOK_MS = 4_000;
/** One descriptor more or less is a connection that is just being made. */
const FDS_MORE_MAX = 12;
const RSS_MAX_MIB = 400;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { ms, seed, pauseMs, kills, freezeMaxMs = 4_000, say, signal, evidence } = options;
  const random = seeded(seed);
  await using irc = await startNgircd();
  const hookPort = await freePort();
  using home = testHome();
  using last = testHome();
  // Needs root: without it the disk does not fill.
  using disk = mounts.skip === false ? homeOnTmpfs(home, DISK_KIB) : undefined;
  const folder = last.root;
  furnish(home, { irc, hookPort, folder });
  using clock = options.clock ? new SteppedClock() : undefined;
  await using service = new ChaosService(home, await freePort(), clock);
  service.start();
  await service.ready();
  const alice = await irc.join('alice', '#room');
  const jobs = await cronJobs(service, 3);
  const before = descriptorsOf(service.pid);
  const load = new AbortController();
  signal?.addEventListener('abort', () => load.abort());
  const loads = Promise.all([
    Promise.all([chat(service, random, load.signal), chat(service, random, load.signal)]),
    ircLoad(alice, load.signal, IRC_MS),
    webhooks(hookPort, SECRET, load.signal, WEBHOOK_MS),
    sends(service, load.signal, SEND_MS),
    fires(service, jobs[1]!, { secret: SECRET, signal: load.signal, everyMs: FIRE_MS }),
  ]);
  loads.catch(() => load.abort());
  const faults = await injectFaults(service, random, { ms, kills, pauseMs, freezeMaxMs, disk, irc, say, signal: load.signal });
  say('the faults are over; waiting for quiet');
  load.abort();
  // Sockets and pipes of a service that runs, too, which `cpSync` refuses.
  const keep = () => evidence && spawnSync('cp', ['-a', home.root, evidence]);
  try {
    const [chats, lines, hooks, sent, claimed] = await loads;
    await service.ready();
    await pauseJobs(service, jobs);
    await quiet(home, alice);
    const accepted = chats.flat();
    const { problems, figures } = await prove(service, { alice, accepted, lines, hooks, sent, claimed, folder, fdsBefore: before });
    if (problems.length > 0) keep();
    return { problems, figures: { seed, ...faults, ...figures } };
  } catch (thrown) {
    const workers = await service.status().then(
      (status) => status.workers.map(({ slot, state, reason }) => ({ slot, state, reason })),
      (error: unknown) => messageOf(error),
    );
    keep();
    return { problems: [`${messageOf(thrown)}; the slots: ${JSON.stringify(workers)}`], figures: { seed, ...faults } };
  }
}

interface Furniture {
  irc: Ngircd;
  hookPort: number;
  /** Where sidecars note the last line they printed. */
  folder: string;
}

function furnish(home: TestHome, { irc, hookPort, folder }: Furniture): void {
  const counter = join(projectRoot, 'test/fixtures/countsForever.ts');
  home.write('.env', `WEBHOOK_SECRET=${SECRET}\nAGENT_CRON_FIRE_SECRET=${SECRET}\n`);
  const sidecar = (...words: string[]) => ({
    command: process.execPath,
    args: [counter, folder, '20', ...words],
    ready: { log: 'N0' },
    stop_grace_seconds: 2,
  });
  home.write(
    'config.yaml',
    JSON.stringify({
      platforms: {
        irc: {
          host: '127.0.0.1',
          port: irc.port,
          nick: 'agent',
          channels: ['#room', '#hooks'],
          allowed_users: ['*'],
          require_mention: false,
          // Each line is looked for by itself.
          gather_ms: 0,
        },
        webhook: { host: '127.0.0.1', port: hookPort, routes: { build: { prompt: 'hook {n}', deliver: 'irc:#hooks' } } },
      },
      mcp_servers: { everything: { command: process.execPath, args: [everything] } },
      services: { counter: sidecar(), parent: sidecar('grandchild') },
      supervisor: { liveness: { suspect_ms: 1_500, kill_ms: 5_000 }, restart: { base_ms: 100, max_ms: 2_000 } },
    }),
  );
  // What a run leaves behind: one line with its id.
  home.write('scripts/tick.sh', '#!/bin/sh\necho "$AGENT_EXECUTION_ID" >> "$AGENT_HOME/ticks"\n');
}

/** Nothing runs, nothing waits: every open row of the stores is closed. */
async function quiet(home: TestHome, alice: IrcUser): Promise<void> {
  alice.say('#room', 'the end');
  await until(
    'every message is answered and every run is over',
    () => {
      const open = (path: string, table: string, where: string) => {
        const db = openReadOnly(path);
        try {
          return (db.prepare(`SELECT count(*) n FROM ${table} WHERE ${where}`).get() as { n: number }).n;
        } finally {
          db.close();
        }
      };
      const messages = open(home.gatewayDb, 'inbox', 'closed_at IS NULL') + open(home.gatewayDb, 'outbox', 'closed_at IS NULL');
      return messages + open(home.cronDb, 'executions', "status IN ('claimed', 'running')") === 0;
    },
    QUIET_MS,
  ).catch(() => {
    // then the proof says what is still open
  });
}

interface Promised {
  alice: IrcUser;
  accepted: readonly AcceptedPrompt[];
  lines: number;
  hooks: number;
  /** Texts that the gateway accepted for the room. */
  sent: readonly string[];
  /** Executions that the fire webhook promised. */
  claimed: readonly string[];
  folder: string;
  fdsBefore: number;
}

async function prove(
  service: ChaosService,
  { alice, accepted, lines, hooks, sent, claimed, folder, fdsBefore }: Promised,
): Promise<ChaosReport> {
  const { home } = service;
  const problems = await chatProblems(service, accepted);
  const { workers } = await service.status();
  const fds = descriptorsOf(service.pid);
  if (fds > fdsBefore + FDS_MORE_MAX) problems.push(`the supervisor has ${fds} descriptors, ${fdsBefore} at the beginning`);
  const processes = [{ slot: 'supervisor', pid: service.pid as number | null }, ...workers];
  for (const { slot, pid } of processes) {
    const rss = pid === null ? 0 : rssMiB(pid);
    if (rss > RSS_MAX_MIB) problems.push(`${slot} takes ${rss} MiB`);
  }
  const supervisorMiB = rssMiB(service.pid);
  await service.down();
  const orphans = await until('nothing of the home runs', () => service.processes().length === 0, 10_000).then(
    () => [],
    () => service.processes(),
  );
  problems.push(...orphans.map(({ pid, command }) => `process ${pid} is left behind: ${command}`));
  problems.push(...inboxProblems(home, alice, { irc: lines, webhooks: hooks }));
  problems.push(...sendProblems(home, alice, sent));
  const cron = cronProblems(home, claimed);
  problems.push(...cron.problems);
  const sidecars = sidecarProblems(home, SIDECARS, folder);
  problems.push(...sidecars.problems);
  return {
    problems,
    figures: {
      supervisorStarts: service.starts,
      unparked: service.unparked,
      prompts: accepted.length,
      ircLines: lines,
      ircAnswers: alice.lines.length,
      webhooks: hooks,
      sends: sent.length,
      fires: claimed.length,
      cronRuns: cron.runs,
      sidecarLines: sidecars.lines,
      droppedLines: sidecars.dropped,
      descriptorsBefore: fdsBefore,
      descriptorsAfter: fds,
      supervisorMiB,
    },
  };
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

function rssMiB(pid: number): number {
  try {
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1_024);
  } catch {
    return 0;
  }
}
