/**
 * Files that a killed process left in the middle of a write: temporary siblings, records of locks, sockets. Removed once
 * after a start of the supervisor, each only when its owner is proved gone or the file is far older than any write.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { errnoOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { TEMP_NAME } from '../state/atomicFile.ts';
import { listProfiles, type Home, type ProfilePaths } from '../state/home.ts';
import { lockHolder, readLock } from '../state/lock.ts';

/** As `acquireLock` names the record that it links into place, also while a dead lock is cleared. */
const LOCK_RECORD = /\.lock(?:\.clearing)*(?:\.[0-9a-f]{16}|\.clearing)$/;

/** The pipe of a slot and the journal of what was read from it. */
const OUTPUT = /\.out(?:\.journal)?$/;

/** A slot that is no longer configured leaves its socket, its pipe and the journal behind. */
export function removeSlotFiles(home: Home, slot: string): void {
  const output = join(home.run.dir, `${slot}.out`);
  for (const path of [home.run.socket(slot), output, `${output}.journal`]) rmSync(path, { force: true });
}

/** Pipes and journals of programs that are none of `slots` are removed too. Answers what was removed. */
export async function sweepLeftovers(home: Home, slots: ReadonlySet<string>, nowMs = Date.now()): Promise<string[]> {
  const profiles = listProfiles(home).map((name) => home.profile(name));
  const folders = new Set([home.run.dir, ...profiles.flatMap(foldersOf)]);
  const files = [...folders].flatMap((folder) => entriesOf(folder).map((name) => join(folder, name)));
  const dead = files.filter((path) => (TEMP_NAME.test(path) && isOld(path, nowMs)) || (LOCK_RECORD.test(path) && isDead(path, nowMs)));
  const sockets = files.filter((path) => path.endsWith('.sock') && statSync(path, { throwIfNoEntry: false })?.isSocket());
  const removedSockets: string[] = [];
  for (const path of sockets) if (await isAbandoned(path)) removedSockets.push(path);
  const outputs = entriesOf(home.run.dir).filter((name) => OUTPUT.test(name) && !slots.has(name.replace(OUTPUT, '')));
  return [...[...dead, ...outputs.map((name) => join(home.run.dir, name))].filter(removed), ...removedSockets];
}

/** The path of the copies is written out: the module that names it loads SQLite. */
function foldersOf({ dir, cronDir }: ProfilePaths): string[] {
  const output = join(cronDir, 'output');
  return [dir, cronDir, join(dir, 'backups', 'stores'), ...entriesOf(output).map((job) => join(output, job))];
}

function isOld(path: string, nowMs: number): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && nowMs - stat.mtimeMs > limits.state.leftoverMs;
}

/** A record that cannot be read was cut off by the kill. */
const isDead = (path: string, nowMs: number): boolean => (readLock(path) ? lockHolder(path) === undefined : isOld(path, nowMs));

/** Removes a socket on which no process listens. A worker that starts meanwhile puts its own in its place. */
async function isAbandoned(path: string): Promise<boolean> {
  const inode = () => statSync(path, { throwIfNoEntry: false })?.ino;
  const before = inode();
  return (await refuses(path)) && inode() === before && removed(path);
}

/** The kernel proves that no process listens. */
function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => (socket.destroy(), resolve(false)));
    socket.once('error', (thrown) => resolve(errnoOf(thrown) === 'ECONNREFUSED'));
  });
}

function removed(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
