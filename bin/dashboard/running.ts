/** The running dashboard, for commands that change who may sign in. */
import { isAgentError } from '../../base/errors.ts';
import { restartSlot, status } from '../../ipc/contracts/supervisor.ts';
import type { Home } from '../../state/home.ts';
import { dialSupervisor } from '../connect.ts';
import { withProgress } from '../progress.ts';

/** Restarts it, so that it reads .env again; false when no service runs. */
export async function restartDashboard(home: Home, cause: string): Promise<boolean> {
  const link = await dialSupervisor(home).catch((thrown: unknown) => {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
    throw thrown;
  });
  if (!link) return false;
  using supervisor = link;
  const { workers } = await supervisor.call(status, {});
  const row = workers.find(({ slot }) => slot === 'dashboard');
  if (!row || row.desired !== 'up') return false;
  const receipt = await withProgress('restarting the dashboard', () =>
    supervisor.call(restartSlot, { slot: 'dashboard', drain: true, actor: 'cli', cause }),
  );
  return receipt.ok;
}

/** For people: when the change counts. */
export const whenItCounts = (restarted: boolean): string =>
  restarted ? 'The dashboard was restarted with it.' : 'It counts from the next start of the dashboard.';
