/**
 * The unit file: one for all profiles, and it holds the supervisor alone (lessons 4, 13). The user and
 * the system variant come from one template; the comments in it are for whoever reads the installed file.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../base/exitCodes.ts';
import { limits } from '../base/limits.ts';
import { SERVICE_NAME, type ServicePlan, type ServiceScope, type ServiceUser } from '../state/servicePlan.ts';

export const UNIT_NAME = `${SERVICE_NAME}.service`;

/** What this systemd can do. */
export interface UnitFeatures {
  /** `systemd-notify` is installed: Node has no datagram sockets of its own. */
  notify: boolean;
  /** Major version. 254 knows DelegateSubgroup= and RestartSteps=. */
  version: number;
}

/** From this version on the supervisor gets a leaf of its own in the delegated cgroup. */
const SUBGROUP_VERSION = 254;

export function unitText(plan: ServicePlan, { notify, version }: UnitFeatures): string {
  const command = (entry: string) => [plan.node, entry].map(execWord).join(' ');
  const system = plan.scope === 'system';
  return lines([
    '# Written by `agent service install`, which also repairs it. Changes of your own belong into a drop-in:',
    `# systemctl ${system ? '' : '--user '}edit ${UNIT_NAME}`,
    '',
    '[Unit]',
    'Description=agent-service (supervisor of the conversational agent)',
    system && 'After=network-online.target',
    system && 'Wants=network-online.target',
    system && `RequiresMountsFor=${execWord(plan.home)}`,
    '# A package that was removed is not started for ever. A slot that fails is parked inside and explained.',
    `StartLimitIntervalSec=${limits.service.startLimitMs / 1_000}`,
    `StartLimitBurst=${limits.service.startLimitBurst}`,
    '',
    '[Service]',
    ...(notify
      ? [
          'Type=notify',
          '# `systemd-notify` speaks for the supervisor.',
          'NotifyAccess=all',
          `WatchdogSec=${limits.service.watchdogMs / 1_000}`,
        ]
      : ['# systemd-notify is not installed here: no readiness, no watchdog.', 'Type=exec']),
    `ExecStart=${command(plan.entry)}`,
    ...(system ? systemUser(plan) : []),
    `WorkingDirectory=-${pathValue(plan.home)}`,
    `Environment=${quoted(`AGENT_HOME=${plan.home}`)}`,
    `Environment=${quoted(`PATH=${plan.path}`)}`,
    ...(plan.bootstrap === undefined ? [] : [`Environment=${quoted(`${BOOTSTRAP}=${plan.bootstrap}`)}`]),
    '# Compiled code is kept: a third of the time to start.',
    `Environment=${quoted(`NODE_COMPILE_CACHE=${join(plan.home, 'cache', 'compile')}`)}`,
    '',
    `# ${exitCodes.ok} = stopped as asked (agent down), ${exitCodes.config} = configuration, a restart cannot help, ${exitCodes.restart} = start me again; all else is a crash.`,
    'Restart=always',
    `RestartSec=${limits.service.restartMs}ms`,
    `RestartForceExitStatus=${exitCodes.restart}`,
    `RestartPreventExitStatus=${exitCodes.ok} ${exitCodes.config}`,
    `SuccessExitStatus=${exitCodes.restart}`,
    '',
    '# Workers outlive a killed supervisor and are taken over by the next one, so only the supervisor is signalled.',
    '# What a true stop leaves behind is swept; the sweep asks which of the two it was.',
    'KillMode=process',
    `ExecStopPost=-${command(plan.sweep)} %n ${plan.scope}`,
    '# The longest drain of every tier, one after the other.',
    `TimeoutStopSec=${Math.ceil(plan.stopMs / 1_000)}`,
    '# A supervisor that the watchdog has to end may be stopped in its tracks and deaf to SIGABRT.',
    `TimeoutAbortSec=${limits.worker.termMs / 1_000}`,
    `TimeoutStartSec=${(limits.supervisor.upMs + limits.service.startMarginMs) / 1_000}`,
    '',
    '# One worker out of memory is restarted alone; by default systemd would stop all of them.',
    'OOMPolicy=continue',
    '# A cgroup of our own: each worker gets one, so that nothing it started can escape its end.',
    'Delegate=yes',
    version >= SUBGROUP_VERSION && 'DelegateSubgroup=supervisor',
    '',
    'UMask=0077',
    '# A core dump would hold secrets.',
    'LimitCORE=0',
    'StandardOutput=journal',
    'StandardError=journal',
    `SyslogIdentifier=${SERVICE_NAME}`,
    '# Left out on purpose, since the terminal tool runs the commands of the user, with everything they may do:',
    '# - NoNewPrivileges= and all that implies it (SystemCallFilter=, LockPersonality=, RestrictNamespaces=,',
    '#   RestrictAddressFamilies=, Protect{Clock,Hostname,Kernel*}=): sudo, ping, browsers and containers would fail;',
    '# - ProtectSystem=, ProtectHome=, ReadOnlyPaths=: a command may write where its user may;',
    '# - PrivateTmp=: files in /tmp are shared with the user, and sockets may stand there;',
    '# - PrivateDevices=, DevicePolicy=: terminals (node-pty) and the devices of the user;',
    '# - MemoryDenyWriteExecute=: V8 compiles at run time;',
    '# - ProtectControlGroups=: contradicts Delegate=.',
    '# Where the terminal tool is off for good, add them in a drop-in.',
    '',
    '[Install]',
    `WantedBy=${system ? 'multi-user.target' : 'default.target'}`,
  ]);
}

