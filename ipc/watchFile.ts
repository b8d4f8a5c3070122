/** A wake-up for a file that another process creates, replaces or removes: a socket, so far. Costs nothing while nothing changes. */
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Calls back when the file is created, replaced or removed; where that cannot be watched, never. */
export function watchFile(path: string, onChange: () => void): Disposable {
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name === basename(path)) onChange();
    });
    watcher.on('error', () => {});
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    return { [Symbol.dispose]() {} };
  }
}
