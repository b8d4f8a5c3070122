/** `agent gateway …`: the chat-platform gateway, supervised or in the foreground. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { platforms, type PlatformState } from '../../ipc/contracts/gateway.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import { listProfiles, openHome, type Home } from '../../state/home.ts';
import { logPath } from '../../state/logs.ts';
import { drainOption, jsonErrorsOption, jsonOption, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { endOf, follow } from '../logs/follow.ts';
import { parseLine, renderLine } from '../logs/line.ts';
import { becomeWorker } from '../runWorker.ts';
import { actOnSlot, slotOf } from '../slots.ts';
import { readSnapshot, type WorkerRow } from '../snapshot.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const later = (name: string, summary: string): Command => ({
  name,
  summary,
  options: [jsonErrorsOption],
  examples: [{ line: `agent gateway ${name}`, does: 'not part of this version yet' }],
  run: () => {
    throw new AgentError('NOT_FOUND', `\`agent gateway ${name}\` comes with a later version`, { fix: laterFix[name]! });
  },
});

const laterFix: Record<string, string> = {
  setup: 'write the platform into config.yaml (`agent config set platforms.irc.enabled true`) and its secrets into .env',
};

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
        'Asks the running supervisor to start the slot and shows its log until ctrl-C; the gateway goes on. With --no-supervise (or AGENT_GATEWAY_NO_SUPERVISE=1) this process is the gateway: in the foreground, nobody starts it again.',
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
      name: 'undelivered',
      summary: 'List messages that were given up',
      details:
        'What a platform refused for good, what could not be delivered within a day, and what may or may not have arrived; kept for a week. Nothing sends them again by itself: look in the chat, then use `agent send`. Works while the gateway is down.',
      options: [jsonOption],
      examples: [{ line: 'agent gateway undelivered', does: 'target, reason and beginning of each, the newest last' }],
      run: async (input) => (await import('../gateway/undelivered.ts')).undelivered(input),
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
    later('setup', 'Set up chat platforms'),
  ],
};

const YES: ReadonlySet<string> = new Set(['1', 'true', 'yes']);

async function runGateway(input: Input): Promise<number> {
  const slot = slotOf('gateway', input.profile);
  const unsupervised = input.options.supervise === false || YES.has(process.env.AGENT_GATEWAY_NO_SUPERVISE?.toLowerCase() ?? '');
  if (unsupervised) return becomeWorker(slot, false);
  const home = openHome();
  const path = logPath(home.profile(input.profile), 'gateway');
  const start = endOf(path);
  const code = await actOnSlot('start', input, 'gateway');
  if (code !== exitCodes.ok) return code;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const paint = painter(out);
  await follow(path, start, (raw) => print(renderLine(parseLine(raw), paint)), stop.signal);
  note(`\nThe gateway goes on under the supervisor; \`agent stop ${slot}\` stops it.`);
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
}

async function status(input: Input): Promise<number> {
  const home = openHome();
  const row = rowOf(home, input.profile);
  const known = row.state === 'ready' ? await ask(home, row.slot) : fromFile(home, input.profile);
  if (input.json) printJson({ ...row, ...known });
  else {
    const paint = painter(out);
    print(`${row.slot} is ${row.state}${row.pid ? ` (process ${row.pid})` : ''}${row.reason ? `: ${row.reason}` : ''}`);
    if (known.held) print(paint('yellow', `${known.held} message${known.held === 1 ? '' : 's'} held by the pause`));
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
    else note('agent: no platform is configured — see platforms in config.yaml');
  }
  if (row.state === 'ready') return exitCodes.ok;
  return readSnapshot(home)?.live ? exitCodes.failed : exitCodes.noSupervisor;
}

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
  const intent = file.kind === 'present' ? (file.state.desired_state ?? null) : null;
  const trouble = file.kind === 'corrupt' ? `gateway_state.json cannot be read: ${file.problem}` : null;
  return {
    slot,
    profile,
    state: worker?.state ?? 'down',
    pid: worker?.pid ?? null,
    desired_state: intent,
    reason: worker?.reason ?? trouble,
  };
}

interface Known {
  platforms: PlatformState[];
  held: number;
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
  return { platforms: known, held: 0 };
}
