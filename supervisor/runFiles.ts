/** `run/` may be cleared while the service runs: makes again what commands and the next supervisor need. */
import { existsSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { SocketServer } from '../ipc/serve.ts';
import { writeFileAtomic, writeJsonAtomic } from '../state/atomicFile.ts';
import { prepareHome, type Home } from '../state/home.ts';
import type { LockRecord } from '../state/lock.ts';
import type { Problems } from './problems.ts';

export interface RunFilesHost {
  home: Home;
  token: string;
  lock: LockRecord;
  log: Logger;
  problems: Problems;
}

/** At every pulse: the token, the lock, and the control socket; never in a home that was moved or removed. */
export async function mendRunFiles(server: SocketServer | undefined, { home, token, lock, log, problems }: RunFilesHost): Promise<void> {
  const { root, run } = home;
  if (!existsSync(root)) return;
  const restore = async (key: string, what: string, work: () => unknown): Promise<void> => {
    try {
      await work();
      problems.delete(key);
    } catch (thrown) {
      problems.set(
        key,
        `${what} is missing and cannot be made again: ${messageOf(thrown)}`,
        `check free space and permissions of ${run.dir}`,
      );
    }
  };
  await restore('token', run.token, () => {
    if (existsSync(run.token)) return;
    prepareHome(home);
    writeFileAtomic(run.token, `${token}\n`);
  });
  await restore('lock', run.supervisorLock, () => {
    if (!existsSync(run.supervisorLock)) writeJsonAtomic(run.supervisorLock, lock);
  });
  await restore('socket', 'the control socket', async () => {
    if (await server?.mend()) log.warn('the control socket was missing; it was made again');
  });
}
