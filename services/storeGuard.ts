/**
 * What keeps a store while its worker runs: a copy each day, and a check at each heartbeat that the file that is open
 * is still the one at its path. A store that was deleted is written back from the open handle, and its worker restarts.
 */
import { chmodSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { syncFile } from '../state/atomicFile.ts';
import { confirmedNow } from '../state/confirmedTime.ts';
import { copyPath } from '../state/db/copies.ts';
import type { Db } from '../state/db/open.ts';
import { DEFAULT_PROFILE } from '../state/home.ts';
import { asideName } from '../state/db/recover.ts';
import { stores, type StoreName } from '../state/db/stores.ts';
import type { CopyReply } from './storeCopyThread.ts';
import type { WorkerContext } from './worker.ts';

type Context = Pick<WorkerContext, 'home' | 'paths' | 'log' | 'onBeat' | 'reportProblem' | 'fail' | 'profile'>;

export function guardStore(context: Context, name: StoreName, db: Db): Disposable {
  const path = stores[name].path(context.home, context.paths);
  const key = `${context.profile}:${name}`;
  const opened = [path, `${path}-wal`].map((file) => ({ file, id: idOf(file) }));
  let nextCopyAt = performance.now() + limits.state.copyDelayMs;
  let copying: Worker | undefined;

  const copy = (): void => {
    nextCopyAt = performance.now() + limits.state.copyRetryMs;
    copying = new Worker(threadFile(), { workerData: { dir: context.paths.dir, name, path, atMs: confirmedNow(context.home) }, env: {} });
    copying.once('message', (reply: CopyReply) => told(reply));
    copying.once('error', (thrown) => told({ code: 'INTERNAL', message: messageOf(thrown), fix: undefined }));
    copying.once('exit', () => (copying = undefined));
    copying.unref();
  };
  const told = (reply: CopyReply): void => {
    if ('path' in reply) {
      context.log.info(`${path} was copied to ${reply.path}`);
      return context.reportProblem(`copy:${key}`, null);
    }
    const fix = reply.code === 'STORE_CORRUPT' ? `agent recover ${name}` : (reply.fix ?? 'the copy is tried again within the hour');
    context.reportProblem(`copy:${key}`, { what: `no copy of ${path} was made today: ${reply.message}`, fix });
  };

  const beat = context.onBeat(() => {
    // A profile that was deleted or renamed takes its stores along; its worker is stopped for that.
    if (context.profile !== DEFAULT_PROFILE && !existsSync(context.paths.soul)) return;
    const lost = opened.find(({ file, id }) => id !== undefined && idOf(file) !== id);
    if (lost) return context.fail(writeBack(db, path, lost.file));
    if (!copying && performance.now() >= nextCopyAt && !existsSync(copyPath(context.paths.dir, name, confirmedNow(context.home)))) copy();
  });
  return {
    [Symbol.dispose]() {
      beat[Symbol.dispose]();
      void copying?.terminate();
    },
  };
}

function idOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}.${stat.ino}`;
}

/** The open handle still has every row. Answers what the worker ends with: only a new process can open the new file. */
function writeBack(db: Db, path: string, lost: string): AgentError {
  const what = `${lost} was deleted or replaced while its worker had it open`;
  const work = `${path}.restored.tmp`;
  if (!existsSync(dirname(path)))
    return new AgentError('HOME_UNUSABLE', `${what}, and ${dirname(path)} is gone`, {
      fix: 'put the folder back; what the worker had accepted since its last copy is lost',
    });
  try {
    rmSync(work, { force: true });
    db.prepare('VACUUM INTO ?').run(work);
    chmodSync(work, 0o600);
    syncFile(work);
    const kept = existsSync(path) ? asideName(path, 'replaced') : undefined;
    if (kept !== undefined) renameSync(path, kept);
    for (const suffix of ['-wal', '-shm'])
      if (existsSync(path + suffix)) renameSync(path + suffix, (kept ?? asideName(path, 'replaced')) + suffix);
    renameSync(work, path);
    const beside = kept === undefined ? '' : `; the file found there is kept as ${kept}`;
    return new AgentError('STORE_REPLACED', `${what}; it was written back with every row${beside}`, {
      fix: 'stop a worker before you move or replace its database',
    });
  } catch (thrown) {
    rmSync(work, { force: true });
    return new AgentError('HOME_UNUSABLE', `${what}, and it could not be written back: ${messageOf(thrown)}`, {
      cause: thrown,
      fix: 'check free space and permissions of the home; the daily copies are in backups/stores',
    });
  }
}

const threadFile = (): string =>
  import.meta.filename.endsWith('.ts')
    ? join(import.meta.dirname, 'storeCopyThread.ts')
    : join(dirname(process.argv[1]!), '..', 'storeCopyThread.js');
