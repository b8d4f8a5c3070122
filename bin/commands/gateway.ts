/** `agent gateway …`: the chat-platform gateway, supervised or in the foreground. */
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import { discardDeliveries, platforms, retryDeliveries, type PlatformState } from '../../ipc/contracts/gateway.ts';
import { platformIds } from '../../base/closedWords.ts';
import { loadConfig } from '../../state/config/load.ts';
import { readGatewayState, type GatewayStateFile } from '../../state/gatewayState.ts';
import { listProfiles, openHome, type Home } from '../../state/home.ts';
import { logPath } from '../../state/logs.ts';
import { drainOption, jsonErrorsOption, jsonOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { withWorker } from '../connect.ts';
import { endOf, follow } from '../logs/follow.ts';
import { parseLine, renderLine } from '../logs/line.ts';
import { becomeWorker } from '../runWorker.ts';
import { actOnSlot, slotOf } from '../slots.ts';
import { readSnapshot, type WorkerRow } from '../snapshot.ts';
import { waitingLine } from '../statusView.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const platform: Argument = { name: 'platform', summary: platformIds.join(', '), complete: 'platform' };
const idsArgument: Argument = { name: 'ids', summary: 'ids of `agent gateway undelivered`', optional: true, variadic: true };
const allOption: Option = { flags: '--all', summary: 'all of them' };

export const command: Command = {
  name: 'gateway',
  summary: 'Run and steer the chat-platform gateway',
  examples: [
    { line: 'agent gateway start', does: 'start it now, and with every start of the service' },
    { line: 'agent gateway status', does: 'the state of each platform' },
    { line: 'agent gateway run --no-supervise', does: 'be the gateway, in the foreground' },
  ],
  commands: [
    {
      name: 'run',
      summary: 'Start the gateway and follow it',
      details:
        'Asks the running supervisor to start the slot and shows its log until ctrl-C; the gateway keeps running. With --no-supervise (or AGENT_GATEWAY_NO_SUPERVISE=1) this process is the gateway: it stays in the foreground and is not restarted.',
      options: [{ flags: '--no-supervise', summary: 'be the gateway, without the supervisor' }, jsonErrorsOption],
      examples: [
        { line: 'agent gateway run', does: 'under the supervisor' },
        { line: 'AGENT_GATEWAY_NO_SUPERVISE=1 agent gateway run', does: 'as the main process of a container' },
      ],
      run: runGateway,
    },
    {
      name: 'start',
      summary: 'Start it and wait until it is ready',
      options: [jsonOption],
      examples: [{ line: 'agent gateway start', does: 'the same as agent start gateway' }],
      run: (input) => actOnSlot('start', input, 'gateway'),
    },
    {
      name: 'stop',
      summary: 'Drain and stop it',
      options: [drainOption, jsonOption],
      examples: [{ line: 'agent gateway stop', does: 'it stays stopped over a restart of the service' }],
      run: (input) => actOnSlot('stop', input, 'gateway'),
    },
    {
      name: 'restart',
      summary: 'Drain, stop and start it',
      options: [drainOption, jsonOption],
      examples: [{ line: 'agent gateway restart', does: 'messages wait in the inbox meanwhile' }],
      run: (input) => actOnSlot('restart', input, 'gateway'),
    },
    {
      name: 'status',
      summary: 'Show the gateway and each platform',
      options: [jsonOption],
      examples: [{ line: 'agent -p work gateway status', does: 'of another profile' }],
      run: status,
    },
    {
      name: 'list',
      summary: 'List the gateways of all profiles',
      options: [jsonOption],
      examples: [{ line: 'agent gateway list', does: 'one line per profile' }],
      run: list,
    },
    {
      name: 'platforms',
      summary: 'List every platform, how it is, and what to do',
      details: 'Also those that are not set up. Works while the gateway is down.',
      options: [jsonOption],
      examples: [{ line: 'agent gateway platforms', does: 'one line per platform' }],
      run: async (input) => (await import('../gateway/platforms.ts')).listPlatforms(input),
    },
    {
      name: 'setup',
      summary: 'Show how to set a platform up, and do it',
      details:
        'Settings go to platforms.<name> of config.yaml and switch the platform on; secrets go to .env, typed unseen or read from a pipe. Without either it prints the steps and what is set.',
      arguments: [{ ...platform, optional: true }],
      options: [
        { flags: '--set <key=value...>', summary: 'a setting; lists are separated by commas; may be repeated' },
        { flags: '--unset <key...>', summary: 'remove a setting' },
        { flags: '--secret <name>', summary: 'a variable of .env, whose value is asked for or read from stdin' },
        { flags: '--clear <name...>', summary: 'remove a variable from .env' },
        { flags: '--disable', summary: 'leave it switched off' },
        jsonOption,
      ],
      examples: [
        { line: 'agent gateway setup irc', does: 'the steps' },
        { line: "agent gateway setup irc --set host=irc.example.org --set tls=true --set 'channels=#room'", does: 'into config.yaml' },
        { line: 'agent gateway setup irc --secret IRC_PASSWORD', does: 'asks for it' },
      ],
      run: async (input) => (await import('../gateway/platforms.ts')).setup(input),
    },
    {
      name: 'enable',
      summary: 'Switch a platform on',
      arguments: [platform],
      options: [jsonOption],
      examples: [{ line: 'agent gateway enable irc', does: 'a running gateway restarts by itself' }],
      run: async (input) => (await import('../gateway/platforms.ts')).enable(input, true),
    },
    {
      name: 'disable',
      summary: 'Switch a platform off',
      arguments: [platform],
      options: [jsonOption],
      examples: [{ line: 'agent gateway disable irc', does: 'its settings stay' }],
      run: async (input) => (await import('../gateway/platforms.ts')).enable(input, false),
    },
    {
      name: 'test',
      summary: 'Try a connection with the settings as they are',
      details: 'The running gateway connects, and closes again. Exit code 1 when it does not connect.',
      arguments: [platform],
      options: [jsonOption],
      examples: [{ line: 'agent gateway test irc', does: 'names what is wrong' }],
      run: async (input) => (await import('../gateway/platforms.ts')).test(input),
    },
    {
      name: 'undelivered',
      summary: 'List messages that failed permanently',
      details:
        'Messages to a chat that the platform refused, that could not be delivered within a day, or that may or may not have arrived; and received messages (ids m1, m2, …) that the agent could not answer. Kept for a week. None is retried automatically: check the chat, then `agent gateway retry` or `discard`. Works while the gateway is down.',
      options: [jsonOption],
      examples: [{ line: 'agent gateway undelivered', does: 'target, reason and beginning of each, the newest last' }],
      run: async (input) => (await import('../gateway/undelivered.ts')).undelivered(input),
    },
    {
      name: 'retry',
      summary: 'Try messages that failed permanently once more',
      details: 'A message to a chat is sent again; a received one is answered. The gateway has to run.',
      arguments: [idsArgument],
      options: [allOption, jsonOption],
      examples: [{ line: 'agent gateway retry 12 m14', does: 'these two' }],
      run: async (input) => (await import('../gateway/undelivered.ts')).settle(input, retryDeliveries, 'to be sent'),
    },
    {
      name: 'discard',
      summary: 'Take messages off the list of those that failed',
      details: 'They are never tried again. The gateway has to run.',
      arguments: [idsArgument],
      options: [allOption, jsonOption],
      examples: [{ line: 'agent gateway discard --all', does: 'an empty list' }],
      run: async (input) => (await import('../gateway/undelivered.ts')).settle(input, discardDeliveries, 'discarded'),
    },
    {
      name: 'install',
      summary: 'Install the service that runs it',
      details: 'The same as `agent service install`: one service runs everything, and the gateway starts with it as it was left.',
      options: [{ flags: '--system', summary: 'the service of the whole system, started at boot (needs root)' }, jsonOption],
      examples: [{ line: 'agent gateway install', does: 'for you alone' }],
      run: async (input) => (await import('./service.ts')).runInstall(input),
    },
    {
      name: 'uninstall',
      summary: 'Remove the service that runs it',
      details: 'The same as `agent service uninstall`: everything stops. `agent stop gateway` stops the gateway alone.',
      options: [{ flags: '--system', summary: 'the service of the whole system' }, jsonOption],
      examples: [{ line: 'agent gateway uninstall', does: 'data and settings stay' }],
      run: async (input) => (await import('./service.ts')).uninstall(input),
    },
  ],
};

const YES: ReadonlySet<string> = new Set(['1', 'true', 'yes']);

async function runGateway(input: Input): Promise<number> {
  const slot = slotOf('gateway', input.profile);
  const unsupervised = input.options.supervise === false || YES.has(process.env.AGENT_GATEWAY_NO_SUPERVISE?.toLowerCase() ?? '');
  const home = openHome();
  const path = logPath(home.profile(input.profile), 'gateway');
  if (unsupervised) {
    note(`Running ${slot} in this process (${process.pid}), without the supervisor; log: ${path}. Ctrl-C drains and stops it.`);
    return becomeWorker(slot, false);
  }
  const start = endOf(path);
  const code = await actOnSlot('start', input, 'gateway');
  if (code !== exitCodes.ok) return code;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const paint = painter(out);
  await follow(path, start, (raw) => print(renderLine(parseLine(raw), paint)), stop.signal);
  note(`\nThe gateway keeps running under the supervisor; \`agent stop ${slot}\` stops it.`);
  return exitCodes.ok;
}

interface GatewayRow {
  slot: string;
  profile: string;
  state: string;
  pid: number | null;
  /** What the operator asked for. */
  desired_state: string | null;
  reason: string | null;
  /** As gateway_state.json says it. */
  restart_requested: boolean;
  active_work: string[] | null;
  session_store: GatewayStateFile['session_store'];
}

async function status(input: Input): Promise<number> {
  const home = openHome();
  const row = rowOf(home, input.profile);
  const known = row.state === 'ready' ? await ask(home, row.slot) : fromFile(home, input.profile);
  if (input.json) printJson({ ...row, ...known });
  else {
    const paint = painter(out);
    print(`${row.slot} is ${row.state}${row.pid ? ` (process ${row.pid})` : ''}${row.reason ? `: ${row.reason}` : ''}`);
    for (const line of notices(row)) print(paint('yellow', line));
    if (known.held) print(paint('yellow', `held: ${known.held}, waiting for the end of the pause`));
    for (const one of known.waiting) print(paint('yellow', waitingLine(one)));
    if (known.platforms.length)
      print(
        table(
          known.platforms.map((one) => [
            `  ${one.platform}`,
            paint(one.state === 'connected' ? 'green' : 'yellow', one.state),
            one.error_message ?? '',
          ]),
        ),
      );
    else if (Object.keys(loadConfig(home, home.profile(input.profile)).config.platforms ?? {}).length === 0)
      note('agent: no platform is configured — agent gateway setup');
  }
  if (row.state === 'ready') return exitCodes.ok;
  return readSnapshot(home)?.live ? exitCodes.failed : exitCodes.noSupervisor;
}

function notices({ restart_requested, active_work, session_store }: GatewayRow): string[] {
  const count = active_work?.length ?? 0;
  const named = active_work?.slice(0, SHOWN_WORK).join(', ');
  return [
    ...(restart_requested ? ['it is being restarted'] : []),
    ...(count > 0 ? [`${count} under way: ${named}${count > SHOWN_WORK ? ', …' : ''}`] : []),
    ...(session_store?.state === 'failing' ? [`it cannot write gateway.db: ${session_store.error ?? 'see `agent logs gateway`'}`] : []),
  ];
}

/** More names than this do not help. */
const SHOWN_WORK = 5;

async function list(input: Input): Promise<number> {
  const home = openHome();
  const rows = listProfiles(home).map((profile) => rowOf(home, profile));
  if (input.json) printJson({ gateways: rows });
  else
    print(
      table([
        ['PROFILE', 'STATE', 'PID', 'WANTED', ''],
        ...rows.map((row) => [
          row.profile,
          row.state,
          row.pid === null ? '-' : String(row.pid),
          row.desired_state ?? '-',
          row.reason ?? '',
        ]),
      ]),
    );
  return exitCodes.ok;
}

function rowOf(home: Home, profile: string): GatewayRow {
  const slot = slotOf('gateway', profile);
  const snapshot = readSnapshot(home);
  const worker: WorkerRow | undefined = snapshot?.live ? snapshot.status.workers.find((row) => row.slot === slot) : undefined;
  const file = readGatewayState(home.profile(profile).gatewayState);
  const seen: Partial<GatewayStateFile> = file.kind === 'present' ? file.state : {};
  // Written by another process than the one that runs now, or by one that is gone: no word about now.
  const current = seen.pid != null && seen.pid === worker?.pid;
  const trouble = file.kind === 'corrupt' ? `gateway_state.json cannot be read: ${file.problem}` : null;
  return {
    slot,
    profile,
    state: worker?.state ?? 'down',
    pid: worker?.pid ?? null,
    desired_state: seen.desired_state ?? null,
    reason: worker?.reason ?? trouble,
    restart_requested: worker !== undefined && seen.restart_requested === true,
    active_work: current ? (seen.active_work ?? null) : null,
    session_store: current ? (seen.session_store ?? null) : null,
  };
}

interface Known {
  platforms: PlatformState[];
  held: number;
  waiting: WaitingWork[];
}

const ask = (home: Home, slot: string): Promise<Known> => withWorker(home, slot, (link) => link.call(platforms, {}));

/** What the last gateway said about its platforms. */
function fromFile(home: Home, profile: string): Known {
  const file = readGatewayState(home.profile(profile).gatewayState);
  const recorded = file.kind === 'present' ? (file.state.platforms ?? {}) : {};
  const known = Object.entries(recorded).map(([platform, { state, error_message }]) => ({
    platform,
    state: state as PlatformState['state'],
    error_code: null,
    error_message: typeof error_message === 'string' ? error_message : null,
    retrying_since: null,
    updated_at: '',
  }));
  return { platforms: known, held: 0, waiting: [] };
}
