/** Which other process holds a write lock on a SQLite store. Linux only, from /proc/locks; elsewhere unknown. */
import { readFileSync, statSync } from 'node:fs';

/** Who keeps others from writing: `process 4711 (sqlite3)`, or undefined where that cannot be seen. */
export const lockHolder = (path: string): string | undefined => holderOf(path, ['WRITE']);

/** Another process that has it open in WAL mode: it holds a lock all the time. */
export const openerOf = (path: string): string | undefined => holderOf(path, ['READ', 'WRITE']);

function holderOf(path: string, modes: readonly string[]): string | undefined {
  try {
    const inodes = new Set([path, `${path}-shm`].map((file) => String(statSync(file, { throwIfNoEntry: false })?.ino)));
    // `1: POSIX  ADVISORY  WRITE 4711 08:01:131073 120 120`
    const held = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .find(
        ([, , , mode, pid, file]) =>
          modes.includes(mode ?? '') && Number(pid) > 0 && Number(pid) !== process.pid && inodes.has(file?.split(':')[2] ?? ''),
      );
    if (!held) return undefined;
    const pid = held[4]!;
    return `process ${pid} (${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()})`;
  } catch {
    return undefined;
  }
}
