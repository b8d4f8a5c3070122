/**
 * `crash/<slot>.json` and `crash/<slot>.<n>.json`: what is kept of an abnormal end. A file format, not a
 * call: it is read with everything down. Bounded and redacted.
 */
import type { LastExit, Liveness, ResourceSample, Shortage } from './supervisor.ts';

export interface StackFrame {
  function: string;
  /** `file:line:column` */
  at: string;
}

/** What was seen of a hung worker before it was killed. */
export interface Evidence {
  at: string;
  word: Liveness;
  why: string;
  /** Where its main loop stood, innermost first; empty with the reason in `stack_note`. */
  stack: StackFrame[];
  stack_note: string | null;
  /** Kinds of handles that kept its loop alive; null when it could not be asked. */
  resources: Record<string, number> | null;
  process: {
    status: Record<string, string>;
    threads: { name: string; state: string; waits_in: string | null }[];
    files: { count: number; kinds: Record<string, number>; first: string[] };
    group: { pid: number; state: string; command: string }[];
  } | null;
}

export interface BlackBox {
  slot: string;
  pid: number;
  last_exit: LastExit;
  /** What to do, where it is known. */
  fix: string | null;
  /** A restart cannot help. */
  permanent: boolean;
  /** What it lacked, where that can come back without a person. */
  shortage?: Shortage | undefined;
  lived_ms: number;
  ready_ms: number | null;
  /** Work in flight at the last sign of life, and the names of its first units. */
  active_work: number;
  units?: string[];
  /** Last lines it printed, redacted. */
  tail: string[];
  /** The command that was under way, if any. */
  asked_by?: { action: string; actor: string; cause: string } | null;
  /** Content id and version of the code, and digest of the settings it was started with. */
  code?: string;
  version?: string;
  settings?: string;
  /** The minutes before the end, oldest first. */
  samples?: ResourceSample[];
  /** Changes of its liveness, oldest first. */
  liveness?: { at: string; word: Liveness; why: string }[];
  evidence?: Evidence | null;
  machine?: {
    node: string;
    os: string;
    uptime_s: number;
    memory_free_bytes: number;
    memory_total_bytes: number;
    load: number;
    /** Kills for lack of memory in its cgroup while it lived; null where the kernel does not count. */
    oom_kills: number | null;
  };
}
