/** Sockets end with the session that opened them: at its time, or when it is signed out. */
import type { Session } from './session.ts';

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

export function createSessionWatch(): SessionWatch {
  const open = new Set<Watched>();
  const arm = (until: number, end: () => void) => setTimeout(end, Math.min(TIMER_MAX_MS, Math.max(0, until - Date.now()))).unref();
  return {
    add({ sid, until }, end) {
      const entry: Watched = { sid, end, timer: arm(until, end) };
      open.add(entry);
      return () => {
        clearTimeout(entry.timer);
        open.delete(entry);
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
      for (const { timer } of open) clearTimeout(timer);
      open.clear();
    },
  };
}
