/** launchd opens the file for our output and lets it grow for ever: it is emptied at a start when it has grown too large. */
import { fstatSync, ftruncateSync } from 'node:fs';
import { limits } from '../../base/limits.ts';

export function cutOwnOutput(fd: number): void {
  try {
    const stat = fstatSync(fd);
    if (stat.isFile() && stat.size > limits.logs.fileMaxBytes) ftruncateSync(fd);
  } catch {
    // closed, or not to be cut: nothing to bound
  }
}
