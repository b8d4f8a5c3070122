/** A small file system of its own in a home: one that can be full, and one that cannot be written. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, truncateSync } from 'node:fs';
import { prepareHome } from '../../state/home.ts';
import type { TestHome } from './home.ts';

export const mounts = { skip: process.getuid?.() !== 0 && 'needs root to mount a tiny tmpfs' };

export interface SmallDisk extends Disposable {
  /** Of the store on it. */
  path: string;
  /** Leaves so many KiB free. */
  fill(freeKib?: number): void;
  empty(): void;
  readOnly(): void;
}

export function onTmpfs(home: TestHome, sizeKib: number): SmallDisk {
  const dir = `${home.root}/small`;
  mkdirSync(dir);
  return mounted(dir, sizeKib);
}

/** The home itself on a file system of its own; what was in it is hidden. */
export function homeOnTmpfs(home: TestHome, sizeKib: number): SmallDisk {
  const disk = mounted(home.root, sizeKib);
  prepareHome(home);
  return disk;
}

function mounted(dir: string, sizeKib: number): SmallDisk {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k,mode=700`, 'tmpfs', dir]);
  return {
    path: `${dir}/state.db`,
    fill(freeKib = 0) {
      execFileSync('sh', ['-c', `dd if=/dev/zero of=${dir}/filler bs=1k 2>/dev/null || true`]);
      truncateSync(`${dir}/filler`, statSync(`${dir}/filler`).size - freeKib * 1_024);
    },
    empty: () => execFileSync('rm', ['-f', `${dir}/filler`]),
    readOnly: () => execFileSync('mount', ['-o', 'remount,ro', dir]),
    [Symbol.dispose]: () => void execFileSync('umount', ['-l', dir]),
  };
}
