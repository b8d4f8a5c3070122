/**
 * Why an incarnation ended, in a sentence, with a signature that groups equal causes: `causes.ts` knows the
 * causes, this puts the sentence together. What is kept of it on disk is in `blackBox.ts`.
 */
import { formatDuration } from '../base/time.ts';
import type { LastExit } from '../ipc/contracts/supervisor.ts';
import { explain, type MemoryAtEnd } from './causes.ts';
import type { ExitFacts } from './incarnation.ts';
import { isDebuggerTalk } from './mainStack.ts';

export interface EndReport {
  slot: string;
  pid: number;
  last_exit: LastExit;
  /** What to do, where it is known. */
  fix: string | null;
  /** A restart cannot help. */
  permanent: boolean;
  lived_ms: number;
  ready_ms: number | null;
  /** Work in flight at the last sign of life. */
  active_work: number;
  /** Last lines it printed, redacted. */
  tail: string[];
}

export interface EndFacts {
  slot: string;
  pid: number;
  exit: ExitFacts;
  atMs: number;
  livedMs: number;
  readyMs: number | undefined;
  activeWork: number;
  /** Set when the supervisor itself killed it. */
  killedFor?: string | undefined;
  /** The command that was under way: `restart by cli`. */
  askedBy?: string | undefined;
  memory?: MemoryAtEnd | undefined;
  tail: string[];
}

export function reportEnd(facts: EndFacts): EndReport {
  const { exit, killedFor, askedBy, memory } = facts;
  const tail = facts.tail.filter((line) => !isDebuggerTalk(line));
  const { code, signal, spawnError } = exit;
  const { cause, fix, permanent, signature } = explain({ code, signal, spawnError, killedFor, askedBy, tail, memory });
  const when =
    facts.readyMs === undefined
      ? `before it was ready (${formatDuration(facts.livedMs)} after its start)`
      : `after ${formatDuration(facts.readyMs)} of service`;
  const lost = facts.activeWork > 0 ? `, with ${facts.activeWork} unit(s) of work in flight` : '';
  return {
    slot: facts.slot,
    pid: facts.pid,
    last_exit: { code, signal, at: new Date(facts.atMs).toISOString(), signature, summary: `${facts.slot} ${cause} ${when}${lost}` },
    fix: fix?.replaceAll('<slot>', facts.slot) ?? null,
    permanent,
    lived_ms: Math.round(facts.livedMs),
    ready_ms: facts.readyMs === undefined ? null : Math.round(facts.readyMs),
    active_work: facts.activeWork,
    tail,
  };
}
