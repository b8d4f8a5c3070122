/**
 * What the supervisor says to systemd: ready, how it stands, that it stops, and the beat of its main loop
 * for the watchdog. Node has no datagram sockets, so `systemd-notify` carries each word; without
 * NOTIFY_SOCKET nothing is ever said. Not execa: 24 MB (measured) in a process whose budget is 45.
 */
import { spawn } from 'node:child_process';
import { limits } from '../base/limits.ts';

export interface Notifier extends Disposable {
  /** Every wanted slot is ready or parked: `systemctl start` returns. */
  ready(status: string): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** The stop begins. */
  stopping(status: string): void;
}

/** Undefined when no systemd listens. Takes the variables out of `env`, so that no child speaks in our name. */
export function openNotifier(env: NodeJS.ProcessEnv, statusNow: () => string): Notifier | undefined {
  const socket = env.NOTIFY_SOCKET;
  const watchdogUsec = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid ? Number(env.WATCHDOG_USEC ?? 0) : 0;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (!socket) return undefined;
  const say = createSpeaker({ PATH: env.PATH ?? '', NOTIFY_SOCKET: socket });
  // From the main loop on purpose: a loop that stands still is what the watchdog is for.
  const beat = watchdogUsec > 0 ? setInterval(() => say(['WATCHDOG=1', statusWord(statusNow())]), watchdogUsec / 2_000) : undefined;
  return {
    ready: (status) => say(['READY=1', statusWord(status)]),
    status: (text) => say([statusWord(text)]),
    stopping: (status) => say(['STOPPING=1', statusWord(status)]),
    [Symbol.dispose]: () => clearInterval(beat),
  };
}

const statusWord = (text: string): string => `STATUS=${text.replaceAll('\n', ' ')}`;

/** One process at a time, in order; what is said meanwhile waits as one message, in which the newest word of a kind counts. */
function createSpeaker(env: Record<string, string>): (words: string[]) => void {
  let speaking = false;
  const waiting = new Map<string, string>();
  const next = () => {
    if (speaking || waiting.size === 0) return;
    const words = [...waiting.values()];
    waiting.clear();
    speaking = true;
    const child = spawn('systemd-notify', words, { env, stdio: 'ignore', timeout: limits.service.notifyMs, killSignal: 'SIGKILL' });
    const done = () => {
      speaking = false;
      next();
    };
    // It is missing: systemd then restarts a unit that waits for it, and says so.
    child.once('error', done);
    child.once('exit', done);
  };
  return (words) => {
    for (const word of words) waiting.set(word.slice(0, word.indexOf('=')), word);
    next();
  };
}
