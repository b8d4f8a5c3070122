/**
 * What the environment block of a process of the service holds. Every process of the same user, so every command of a
 * tool, can read it in `/proc/<pid>/environ`: it holds what is needed to start, and all else travels sealed.
 */
import { filterEnv } from '../base/envFilter.ts';
import { SECRET_NAME } from '../base/redact.ts';
import { commonEnv } from '../services/manifest.ts';

/** How this process was started and by whom. */
const START_VARIABLES: readonly string[] = [
  'PWD',
  'OLDPWD',
  'SHLVL',
  '_',
  'HOSTNAME',
  'LD_LIBRARY_PATH',
  'NODE_OPTIONS',
  'NODE_ENV',
  'NODE_COMPILE_CACHE',
  'NODE_DISABLE_COMPILE_CACHE',
  'NODE_V8_COVERAGE',
  // Settings of ours are read before anything is unsealed; those that name a secret travel sealed.
  'AGENT_*',
  // systemd
  'NOTIFY_SOCKET',
  'WATCHDOG_PID',
  'WATCHDOG_USEC',
  'INVOCATION_ID',
  'SYSTEMD_EXEC_PID',
  'JOURNAL_STREAM',
  'MANAGERPID',
  'MANAGERPIDFDID',
  'MEMORY_PRESSURE_WATCH',
  'MEMORY_PRESSURE_WRITE',
  'DBUS_SESSION_BUS_ADDRESS',
  // launchd
  'XPC_SERVICE_NAME',
  'XPC_FLAGS',
  '__CF_USER_TEXT_ENCODING',
  // containers
  'container',
  'KUBERNETES_SERVICE_HOST',
];

/** `shown` goes into the environment block, `sealed` reaches the process by another way. */
export function splitEnvironment(env: NodeJS.ProcessEnv): { shown: Record<string, string>; sealed: Record<string, string> } {
  const shown: Record<string, string> = {};
  const sealed: Record<string, string> = {};
  const startVariables = filterEnv(env, [...commonEnv, ...START_VARIABLES]);
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (name in startVariables && !SECRET_NAME.test(name)) shown[name] = value;
    else sealed[name] = value;
  }
  return { shown, sealed };
}
