/**
 * Why an incarnation ended, in a sentence, with a signature that groups equal causes: `causes.ts` knows the
 * causes, this puts the sentence together. What is kept of it on disk is in `blackBox.ts`.
 */
import { formatDuration } from '../base/time.ts';
import type { BlackBox } from '../ipc/contracts/blackBox.ts';
import { explain, type MemoryAtEnd } from './causes.ts';
import type { ExitFacts } from './incarnation.ts';
import { isDebuggerTalk } from './mainStack.ts';

/** The part of a black box that the table, `status` and the log need at once. */
export type EndReport = Pick<
  BlackBox,
  'slot' | 'pid' | 'last_exit' | 'fix' | 'permanent' | 'lived_ms' | 'ready_ms' | 'active_work' | 'tail' | 'shortage'
>;

export interface EndFacts {
  slot: string;
  isSidecar?: boolean | undefined;
  pid: number;
  exit: ExitFacts;
  atMs: number;
  livedMs: number;
  readyMs: number | undefined;
  activeWork: number;
  /** Set when the supervisor itself killed it. */
  killedFor?: string | undefined;
  /** A stop signal that it received and the supervisor did not send. */
  outsideSignal?: string | undefined;
  /** The command that was under way: `restart by cli`. */
  askedBy?: string | undefined;
  memory?: MemoryAtEnd | undefined;
  tail: string[];
}

export function reportEnd(facts: EndFacts): EndReport {
  const { exit, killedFor, outsideSignal, askedBy, memory } = facts;
  const tail = facts.tail.filter((line) => !isDebuggerTalk(line));
  const { code, signal, spawnError, missing } = exit;
  const { cause, fix, permanent, signature, shortage } = explain({
    isSidecar: facts.isSidecar,
    code,
    signal,
    spawnError,
    missing,
    outsideSignal,
    killedFor,
    askedBy,
    tail,
    memory,
  });
  const when = whenOf(facts);
  const lost = facts.activeWork > 0 ? `, with ${facts.activeWork} unit(s) of work in flight` : '';
  return {
    slot: facts.slot,
    pid: facts.pid,
    last_exit: { code, signal, at: new Date(facts.atMs).toISOString(), signature, summary: `${facts.slot} ${cause}${when}${lost}` },
    fix: fix?.replaceAll('<slot>', facts.slot) ?? null,
    permanent,
    lived_ms: Math.round(facts.livedMs),
    ready_ms: facts.readyMs === undefined ? null : Math.round(facts.readyMs),
    active_work: facts.activeWork,
    tail,
    ...(shortage ? { shortage } : {}),
  };
}

/** Not said where the cause says it already. */
function whenOf({ readyMs, livedMs, exit, killedFor }: EndFacts): string {
  if (readyMs !== undefined) return ` after ${formatDuration(readyMs)} of service`;
  if (exit.spawnError !== undefined || killedFor?.startsWith('was not ready within')) return '';
  return ` before it was ready (${formatDuration(livedMs)} after its start)`;
}
