/** Starting the service in the background, or joining the one that runs: for `agent up` and `agent dashboard`. */
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { within } from '../base/time.ts';
import { loginCode } from '../ipc/contracts/dashboard.ts';
import { status, waitReady, wantAll, type Status } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import { exposure, isLoopbackHost } from '../state/config/dashboardAddress.ts';
import type { Home } from '../state/home.ts';
import { givenPlace } from '../state/startedWith.ts';
import { hasFlag, textOption, type Input, type Option } from './command.ts';
import { withWorker } from './connect.ts';
import { ensureSupervisor, type LaunchOptions } from './launch.ts';
import { withProgress } from './progress.ts';
import { startInstalled } from './service/startInstalled.ts';
import { readSnapshot } from './snapshot.ts';
import { withoutToken } from './statusView.ts';
import { note } from './terminal.ts';

/** Where the dashboard listens, for this run of the service. */
export const addressOptions: Option[] = [
  { flags: '--port <number>', summary: `TCP port of the dashboard (default ${limits.dashboard.port})` },
  { flags: '--host <address>', summary: `address of the dashboard (default ${limits.dashboard.host})` },
  { flags: '--insecure', summary: 'accept an address beyond this machine with the token as the only protection' },
];

/** Errors: USAGE. */
export function addressOf(input: Input): Pick<LaunchOptions, 'insecure' | 'host' | 'port'> {
  return { insecure: hasFlag(input, 'insecure'), host: textOption(input, 'host'), port: portOf(textOption(input, 'port')) };
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '') {
    throw new AgentError('USAGE', `"${text}" is not a TCP port`, { fix: '--port takes a whole number from 0 to 65535; 0 = any free one' });
  }
  return port;
}

/** The service, every wanted slot of it as ready as it gets, unless it ran already and `isWaiting` is false. `started`: by this call. Errors: START_FAILED, DRAINING, NOT_RESPONDING, HOME_UNUSABLE. */
export async function startService(
  home: Home,
  options: LaunchOptions,
  waiting = { isWaiting: true },
): Promise<{ status: Status; started: boolean }> {
  if (options.insecure && options.host !== undefined && !isLoopbackHost(options.host)) note(`agent: ${exposure(options.host)}`);
  const sinceMs = performance.now();
  for (;;) {
    const outcome = await startOrJoin(home, options, waiting);
    if (outcome) return outcome;
    if (performance.now() - sinceMs > limits.supervisor.endMs) throw stillGoingDown(home);
  }
}

/** Undefined: the one that ran was going down, and is gone. */
async function startOrJoin(
  home: Home,
  options: LaunchOptions,
  waiting: { isWaiting: boolean },
): Promise<{ status: Status; started: boolean } | undefined> {
  // Other options than it was installed with mean a separate service.
  const asInstalled = !options.demo && !options.insecure && options.host === undefined && options.port === undefined;
  const byManager = asInstalled ? await withProgress('starting the service', () => startInstalled(home)) : undefined;
  const { link, started } = byManager ?? (await withProgress('starting the supervisor', () => ensureSupervisor(home, options)));
  using open = link;
  if (started) return { status: await untilReady(home, open), started };
  const joined = await joinService(home, open, options, waiting);
  return joined && { status: joined.status, started: joined.changed };
}

/**
 * A service that a chat started becomes the full one (`changed`); any other is left as it is, and only waited for with
 * `isWaiting`. Answers when every
 * wanted slot is ready; undefined once a service that was going down is gone.
 */
export async function joinService(
  home: Home,
  link: Link,
  { demo = false, ...place }: LaunchOptions,
  { isWaiting = true } = {},
): Promise<{ status: Status; changed: boolean } | undefined> {
  try {
    const { changed } = await link.call(wantAll, { demo, ...givenPlace(place) });
    return { status: changed || isWaiting ? await untilReady(home, link) : await link.call(status, {}), changed };
  } catch (thrown) {
    if (!isAgentError(thrown) || (thrown.code !== 'DRAINING' && thrown.code !== 'PEER_GONE')) throw thrown;
    const gone = within(link.closed, { ms: limits.supervisor.endMs, what: 'the end of the service that is shutting down' });
    await withProgress('waiting for the service to shut down', () => gone);
    return undefined;
  }
}

const stillGoingDown = (home: Home): AgentError =>
  new AgentError('DRAINING', `the service on ${home.root} is still shutting down`, { fix: '`agent down --no-drain` ends it at once' });

async function untilReady(home: Home, link: Link): Promise<Status> {
  const waiting = () => {
    const names = readSnapshot(home)
      ?.status.workers.filter(({ desired, state }) => desired === 'up' && state !== 'ready')
      .map(({ slot }) => slot);
    return `waiting for ${names?.length ? names.join(', ') : 'the service'}`;
  };
  return (await withProgress(waiting, () => link.call(waitReady, {}))).status;
}

/** Said when the service runs and was asked for with other options. */
export function sayKept({ port, host, insecure, demo }: LaunchOptions, { supervisor }: Status): void {
  if (demo && !supervisor.demo)
    note(
      'agent: it was started without the rehearsal model — `agent model set demo:rehearsal` chooses it, or `agent down`, then `agent up --demo`',
    );
  if (port === undefined && host === undefined && !insecure) return;
  note('agent: it keeps the address it was started with — `agent down`, then `agent up` with the new one');
}

/**
 * The address that logs a browser in, with a code that is good once. The code is behind the `#`, which no server and
 * no log ever sees. The plain address where users sign in, or while the dashboard does not answer.
 */
export async function loginAddress(home: Home, { supervisor: { dashboard } }: Status): Promise<string | null> {
  if (!dashboard) return null;
  const address = withoutToken(dashboard);
  const code = await withWorker(home, 'dashboard', (link) => link.call(loginCode, {})).then(
    (issued) => issued.code,
    () => null,
  );
  return code === null ? address : `${address}#code=${code}`;
}
