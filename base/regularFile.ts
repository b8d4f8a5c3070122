/**
 * Opens and reads files that hold stored bytes, and nothing else. A named pipe or a device would block the reader for
 * ever, or never end. Files of the kernel (`/proc`, `/sys` and their like) call themselves regular, hold the environment
 * and memory of processes, and may block a read, too.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statfsSync, statSync, type Stats } from 'node:fs';
import { errnoOf, messageOf } from './errors.ts';

export type PlainFile = { kind: 'file'; fd: number; stat: Stats } | { kind: 'directory' | 'special' | 'kernel' };

/** Magic numbers of statfs(2): proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, configfs, pstore, bpf, efivarfs, selinuxfs, binfmt_misc, mqueue, devpts. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0x62656570, 0x6165676c, 0xcafe4a11, 0xde5e81e4, 0xf97cff8c,
  0x42494e4d, 0x19800202, 0x1cd1,
]);

/** The caller closes `fd`. Errors: those of the system. */
export function openPlainFile(path: string): PlainFile {
  // Opening a device may already do something, so it is looked at first.
  const other = notPlain(statSync(path));
  if (other) return { kind: other };
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    const kind = notPlain(stat) ?? (isOfKernel(fd) ? 'kernel' : 'file');
    if (kind === 'file') return { kind, fd, stat };
    closeSync(fd);
    return { kind };
  } catch (thrown) {
    closeSync(fd);
    throw thrown;
  }
}

/** Errors: as `readFileSync`, and ENOTREG for what is neither a regular file nor a link to one (EISDIR for a directory). */
export function readRegularFile(path: string): Buffer {
  const file = openPlainFile(path);
  if (file.kind !== 'file') {
    const code = file.kind === 'directory' ? 'EISDIR' : 'ENOTREG';
    throw Object.assign(new Error(`${code}: ${path} is ${kindWords[file.kind]}`), { code });
  }
  try {
    return readFileSync(file.fd);
  } finally {
    closeSync(file.fd);
  }
}

export const readRegularText = (path: string): string => readRegularFile(path).toString('utf8');

/** Why a file could not be read, in a few words. */
export const unreadableWhy = (thrown: unknown): string =>
  errnoOf(thrown) === 'ENOTREG' ? kindWords.special : (errnoOf(thrown) ?? messageOf(thrown));

const notPlain = (stat: Stats): 'directory' | 'special' | undefined =>
  stat.isFile() ? undefined : stat.isDirectory() ? 'directory' : 'special';

/** Asked of the open file: its name may lead elsewhere by now. */
function isOfKernel(fd: number): boolean {
  return process.platform === 'linux' && KERNEL_FILE_SYSTEMS.has(statfsSync(`/proc/self/fd/${fd}`).type);
}

/** For messages. */
export const kindWords: Readonly<Record<Exclude<PlainFile['kind'], 'file'>, string>> = {
  directory: 'a directory',
  special: 'not a regular file',
  kernel: 'a file of the kernel, not of a disk',
};
