/**
 * Signals to everything a terminal started. A shell with job control puts each job into a group of its
 * own, so the group of the shell is not enough: the session is the unit.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Signals the group of the session's leader and, where /proc shows it, every other member of the session. */
export function signalSession(leader: number, signal: NodeJS.Signals): void {
  send(-leader, signal);
  for (const pid of membersOf(leader)) send(pid, signal);
}

/** Living processes of the session; empty where there is no /proc. */
export function membersOf(session: number): number[] {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.map(Number).filter((pid) => sessionOf(pid) === session);
}

function sessionOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields after the name in parentheses: state, parent, group, session.
    const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : Number(session);
  } catch {
    return undefined;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it is gone already
  }
}
