/** The Node of this process as a program to start, also after a package manager replaced or removed its file. */
import { statSync, type BigIntStats } from 'node:fs';

/** What a file is, whatever its name leads to later. */
export type FileIdentity = Pick<BigIntStats, 'dev' | 'ino'>;

/** Undefined where nothing has that name. */
export const identityOfFile = (path: string): FileIdentity | undefined => statSync(path, { bigint: true, throwIfNoEntry: false });

/** `expected`: what the file at `process.execPath` has to be; default: what runs this process. */
export function nodeProgram(expected: FileIdentity | undefined = ownNode()): string {
  if (expected === undefined) return process.execPath;
  const found = identityOfFile(process.execPath);
  if (found?.ino === expected.ino && found.dev === expected.dev) return process.execPath;
  // Not /proc/self: the program that is started in between may be another one.
  return `/proc/${process.pid}/exe`;
}

/** Undefined where the kernel does not show it: there Node does not come with the package. */
const ownNode = (): FileIdentity | undefined => (process.platform === 'linux' ? identityOfFile('/proc/self/exe') : undefined);
