/**
 * Putting a listening socket at a path so that of several processes exactly one gets it. The socket is
 * bound under a temporary name and linked to its path, which fails when anything is there; what a dead
 * process left is moved away only by the one that holds the claim on that very file.
 */
import { chmodSync, linkSync, mkdirSync, renameSync, rmSync, statSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { AgentError, errnoOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';

/** A claim older than this was left by a process that died while it cleared. */
const CLAIM_STALE_MS = 10_000;
/** Rounds of "it is taken, its owner is dead, someone else was faster" before giving up. */
const ROUNDS_MAX = 100;

/** Which file stands at a path: inode and time of the bind; neither changes with its name. */
export interface SocketFile {
  inode: bigint;
  boundNs: bigint;
}

export function fileAt(path: string): SocketFile | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && { inode: stat.ino, boundNs: stat.mtimeNs };
}

export const isSameFile = (a: SocketFile | undefined, b: SocketFile | undefined): boolean =>
  a !== undefined && a.inode === b?.inode && a.boundNs === b.boundNs;

/**
 * Listens at `path`. `whenTaken` throws while a living process serves there; `replace` puts the new socket in
 * its place without a gap. Errors: its own, and HOME_UNUSABLE.
 */
export async function bindSocket(server: Server, path: string, whenTaken: 'replace' | (() => Promise<void>)): Promise<SocketFile> {
  const temporary = `${path}.${hexId(4)}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    let giveUp: (thrown: Error) => void = () => {};
    await new Promise<void>((resolve, reject) => {
      giveUp = reject;
      server.once('error', giveUp);
      server.listen(temporary, resolve);
    });
    // An accept that fails (no descriptor left) concerns that caller, not the process.
    server.off('error', giveUp).on('error', () => {});
    chmodSync(temporary, 0o600);
    if (whenTaken === 'replace') {
      renameSync(temporary, path);
      return fileAt(path)!;
    }
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (linked(temporary, path)) return fileAt(temporary)!;
      const there = fileAt(path);
      await whenTaken();
      if (there && !clearDead(path, there)) await sleep(limits.ipc.redialMinMs);
    }
    throw new Error('it is taken and left over and over');
  } catch (cause) {
    server.close();
    if (cause instanceof AgentError) throw cause;
    throw new AgentError('HOME_UNUSABLE', `cannot make the socket ${path} (${errnoOf(cause) ?? String(cause)})`, {
      cause,
      fix: `check that ${dirname(path)} exists, is writable and has room`,
    });
  } finally {
    removeIfThere(temporary);
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST') return false;
    throw thrown;
  }
}

/** Moves a dead socket away; false when someone else is at it. */
function clearDead(path: string, dead: SocketFile): boolean {
  const claim = `${path}.dead-${dead.inode}-${dead.boundNs}`;
  if (!claimed(claim)) return false;
  const aside = join(claim, 'socket');
  try {
    if (!isSameFile(fileAt(path), dead)) return true;
    renameSync(path, aside);
    // Belt and braces: had the claim been broken under us, this could be a living one.
    if (!isSameFile(fileAt(aside), dead)) linkSync(aside, path);
    return true;
  } finally {
    rmSync(claim, { recursive: true, force: true });
  }
}

function claimed(claim: string): boolean {
  try {
    mkdirSync(claim);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
    const stat = statSync(claim, { throwIfNoEntry: false });
    if (stat && Date.now() - stat.mtimeMs > CLAIM_STALE_MS) rmSync(claim, { recursive: true, force: true });
    return false;
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // it was never made, or the server has removed it
  }
}
