/** Memory and disk of this machine, and whether they run short. Looked at every few seconds at most. */
import { statfsSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';

export type Pressure = 'ok' | 'elevated' | 'critical' | 'unknown';

export interface HostFigures {
  memory: { pressure: Pressure; total_mb: number; available_mb: number; swap_used_mb: number | null };
  disk: { pressure: Pressure; total_mb: number | null; free_mb: number | null; used_percent: number | null };
  sampled_at: string;
}

const { hostLookMs, memoryElevated, memoryCritical, diskElevatedBytes, diskCriticalBytes } = limits.dashboard;

/** `dir`: a folder of the file system whose room counts. */
export function createHostFigures(dir: string): () => HostFigures {
  let seen: { at: number; figures: HostFigures } | undefined;
  return () => {
    const now = performance.now();
    if (!seen || now - seen.at > hostLookMs) seen = { at: now, figures: look(dir) };
    return seen.figures;
  };
}

function look(dir: string): HostFigures {
  const constrained = process.constrainedMemory();
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const available = Math.min(process.availableMemory(), total);
  return {
    memory: {
      pressure: memoryPressure(available, total),
      total_mb: megabytes(total),
      available_mb: megabytes(available),
      swap_used_mb: swapUsedMb(),
    },
    disk: diskOf(dir),
    sampled_at: isoTime(Date.now()),
  };
}

/** Bytes that can be had, of all there are. */
export function memoryPressure(available: number, total: number): Pressure {
  if (total <= 0) return 'unknown';
  const below = ({ bytes, share }: { bytes: number; share: number }) => available < bytes || available / total < share;
  if (below(memoryCritical)) return 'critical';
  return below(memoryElevated) ? 'elevated' : 'ok';
}

export function diskPressure(freeBytes: number): Pressure {
  if (freeBytes < diskCriticalBytes) return 'critical';
  return freeBytes < diskElevatedBytes ? 'elevated' : 'ok';
}

function diskOf(dir: string): HostFigures['disk'] {
  try {
    const { blocks, bavail, bsize } = statfsSync(dir);
    const [total, free] = [blocks * bsize, bavail * bsize];
    return {
      pressure: diskPressure(free),
      total_mb: megabytes(total),
      free_mb: megabytes(free),
      used_percent: total > 0 ? Math.round((1 - free / total) * 1_000) / 10 : null,
    };
  } catch {
    return { pressure: 'unknown', total_mb: null, free_mb: null, used_percent: null };
  }
}

/** Null where the system does not tell. */
function swapUsedMb(): number | null {
  try {
    const text = readFileSync('/proc/meminfo', 'latin1');
    const kib = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
    return Math.round((kib('SwapTotal') - kib('SwapFree')) / 1024);
  } catch {
    return null;
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
