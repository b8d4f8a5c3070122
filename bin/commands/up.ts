/** `agent up`: the service in the background (or in this process), and where it is once everything is ready. */
import { chmodSync, statSync } from 'node:fs';
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration } from '../../base/time.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { listProfiles, openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, type Command, type Input } from '../command.ts';
import { dialSupervisor } from '../connect.ts';
import type { LaunchOptions } from '../launch.ts';
import { withProgress } from '../progress.ts';
import { addressOf, addressOptions, joinService, loginAddress, sayKept, startService } from '../startService.ts';
import { unreadyLines } from '../statusView.ts';
import { err, note, print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'up',
  summary: 'Start the service and say where it is',
  details: 'Waits until every wanted slot is ready and prints the address of the dashboard. A second `agent up` says that it already runs.',
  options: [
    { flags: '--foreground', summary: 'run the supervisor in this process; ctrl-C drains and stops everything' },
    { flags: '--demo', summary: 'offer the rehearsal model (scripted, no network) when no provider is configured' },
    ...addressOptions,
    jsonOption,
  ],
  examples: [
    { line: 'agent up', does: 'in the background' },
    { line: 'agent up --foreground --demo', does: 'in this terminal, with the rehearsal model' },
    { line: 'agent up --port 9200', does: 'the dashboard on another port' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const options = { demo: hasFlag(input, 'demo'), ...addressOf(input) };
  return hasFlag(input, 'foreground') ? foreground(home, options, input) : background(home, options, input);
}

/** An editor or a copy often leaves `.env` readable for every user of the machine. */
function closeEnvFiles(home: Home): void {
  for (const { env } of listProfiles(home).map((name) => home.profile(name))) {
    const stat = statSync(env, { throwIfNoEntry: false });
    const mode = (stat?.mode ?? 0) & 0o777;
    if ((mode & 0o077) === 0 || stat?.uid !== process.getuid?.()) continue;
    const seen = `agent: ${env} was open to other users (${mode.toString(8).padStart(4, '0')})`;
    try {
      chmodSync(env, 0o600);
      note(`${seen} and is now 0600 — replace its secrets if other users share this machine`);
    } catch (thrown) {
      note(`${seen} and cannot be closed: ${messageOf(thrown)} — chmod 600 ${env}`);
    }
  }
}

async function background(home: Home, options: LaunchOptions, input: Input): Promise<number> {
  const { status, started } = await startService(home, options, { isWaiting: false });
  if (!started) return sayRunning(home, status, options, input);
  return report(home, status, input);
}

/** A service that runs is left as it is: what is not ready is named, and is not a failure of this command. */
async function sayRunning(home: Home, status: Status, options: LaunchOptions, input: Input): Promise<number> {
  const { pid, started_at } = status.supervisor;
  if (!input.json) print(`The service already runs (supervisor ${pid}, up ${formatDuration(Date.now() - Date.parse(started_at))}).`);
  await report(home, status, input, true);
  sayKept(options, status);
  return exitCodes.ok;
}

/** The result of the start. The service stays up in any case. */
async function report(home: Home, status: Status, input: Input, isRunning = false): Promise<number> {
  closeEnvFiles(home);
  const unready = unreadyLines(status.workers);
  if (input.json) printJson({ already_running: isRunning, dashboard: await loginAddress(home, status), status });
  else await printDashboard(home, status);
  if (!input.json) for (const { what, fix } of status.problems) note(`agent: ${what} — ${fix}`);
  // With --json one error, whatever the number of slots.
  for (const line of input.json && unready.length ? [unready.join('; ')] : unready)
    printError(new AgentError('START_FAILED', line, { fix: 'the rest of the service runs; `agent status` shows it' }), input.json);
  return unready.length ? exitCodes.failed : exitCodes.ok;
}

async function foreground(home: Home, options: LaunchOptions, input: Input): Promise<number> {
  const { runSupervisor } = await import('../agentd.ts');
  process.title = 'agent-supervisor';
  const supervisor = await runOrJoin(home, options, runSupervisor).catch((thrown: unknown) => {
    if (!isAgentError(thrown) || thrown.code !== 'HOME_UNUSABLE') throw thrown;
    // A service manager that starts this again and again learns that a restart cannot help.
    printError(thrown, input.json);
    return exitCodes.config;
  });
  if (typeof supervisor === 'number') return supervisor;
  if ('changed' in supervisor) {
    const { status, changed } = supervisor;
    return changed ? report(home, status, input) : sayRunning(home, status, options, input);
  }
  let leaving = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!leaving && err.isTTY) note('\nDraining; ctrl-C again stops at once.');
      leaving = true;
    });
  }
  await Promise.race([withProgress('starting', () => supervisor.waitReady(limits.supervisor.upMs)), supervisor.ended]);
  if (!leaving) await report(home, supervisor.status(), input);
  await supervisor.ended;
  return exitCodes.ok;
}

type Supervisor = Awaited<ReturnType<typeof import('../agentd.ts').runSupervisor>>;
type Join = NonNullable<Awaited<ReturnType<typeof joinService>>>;

/** The supervisor in this process, or the service that runs already; one that is going down is waited for. */
async function runOrJoin(
  home: Home,
  options: LaunchOptions,
  runSupervisor: (options: LaunchOptions) => Promise<Supervisor>,
): Promise<Supervisor | Join> {
  for (const sinceMs = performance.now(); ;) {
    try {
      return await runSupervisor(options);
    } catch (thrown) {
      if (!isAgentError(thrown) || thrown.code !== 'ALREADY_RUNNING' || performance.now() - sinceMs > limits.supervisor.endMs) throw thrown;
    }
    const joined = await joinRunning(home, options);
    if (joined) return joined;
  }
}

/** Undefined when it ended meanwhile. */
async function joinRunning(home: Home, options: LaunchOptions): Promise<Join | undefined> {
  try {
    using link = await dialSupervisor(home, { startingMs: limits.supervisor.mendedMs });
    return await joinService(home, link, options, { isWaiting: false });
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
    throw thrown;
  }
}

async function printDashboard(home: Home, status: Status): Promise<void> {
  const address = await loginAddress(home, status);
  if (address) print(`Dashboard: ${address}`);
}
