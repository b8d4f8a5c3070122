/** Which version of a file is there: cheap to ask, so a reader can look before each use. */
import { statSync } from 'node:fs';

export function stampOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
      return stat ? `${stat.ino}.${stat.size}.${stat.mtimeNs}` : 'absent';
    })
    .join(' ');
}
