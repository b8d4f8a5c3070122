/**
 * Installing the unit and driving `systemctl`, for the manager of one user or of the system. Every step is
 * told when it is done; nothing counts as done before systemd was asked again (lessons 5, 10).
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { runCommand, type CommandResult } from '../base/runCommand.ts';
import { sleep } from '../base/time.ts';
import { writeFileAtomic } from '../state/atomicFile.ts';
import type { ServiceManager, ServiceScope, ServiceState, ServiceUser, Tell, Unusable } from '../state/servicePlan.ts';
import { ensureLinger, lingers, restoreLinger } from './linger.ts';
import { readUnit, UNIT_NAME, unitDrift, unitPath, unitText, type UnitFeatures } from './unit.ts';

export interface SystemdOptions {
  /** User scope: let it run without a login (default true). */
  linger?: boolean;
}

export function openSystemd(scope: ServiceScope, user: ServiceUser, { linger = true }: SystemdOptions = {}): ServiceManager {
  const file = unitPath(scope, user);
  const env = scope === 'user' ? { XDG_RUNTIME_DIR: runtimeDir(user) } : {};
  const words = (...args: string[]): [string, ...string[]] => ['systemctl', ...(scope === 'user' ? ['--user'] : []), ...args];
  const ask = (...args: string[]) => runCommand(words(...args), { env });
  const features = (): Promise<UnitFeatures> => featuresOf(ask);

  async function order(tell: Tell, args: string[], timeoutMs: number = limits.service.commandMs): Promise<void> {
    const result = await runCommand(words(...args), { env, timeoutMs });
    if (result.code !== 0) throw refused(result, scope);
    tell({ did: 'ran', what: result.command.join(' ') });
  }

  async function show(): Promise<Record<string, string>> {
    const { stdout } = await ask('show', `--property=${PROPERTIES.join(',')}`, UNIT_NAME);
    return Object.fromEntries(stdout.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  }

  return {
    kind: 'systemd',
    scope,
    file,
    unusable: () => whyUnusable({ scope, user, ask, startable: linger }),
    text: async (plan) => unitText(plan, await features()),
    commands: () => [
      ...(scope === 'user' && linger ? [`loginctl enable-linger ${user.name}`] : []),
      ...[['daemon-reload'], ['enable', UNIT_NAME], ['start', UNIT_NAME]].map((args) => words(...args).join(' ')),
    ],

    async register(plan, tell) {
      const enabled = scope === 'user' && linger && (await ensureLinger(user, tell));
      await untilReached(user, ask);
      const isNoted = enabled || readText(file)?.includes(LINGER_NOTE);
      const text = unitText(plan, await features()) + (isNoted ? LINGER_NOTE : '');
      if (readText(file) === text) tell({ did: 'kept', what: file, detail: 'it is as it should be' });
      else {
        const before = readText(file);
        mkdirSync(dirname(file), { recursive: true });
        writeFileAtomic(file, text, { mode: 0o644 });
        tell({ did: 'wrote', what: file, detail: before === undefined ? 'new' : unitDrift(before, text).join('\n') });
      }
      await order(tell, ['daemon-reload']);
      const { UnitFileState, FragmentPath } = await show();
      if (FragmentPath !== file) throw shadowed(file, FragmentPath ?? '', scope);
      if (UnitFileState === 'enabled') tell({ did: 'kept', what: `${UNIT_NAME} is enabled` });
      else await order(tell, ['enable', UNIT_NAME]);
    },

    async start(tell) {
      if ((await show()).ActiveState === 'active') return tell({ did: 'kept', what: `${UNIT_NAME} runs` });
      // A unit that met its start limit would refuse.
      await ask('reset-failed', UNIT_NAME);
      await order(tell, ['start', UNIT_NAME], limits.supervisor.upMs + 2 * limits.service.startMarginMs);
      const { ActiveState, SubState, Result } = await show();
      if (ActiveState !== 'active') throw notActive(`${ActiveState}/${SubState}, ${Result}`, scope);
    },

    async remove(tell) {
      const installed = readText(file);
      const before = await show();
      // A manager that does not run knows nothing of it either.
      if (installed === undefined && (before.LoadState ?? 'not-found') === 'not-found')
        return tell({ did: 'kept', what: `${file} is not there` });
      await order(tell, ['disable', '--now', UNIT_NAME], stopMsOf(installed) + limits.service.startMarginMs);
      rmSync(file, { force: true });
      tell({ did: 'removed', what: file });
      await order(tell, ['daemon-reload']);
      await ask('reset-failed', UNIT_NAME);
      const { ActiveState } = await show();
      if (ActiveState !== 'inactive') throw notActive(`it is still ${ActiveState}`, scope);
      // Last: without linger the manager itself may end, and answers nothing more.
      if (installed?.includes(LINGER_NOTE)) await restoreLinger(user, tell);
    },

    async state(wanted): Promise<ServiceState> {
      const installed = readText(file);
      const facts = await show();
      return {
        installed: installed !== undefined,
        file,
        enabled: facts.UnitFileState === 'enabled',
        active: facts.ActiveState === 'active',
        state: facts.ActiveState ? `${facts.ActiveState} (${facts.SubState})` : 'unknown: systemd does not answer',
        pid: Number(facts.MainPID) || null,
        restarts: facts.NRestarts === undefined || facts.NRestarts === '' ? null : Number(facts.NRestarts),
        linger: scope === 'user' ? await lingers(user) : null,
        home: installed === undefined ? null : (readUnit(installed).home ?? null),
        drift: installed === undefined || wanted === undefined ? [] : unitDrift(installed, wanted),
      };
    },
  };
}

/** In a unit whose installation enabled linger: its removal disables it again. */
const LINGER_NOTE = '# Linger was enabled by this installation.\n';

const PROPERTIES = ['LoadState', 'ActiveState', 'SubState', 'MainPID', 'NRestarts', 'UnitFileState', 'FragmentPath', 'Result'];

/** A shell made by su or sudo lacks the variable, though the manager is there. */
function runtimeDir({ uid }: ServiceUser): string {
  const given = process.env.XDG_RUNTIME_DIR;
  return given && existsSync(given) && process.getuid?.() === uid ? given : `/run/user/${uid}`;
}

type Ask = (...args: string[]) => Promise<CommandResult>;

interface Reach {
  scope: ServiceScope;
  user: ServiceUser;
  ask: Ask;
  /** The manager of a user who is not logged in may be started, with linger. */
  startable: boolean;
}

/** What really is there, not what is usual (lessons 39): the manager is asked. */
async function whyUnusable({ scope, user, ask, startable }: Reach): Promise<Unusable | undefined> {
  if (!existsSync('/run/systemd/system')) return notBooted();
  const result = await ask('show', '--property=Version', '--value');
  if (result.code === 0) return undefined;
  if (scope === 'system') return { missing: `systemd does not answer (${lastLine(result)})`, fix: 'look at `systemctl status` as root' };
  const starts = startable && !existsSync(`/run/user/${user.uid}/systemd`) && (await lingers(user)) !== null;
  return starts ? undefined : noUserManager(user, result);
}

const noUserManager = ({ name }: ServiceUser, result: CommandResult): Unusable => ({
  missing: `the user manager of ${name} does not answer (${lastLine(result)})`,
  fix: 'install the packages dbus-user-session and libpam-systemd and log in again, or use `sudo agent service install --system`',
});

const lastLine = ({ stderr }: CommandResult): string => stderr.trim().split('\n').at(-1) || 'no answer';

function notBooted(): Unusable {
  const kernel = readText('/proc/sys/kernel/osrelease') ?? '';
  if (/microsoft/i.test(kernel)) {
    return {
      missing: 'this WSL distribution runs without systemd',
      fix: 'write `[boot]` and `systemd=true` into /etc/wsl.conf, run `wsl --shutdown` in Windows, and install again',
    };
  }
  const container = existsSync('/.dockerenv') || existsSync('/run/.containerenv') || process.env.container !== undefined;
  return container
    ? {
        missing: 'this is a container without systemd',
        fix: 'let the container start `agent up --foreground`, with a restart policy: docs/containers.md',
      }
    : {
        missing: `process 1 is ${(readText('/proc/1/comm') ?? 'unknown').trim()}, not systemd`,
        fix: 'let your init system run `agent up --foreground`: docs/running-as-a-service.md',
      };
}

async function featuresOf(ask: Ask): Promise<UnitFeatures> {
  const { stdout } = await ask('--version');
  const version = Number(/^systemd (\d+)/.exec(stdout)?.[1] ?? 0);
  const notify = (process.env.PATH ?? '')
    .split(':')
    .concat('/usr/bin', '/bin')
    .some((dir) => existsSync(join(dir, 'systemd-notify')));
  return { version, notify };
}

/** A user manager that linger has just started needs a moment. */
async function untilReached(user: ServiceUser, ask: Ask): Promise<void> {
  const deadlineMs = performance.now() + limits.service.verifyMs;
  for (;;) {
    const result = await ask('show', '--property=Version', '--value');
    if (result.code === 0) return;
    if (performance.now() > deadlineMs) {
      const { missing, fix } = noUserManager(user, result);
      throw new AgentError('SERVICE_UNUSABLE', missing, { fix });
    }
    await sleep(limits.service.retryMs);
  }
}

const said = ({ command, code, stderr }: CommandResult): string =>
  `\`${command.join(' ')}\` ended with ${code ?? 'no code'}${stderr.trim() ? `: ${stderr.trim()}` : ''}`;

function refused(result: CommandResult, scope: ServiceScope): AgentError {
  const denied = /access denied|authentication|permission/i.test(result.stderr);
  return new AgentError('SERVICE_FAILED', said(result), {
    fix: denied && scope === 'system' ? `run it as root: sudo ${result.command.join(' ')}` : `\`${journal(scope)}\` says more`,
  });
}

const journal = (scope: ServiceScope): string => `journalctl ${scope === 'user' ? '--user ' : ''}-u ${UNIT_NAME} -n 30`;

const notActive = (what: string, scope: ServiceScope): AgentError =>
  new AgentError('SERVICE_FAILED', `${UNIT_NAME} is not as it was asked to be: ${what}`, { fix: `\`${journal(scope)}\` says more` });

const shadowed = (file: string, found: string, scope: ServiceScope): AgentError =>
  new AgentError('SERVICE_FAILED', `systemd does not use ${file}${found ? ` but ${found}` : ''}`, {
    fix: found
      ? `remove ${found} or install with ${scope === 'user' ? '--system' : 'the user scope'}`
      : `look at \`systemctl cat ${UNIT_NAME}\``,
  });

const stopMsOf = (text: string | undefined): number =>
  1_000 * Number(/^TimeoutStopSec=(\d+)$/m.exec(text ?? '')?.[1] ?? limits.service.stopMinMs / 1_000);

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
