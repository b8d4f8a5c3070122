/**
 * Sockets end with the session that opened them: at its time, or when it is signed out, here or at the process that
 * hands over to this one.
 */
import { limits } from '../../../base/limits.ts';
import type { Session } from './session.ts';
import type { SignInFile } from './signInFile.ts';

export interface SessionWatch extends Disposable {
  add(session: Session, end: () => void): () => void;
  /** The session lasts longer now. */
  renewed(session: Session): void;
  end(sid: string): void;
}

/** Longest delay of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

interface Watched {
  sid: string;
  end: () => void;
  timer: NodeJS.Timeout;
}

/** What another process has signed out is looked up as often as sockets are pinged. No timer runs while none is open. */
export function createSessionWatch(file: Pick<SignInFile, 'hasEnded'>, everyMs: number = limits.dashboard.heartbeatMs): SessionWatch {
  const open = new Set<Watched>();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const look = () => {
    for (const { sid, end } of open) if (file.hasEnded(sid)) end();
  };
  const arm = (until: number, end: () => void) => setTimeout(end, Math.min(TIMER_MAX_MS, Math.max(0, until - Date.now()))).unref();
  return {
    add({ sid, until }, end) {
      const entry: Watched = { sid, end, timer: arm(until, end) };
      open.add(entry);
      timer ??= setInterval(look, everyMs).unref();
      return () => {
        clearTimeout(entry.timer);
        open.delete(entry);
        if (open.size === 0) stop();
      };
    },
    renewed({ sid, until }) {
      for (const entry of open) {
        if (entry.sid !== sid) continue;
        clearTimeout(entry.timer);
        entry.timer = arm(until, entry.end);
      }
    },
    end(sid) {
      for (const entry of open) if (entry.sid === sid) entry.end();
    },
    [Symbol.dispose]() {
      stop();
      for (const entry of open) clearTimeout(entry.timer);
      open.clear();
    },
  };
}
