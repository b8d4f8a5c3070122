/** Names of files for a half-written path: one folder, bounded, nothing but names. */
import { opendir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { limits } from '../../base/limits.ts';
import type { Completions } from '../../ipc/contracts/rpcCommands.ts';

/** The path begins at `from` in `text`; relative ones are looked up below `cwd`. A folder that cannot be read has no names. */
export async function completePaths(text: string, cwd: string, from: number): Promise<Completions> {
  const typed = text.slice(from);
  const expanded = typed.startsWith('~/') ? join(homedir(), typed.slice(2)) + (typed.endsWith('/') ? '/' : '') : typed;
  const folder =
    expanded === '' || expanded.endsWith('/')
      ? expanded
      : dirname(expanded) === '.' && !expanded.startsWith('./')
        ? ''
        : `${dirname(expanded)}/`;
  const beginning = expanded.endsWith('/') || expanded === '' ? '' : basename(expanded);
  const written = typed.slice(0, typed.length - beginning.length);
  const path = isAbsolute(folder) ? folder : join(cwd, folder);
  const items: Completions['items'] = [];
  try {
    let seen = 0;
    for await (const entry of await opendir(path)) {
      if (++seen > limits.side.pathsReadMax) break;
      if (!entry.name.startsWith(beginning) || (entry.name.startsWith('.') && !beginning.startsWith('.'))) continue;
      const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
      items.push({ text: written + name, label: name, summary: '' });
    }
  } catch {
    // not there, or not ours to read: nothing to offer
  }
  items.sort((a, b) => a.label.localeCompare(b.label));
  return { replace_from: from, items: items.slice(0, limits.side.pathsMax) };
}
