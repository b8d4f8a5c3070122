/** What `agent files` shows of folders and of the trash. Names are text: nothing in them steers the terminal. */
import { painter } from '../../base/paint.ts';
import { visibleText } from '../../base/visibleText.ts';
import type { FileEntry } from '../../state/files/files.ts';
import type { TrashEntry } from '../../state/files/trash.ts';
import { bytesForPeople, note, out, print, table } from '../terminal.ts';

export function folderView({ path, entries }: { path: string; entries: readonly FileEntry[] }): string {
  const paint = painter(out);
  const rows = entries.map(({ name, size, mtime, is_directory, is_link }) => [
    is_directory ? '–' : sizeForPeople(size),
    localTime(mtime),
    `${is_directory ? `${paint('cyan', visibleText(name))}/` : visibleText(name)}${is_link ? paint('dim', '  (a link)') : ''}`,
  ]);
  return `${paint('dim', visibleText(path))}\n${headed(['SIZE', 'CHANGED', 'NAME'], rows)}`;
}

export function trashView(entries: readonly TrashEntry[]): string {
  const rows = entries.map(({ deleted_at, size, is_directory, origin, name }) => [
    localTime(deleted_at),
    is_directory ? '–' : sizeForPeople(size),
    visibleText(origin ?? `${name} (nobody wrote down where it lay)`) + (is_directory ? '/' : ''),
  ]);
  return headed(['DELETED', 'SIZE', 'WHERE IT LAY'], rows);
}

function headed(heads: string[], rows: string[][]): string {
  const paint = painter(out);
  return table([heads.map((head) => paint('dim', head)), ...rows]);
}

const localTime = (at: string): string => new Date(at).toLocaleString('sv-SE');

export const sizeForPeople = (bytes: number): string => (bytes < 1_024 ? `${bytes} B` : bytesForPeople(bytes));

/** One path a line, beginning as it was asked for: for completion and scripts. */
export function completionNames(asked: string, entries: readonly FileEntry[]): void {
  const before = asked === '' || asked.endsWith('/') ? asked : `${asked}/`;
  const plain = entries.filter(({ name }) => visibleText(name) === name);
  if (plain.length > 0) print(plain.map(({ name, is_directory }) => `${before}${name}${is_directory ? '/' : ''}`).join('\n'));
  const left = entries.length - plain.length;
  if (left > 0) note(`agent: ${left} with control characters in the name ${left === 1 ? 'is' : 'are'} left out; --json has them`);
}
