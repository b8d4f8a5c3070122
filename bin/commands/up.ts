/** `agent up`: the service in the background (or in this process), and where it is once everything is ready. */
import { readFileSync } from 'node:fs';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration } from '../../base/time.ts';
import { status as statusMethod, waitReady, wantAll, type Status } from '../../ipc/contracts/supervisor.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, textOption, type Command, type Input } from '../command.ts';
import { dialSupervisor } from '../connect.ts';
import { ensureSupervisor, type LaunchOptions } from '../launch.ts';
import { withProgress } from '../progress.ts';
import { startInstalled } from '../service/startInstalled.ts';
import { readSnapshot } from '../snapshot.ts';
import { unreadyLines, withoutToken } from '../statusView.ts';
import { err, note, print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'up',
  summary: 'Start the service and say where it is',
  details: 'Waits until every wanted slot is ready and prints the address of the dashboard. A second `agent up` says that it already runs.',
  options: [
    { flags: '--foreground', summary: 'run the supervisor in this process; ctrl-C drains and stops everything' },
    { flags: '--demo', summary: 'offer the rehearsal model (scripted, no network) when no provider is configured' },
    { flags: '--port <number>', summary: `TCP port of the dashboard (default ${limits.dashboard.port})` },
    { flags: '--host <address>', summary: `address of the dashboard (default ${limits.dashboard.host})` },
    { flags: '--insecure', summary: 'accept an address beyond this machine with the token as the only protection' },
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
  const options = launchOptions(input);
  return hasFlag(input, 'foreground') ? foreground(home, options, input) : background(home, options, input);
}

async function background(home: Home, options: LaunchOptions, input: Input): Promise<number> {
  // Other options than it was installed with mean a service of one's own.
  const asInstalled = !options.demo && !options.insecure && options.host === undefined && options.port === undefined;
  const byManager = asInstalled ? await withProgress('starting the service', () => startInstalled(home)) : undefined;
  const { link, started } = byManager ?? (await withProgress('starting the supervisor', () => ensureSupervisor(home, options)));
  using open = link;
  if (!started) return await alreadyRunning(home, open, options, input);
  return report(home, await untilReady(home, open), input);
}

async function untilReady(home: Home, link: Link): Promise<Status> {
  const waiting = () => {
    const names = readSnapshot(home)
      ?.status.workers.filter(({ desired, state }) => desired === 'up' && state !== 'ready')
      .map(({ slot }) => slot);
    return `waiting for ${names?.length ? names.join(', ') : 'the service'}`;
  };
  return (await withProgress(waiting, () => link.call(waitReady, {}))).status;
}

/** A service that a chat started becomes the full one; any other is left as it is. */
async function alreadyRunning(home: Home, link: Link, options: LaunchOptions, input: Input): Promise<number> {
  const { changed } = await link.call(wantAll, { demo: options.demo ?? false });
  if (changed) return report(home, await untilReady(home, link), input);
  const status = await link.call(statusMethod, {});
  const { pid, started_at } = status.supervisor;
  if (input.json) printJson({ already_running: true, dashboard: dashboardAddress(home, status), status });
  else {
    print(`The service already runs (supervisor ${pid}, up ${formatDuration(Date.now() - Date.parse(started_at))}).`);
    printDashboard(home, status);
  }
  if (options.port !== undefined || options.host !== undefined || options.insecure)
    note('agent: it keeps the address it was started with — `agent down`, then `agent up` with the new one');
  return exitCodes.ok;
}

/** What became of the start. The service stays up in any case. */
function report(home: Home, status: Status, input: Input): number {
  const unready = unreadyLines(status.workers);
  if (input.json) printJson({ already_running: false, dashboard: dashboardAddress(home, status), status });
  else printDashboard(home, status);
  for (const line of unready)
    printError(new AgentError('START_FAILED', line, { fix: 'the rest of the service runs; `agent status` shows it' }), input.json);
  return unready.length ? exitCodes.failed : exitCodes.ok;
}

async function foreground(home: Home, options: LaunchOptions, input: Input): Promise<number> {
  const { runSupervisor } = await import('../agentd.ts');
  process.title = 'agent-supervisor';
  const supervisor = await runSupervisor(options).catch((thrown: unknown) => {
    if (isAgentError(thrown) && thrown.code === 'ALREADY_RUNNING') return undefined;
    throw thrown;
  });
  if (!supervisor) {
    using link = await dialSupervisor(home, { startingMs: limits.ipc.startingMs });
    return await alreadyRunning(home, link, options, input);
  }
  let leaving = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!leaving && err.isTTY) note('\nDraining; ctrl-C again stops at once.');
      leaving = true;
    });
  }
  await Promise.race([withProgress('starting', () => supervisor.waitReady(limits.supervisor.upMs)), supervisor.ended]);
  if (!leaving) report(home, supervisor.status(), input);
  await supervisor.ended;
  return exitCodes.ok;
}

function printDashboard(home: Home, status: Status): void {
  const address = dashboardAddress(home, status);
  if (address) print(`Dashboard: ${address}`);
}

/** The address that logs in: the token stands in a private file that the dashboard worker writes. */
function dashboardAddress(home: Home, { supervisor: { dashboard } }: Status): string | null {
  if (!dashboard) return null;
  const address = withoutToken(dashboard);
  try {
    const token = readFileSync(home.run.dashboardToken, 'utf8').trim();
    return token ? `${address}?token=${encodeURIComponent(token)}` : address;
  } catch {
    return address;
  }
}

function launchOptions(input: Input): LaunchOptions {
  return {
    demo: hasFlag(input, 'demo'),
    insecure: hasFlag(input, 'insecure'),
    host: textOption(input, 'host'),
    port: portOf(textOption(input, 'port')),
  };
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '') {
    throw new AgentError('USAGE', `"${text}" is not a TCP port`, { fix: '--port takes a whole number from 0 to 65535; 0 = any free one' });
  }
  return port;
}
