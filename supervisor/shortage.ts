/**
 * What a start lacks that can come back without a person: the kinds, how one is recognised in an error, and
 * whether it still lasts. A shortage never parks a slot (contract §4): its cause is checked until it is gone.
 */
import { closeSync, constants, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { AgentError, type ErrorCode } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Shortage, ShortageKind } from '../ipc/contracts/supervisor.ts';

/** Error codes of our own workers that name a shortage. */
export const shortageOfCode: Partial<Record<ErrorCode, ShortageKind>> = { DISK_FULL: 'space', STORE_BUSY: 'store', PORT_IN_USE: 'port' };

const KIND_OF_ERRNO: Record<string, ShortageKind> = {
  EAGAIN: 'processes',
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
  ENOMEM: 'memory',
  ENOSPC: 'space',
  EDQUOT: 'space',
  ENOENT: 'program',
};

/** Of a process that could not be started. */
export const shortageOfErrno = (errno: string | undefined): ShortageKind | undefined => KIND_OF_ERRNO[errno ?? ''];

/**
 * Does it still last? Answered where that can be seen without a start: processes, descriptors and stores are
 * checked by the start itself.
 */
export async function lasts({ kind, at }: Shortage, dir: string): Promise<boolean> {
  switch (kind) {
    case 'space':
      return !hasRoom(dir);
    case 'memory':
      return freemem() < totalmem() * limits.supervisor.shortMemoryShare;
    case 'port':
      return isTaken(at);
    case 'program':
      return at !== undefined && !existsSync(at);
    default:
      return false;
  }
}

/** Written for certain, not computed: quotas and inodes count too. */
function hasRoom(dir: string): boolean {
  const probe = join(dir, `.room.${process.pid}`);
  try {
    const fd = openSync(probe, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600);
    try {
      return writeSync(fd, Buffer.alloc(limits.supervisor.roomBytes)) === limits.supervisor.roomBytes;
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Before a process that serves is replaced. Errors: DISK_FULL. */
export function requireRoom(dir: string, consequence: string): void {
  if (hasRoom(dir)) return;
  throw new AgentError('DISK_FULL', `no room in ${dir} for a restart; ${consequence}`, { fix: 'free some disk space, then repeat' });
}

const PORT_MAX = 65_535;

/** True while another process has the address. */
async function isTaken(address: string | undefined): Promise<boolean> {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address ?? '') ?? [];
  // What a program prints beside its error may look like an address and be none.
  if (!port || Number(port) > PORT_MAX) return false;
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (thrown: NodeJS.ErrnoException) => resolve(thrown.code === 'EADDRINUSE'));
    server.listen({ port: Number(port), exclusive: true, ...(host ? { host } : {}) }, () => server.close(() => resolve(false)));
  });
}
