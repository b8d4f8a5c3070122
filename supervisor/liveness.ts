/**
 * What the signs of life of a worker say (contract §4, Liveness). Pure: beats and a look at the process go
 * in, a word and a decision come out. A worker proves that it lives by its beats, and that it works by
 * counting steps of accepted work; a process that waits for a slow model does both (lessons 11, 12).
 */
import { limits } from '../base/limits.ts';
import { formatDuration } from '../base/time.ts';
import type { Liveness } from '../ipc/contracts/supervisor.ts';

/** As said in `worker.heartbeat`; older workers say only `active`. */
export interface Beat {
  active: number;
  progress?: number | undefined;
  utilization?: number | undefined;
  descriptors_used_up?: boolean | undefined;
}

/** Times are monotonic milliseconds. */
export interface Signs {
  beatAtMs: number;
  active: number;
  progress: number | undefined;
  /** Since when accepted work waits for its next step. */
  progressAtMs: number;
  /** Since when the loop has been busy without a pause; undefined while it rests now and then. */
  busySinceMs: number | undefined;
  /** Since when it has had no free file descriptor; undefined while it has one. */
  exhaustedSinceMs: number | undefined;
}

/** What a look at the process itself says; taken only of one that is suspicious. */
export interface ProcessSigns {
  /** One letter of /proc/<pid>/stat: R S D T t Z. */
  state: string;
  /** Main thread, and those that collect its garbage: share of the time since the last look that they computed or waited in line to; undefined at the first one. */
  mainShare: number | undefined;
  /** How long of the looks so far it only stood in line for a processor: the machine's fault, not its own. */
  inLineMs?: number | undefined;
  /** Where in the kernel the main thread sleeps; undefined when it does not, or the system hides it. */
  waitsIn: string | undefined;
}

export interface Bounds {
  suspectMs: number;
  killMs: number;
  /** Two beats fit into the time after which silence is suspect. */
  heartbeatMs: number;
}

/** As configured in `supervisor.liveness`. */
export function boundsOf(configured: { suspect_ms?: number | undefined; kill_ms?: number | undefined } = {}): Bounds {
  const suspectMs = configured.suspect_ms ?? limits.worker.suspectMs;
  const killMs = Math.max(suspectMs, configured.kill_ms ?? limits.worker.hungMs);
  return { suspectMs, killMs, heartbeatMs: Math.max(limits.worker.heartbeatMinMs, Math.min(limits.worker.heartbeatMs, suspectMs / 2)) };
}

export interface Verdict {
  word: Liveness;
  kill: boolean;
  /** What it did, to follow "because it …"; empty when all is well. */
  why: string;
}

export const newSigns = (nowMs: number): Signs => ({
  beatAtMs: nowMs,
  active: 0,
  progress: undefined,
  progressAtMs: nowMs,
  busySinceMs: undefined,
  exhaustedSinceMs: undefined,
});

/** A beat has arrived. */
export function afterBeat(signs: Signs, beat: Beat, nowMs: number): Signs {
  const moved = beat.active === 0 || signs.active === 0 || beat.progress === undefined || beat.progress !== signs.progress;
  const busy = (beat.utilization ?? 0) > limits.worker.busyShare;
  return {
    beatAtMs: nowMs,
    active: beat.active,
    progress: beat.progress,
    progressAtMs: moved ? nowMs : signs.progressAtMs,
    // The share is that of the interval that ends now.
    busySinceMs: busy ? (signs.busySinceMs ?? signs.beatAtMs) : undefined,
    exhaustedSinceMs: beat.descriptors_used_up ? (signs.exhaustedSinceMs ?? nowMs) : undefined,
  };
}

/** True when a look at the process is worth its cost. */
export const isSuspicious = (signs: Signs, nowMs: number, { suspectMs }: Bounds): boolean => nowMs - signs.beatAtMs >= suspectMs;

export function judge(signs: Signs, nowMs: number, bounds: Bounds, process?: ProcessSigns): Verdict {
  const silentMs = nowMs - signs.beatAtMs;
  if (silentMs < bounds.suspectMs) return judgeProgress(signs, nowMs, bounds);
  // Whoever gets no processor cannot beat, and a restart would want even more of it.
  const starvedMs = Math.min(process?.inLineMs ?? 0, bounds.killMs * (limits.worker.starvedFactor - 1));
  const kill = silentMs - starvedMs >= bounds.killMs;
  const forLong = formatDuration(silentMs);
  if (process?.state === 't') return { word: 'stopped', kill: false, why: `is held by a debugger, silent for ${forLong}` };
  if (process?.state === 'T') return { word: 'stopped', kill, why: `was stopped by a signal (SIGSTOP) and silent for ${forLong}` };
  if (process && isBusy(process)) {
    return { word: 'blocked', kill, why: `blocked its main loop: it computed for ${forLong} without coming back to its events` };
  }
  if (process?.waitsIn && !/poll/.test(process.waitsIn)) {
    return {
      word: 'blocked',
      kill,
      why: `blocked its main loop: it waited for ${forLong} in a call that does not return (${process.waitsIn})`,
    };
  }
  // The main thread rests where it should, or stands in the kernel, and nothing comes.
  return { word: process || kill ? 'silent' : 'suspect', kill, why: `showed no sign of life for ${forLong}` };
}

const isBusy = ({ state, mainShare }: ProcessSigns): boolean =>
  mainShare === undefined ? state === 'R' : mainShare > limits.worker.computesShare;

/** It beats: is it getting anywhere? Waiting for a model costs no time of the processor, whatever it takes. */
function judgeProgress(signs: Signs, nowMs: number, { suspectMs, killMs }: Bounds): Verdict {
  const spinsMs = signs.active > 0 && signs.busySinceMs !== undefined ? nowMs - Math.max(signs.busySinceMs, signs.progressAtMs) : 0;
  if (spinsMs < suspectMs) return judgeDescriptors(signs, nowMs, killMs);
  const units = signs.active === 1 ? '1 unit' : `${signs.active} units`;
  return {
    word: 'livelocked',
    kill: spinsMs >= killMs,
    why: `was busy for ${formatDuration(spinsMs)} without a step of its ${units} of accepted work`,
  };
}

/** It beats, and refuses every connection. */
function judgeDescriptors({ exhaustedSinceMs }: Signs, nowMs: number, killMs: number): Verdict {
  if (exhaustedSinceMs === undefined) return { word: 'ok', kill: false, why: '' };
  const forMs = nowMs - exhaustedSinceMs;
  return { word: 'exhausted', kill: forMs >= killMs, why: `had no free file descriptor for ${formatDuration(forMs)}` };
}

/** A user's own program has no beats: only that it was stopped is known of it. */
export const sidecarWord = (state: string): Liveness => (state === 'T' || state === 't' ? 'stopped' : 'ok');
