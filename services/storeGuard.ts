/**
 * Keeps a store while its worker runs: a copy each day, and a check at each heartbeat that the open file is still the
 * one at its path. A store that was deleted is written back from the open handle, and its worker restarts. Until that
 * has succeeded the handle is the last copy, so the worker keeps serving.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AgentError, messageOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { confirmedNow } from '../state/confirmedTime.ts';
import { copyOpenStore, copyPath } from '../state/db/copies.ts';
import type { Db } from '../state/db/open.ts';
import { DEFAULT_PROFILE } from '../state/home.ts';
import { putInPlace } from '../state/db/recover.ts';
import { stores, type StoreName } from '../state/db/stores.ts';
import type { CopyReply } from './storeCopyThread.ts';
import type { WorkerContext } from './worker.ts';

type Context = Pick<WorkerContext, 'home' | 'paths' | 'log' | 'onBeat' | 'reportProblem' | 'fail' | 'profile'>;

export function guardStore(context: Context, name: StoreName, db: Db): AsyncDisposable {
  const path = stores[name].path(context.home, context.paths);
  const key = `${context.profile}:${name}`;
  const opened = [path, `${path}-wal`].map((file) => ({ file, id: idOf(file) }));
  let nextCopyAt = performance.now() + limits.state.copyDelayMs;
  let copying: Worker | undefined;
  let restoring: Promise<AgentError | undefined> | undefined;

  const copy = (): void => {
    nextCopyAt = performance.now() + limits.state.copyRetryMs;
    try {
      copying = new Worker(threadFile(), { workerData: { dir: context.paths.dir, name, path, atMs: confirmedNow(context.home) }, env: {} });
    } catch (thrown) {
      return report({ code: 'INTERNAL', message: messageOf(thrown), fix: undefined });
    }
    copying.once('message', (reply: CopyReply) => report(reply));
    copying.once('error', (thrown) => report({ code: 'INTERNAL', message: messageOf(thrown), fix: undefined }));
    copying.once('exit', () => (copying = undefined));
    copying.unref();
  };
  const report = (reply: CopyReply): void => {
    if ('path' in reply) {
      context.log.info(`${path} was copied to ${reply.path}`);
      return context.reportProblem(`copy:${key}`, null);
    }
    const fix = reply.code === 'STORE_CORRUPT' ? `agent recover ${name}` : (reply.fix ?? 'the copy is tried again within the hour');
    context.reportProblem(`copy:${key}`, { what: `no copy of ${path} was made today: ${reply.message}`, fix });
  };

  // A deleted or renamed profile takes its stores along; its worker is stopped for that.
  const isExpected = () => context.profile !== DEFAULT_PROFILE && !existsSync(context.paths.soul);
  const lostFile = () => (isExpected() ? undefined : opened.find(({ file, id }) => id !== undefined && idOf(file) !== id)?.file);
  /** What the worker ends with; undefined = nothing was lost, or the store could not be written back yet. */
  const restore = (): Promise<AgentError | undefined> => {
    const file = lostFile();
    if (file === undefined) return Promise.resolve(undefined);
    const what = `${file} was deleted or replaced while its worker had it open`;
    restoring ??= writeBack(db, path, what)
      .catch((thrown: unknown) => {
        const cause = `${what}, and it could not be written back: ${messageOf(thrown)}`;
        context.reportProblem(`lost:${key}`, { what: cause, fix: `${FIX_LOST} ${dirname(path)}` });
        return undefined;
      })
      .finally(() => (restoring = undefined));
    return restoring;
  };

  const beat = context.onBeat(() => {
    if (lostFile() !== undefined) return void restore().then((end) => end && context.fail(end));
    if (!copying && performance.now() >= nextCopyAt && !existsSync(copyPath(context.paths.dir, name, confirmedNow(context.home)))) copy();
  });
  return {
    /** The last moment at which a lost store can be written back: the handle is closed next. */
    async [Symbol.asyncDispose]() {
      beat[Symbol.dispose]();
      void copying?.terminate();
      const end = await restore();
      if (end) context.log.error(end.message);
    },
  };
}

const FIX_LOST = 'do not restart the worker: it has the only copy and tries again every few seconds; check free space and permissions of';

function idOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}.${stat.ino}`;
}

/** The open handle still has every row. Answers what the worker ends with: only a new process can open the new file. */
async function writeBack(db: Db, path: string, what: string): Promise<AgentError> {
  if (!existsSync(dirname(path))) throw new AgentError('HOME_UNUSABLE', `${dirname(path)} is gone`);
  const work = `${path}.${hexId(8)}.tmp`;
  const wasReplaced = existsSync(path);
  try {
    await copyOpenStore(db, work);
    // From here to the end of the process nothing else runs: a row stored now would be lost.
    const kept = putInPlace(work, path, 'replaced');
    const beside = wasReplaced ? `; the file found there is kept as ${kept}` : '';
    return new AgentError('STORE_REPLACED', `${what}; it was written back with every row${beside}`, {
      fix: 'stop a worker before you move or replace its database',
    });
  } finally {
    rmSync(work, { force: true });
  }
}

const threadFile = (): string =>
  import.meta.filename.endsWith('.ts')
    ? join(import.meta.dirname, 'storeCopyThread.ts')
    : join(dirname(process.argv[1]!), '..', 'storeCopyThread.js');
