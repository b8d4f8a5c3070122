/** Folders of small files, each tree its own, all gone at the end. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';

export interface FileTrees {
  /** The folder that holds them all. */
  top: string;
  /** A new folder with these files, by path; its own path. */
  tree(files: Record<string, string>): string;
}

export function fileTrees(t: Pick<Test, 'teardown'>): FileTrees {
  const top = mkdtempSync(join(tmpdir(), 'agent-tree-'));
  t.teardown(() => rmSync(top, { recursive: true, force: true }));
  let count = 0;
  return {
    top,
    tree(files) {
      const dir = join(top, String(++count));
      mkdirSync(dir);
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(dir, name)), { recursive: true });
        writeFileSync(join(dir, name), text);
      }
      return dir;
    },
  };
}