function systemUser({ user }: ServicePlan): string[] {
  return [
    `User=${user.name}`,
    `Group=${user.gid}`,
    ...Object.entries({ HOME: user.home, USER: user.name, LOGNAME: user.name }).map(
      ([name, value]) => `Environment=${quoted(`${name}=${value}`)}`,
    ),
  ];
}

/** The one place per scope. A user manager takes it from the user's real home, whatever HOME says in this shell. */
export function unitPath(scope: ServiceScope, user: Pick<ServiceUser, 'home'>): string {
  return scope === 'system' ? join('/etc/systemd/system', UNIT_NAME) : join(user.home, '.config', 'systemd', 'user', UNIT_NAME);
}

/** What the installed unit says; undefined when there is none that can be read. */
export function installedUnit(scope: ServiceScope, user: Pick<ServiceUser, 'home'>): ReturnType<typeof readUnit> | undefined {
  try {
    return readUnit(readFileSync(unitPath(scope, user), 'utf8'));
  } catch {
    return undefined;
  }
}

const BOOTSTRAP = 'AGENT_GATEWAY_BOOTSTRAP_STATE';

/** AGENT_HOME, ExecStart and PATH as they stand in an installed unit; undefined where they are not ours. */
export function readUnit(text: string): {
  home: string | undefined;
  path: string | undefined;
  bootstrap: string | undefined;
  program: string[];
  user: string | undefined;
} {
  const environment = (name: string): string | undefined => {
    const value = new RegExp(`^Environment="${name}=((?:[^"\\\\]|\\\\.)*)"$`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : unescaped(value);
  };
  const program = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
  return {
    home: environment('AGENT_HOME'),
    path: environment('PATH'),
    bootstrap: environment(BOOTSTRAP),
    program: [...program.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, inQuotes, plain]) =>
      unescaped(inQuotes ?? plain!).replaceAll('$$', '$'),
    ),
    user: /^User=(.+)$/m.exec(text)?.[1],
  };
}

/** `-` = only installed, `+` = would be written; comments and blank lines do not count. */
export function unitDrift(installed: string, wanted: string): string[] {
  const settings = (text: string) => text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [there, here] = [settings(installed), settings(wanted)];
  return [
    ...there.filter((line) => !here.includes(line)).map((line) => `- ${line}`),
    ...here.filter((line) => !there.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** In a command line `$` and `%` mean something, and a space ends a word. */
const execWord = (word: string): string => (/[\s"'\\;$%]/.test(word) ? quoted(word.replaceAll('$', '$$$$')) : word);
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;
/** WorkingDirectory= takes the rest of the line. */
const pathValue = (path: string): string => path.replaceAll('%', '%%');
const unescaped = (text: string): string => text.replace(/\\(.)/g, '$1').replaceAll('%%', '%');

const lines = (all: (string | false)[]): string => `${all.filter((line) => line !== false).join('\n')}\n`;
