/** `agent down`: drains and stops everything, and waits for it, also for workers whose supervisor is gone. */
import { isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { stop } from '../../ipc/contracts/peer.ts';
import { down, type Receipt } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import { openHome, readToken, type Home } from '../../state/home.ts';
import { isSameProcess } from '../../state/processIdentity.ts';
import { drainOption, jsonOption, type Command, type Input } from '../command.ts';
import { withSupervisor } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { receiptSentence } from '../slots.ts';
import { isAlive, readSnapshot } from '../snapshot.ts';
import { print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'down',
  summary: 'Stop everything, after running work has drained',
  details: 'Answers when every process is proved gone. The next `agent up` starts what ran before; what was stopped by hand stays stopped.',
  options: [drainOption, jsonOption],
  examples: [
    { line: 'agent down', does: 'finish running work, then stop all of it' },
    { line: 'agent down --no-drain', does: 'at once' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const drain = input.options.drain !== false;
  const receipts = await withProgress('stopping the service', () => stopAll(home, drain));
  if (!receipts) {
    const stopped = await withProgress('stopping workers without a supervisor', () => stopOrphans(home));
    if (input.json) printJson({ running: false, receipts: [], stopped });
    else
      print(
        stopped.length
          ? `No supervisor ran; stopped the workers it had left behind: ${stopped.join(', ')}.`
          : `Nothing runs on ${home.root}.`,
      );
    return exitCodes.ok;
  }
  const failed = receipts.filter(({ ok }) => !ok);
  if (input.json) printJson({ running: failed.length > 0, receipts });
  else for (const receipt of receipts.filter(({ ok, old_pid }) => ok && old_pid !== null)) print(receiptSentence(receipt));
  for (const { slot, error } of failed) printError(new Error(`${slot} did not stop: ${error ?? 'unknown cause'}`), input.json);
  if (!input.json && !failed.length) print('The service is down.');
  return failed.length ? exitCodes.failed : exitCodes.ok;
}

/** Undefined when no supervisor runs. Waits for the supervisor itself to be gone too. */
async function stopAll(home: Home, drain: boolean): Promise<Receipt[] | undefined> {
  const supervisor = readSnapshot(home)?.status.supervisor;
  try {
    const { receipts } = await withSupervisor(home, (link) => link.call(down, { actor: 'cli', drain }));
    if (supervisor) await gone(() => isSameProcess(supervisor));
    return receipts;
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
    throw thrown;
  }
}

/** Workers outlive a killed supervisor (house, Processes): each is asked over its own socket. */
async function stopOrphans(home: Home): Promise<string[]> {
  const rows = readSnapshot(home)?.status.workers.filter(({ pid }) => isAlive(pid)) ?? [];
  const stopped = await Promise.all(
    rows.map(async ({ slot, pid }) => {
      try {
        using link = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli' });
        if (link.peer.pid !== pid) return undefined;
        await link.call(stop, {});
      } catch {
        return undefined;
      }
      return (await gone(() => isAlive(pid))) ? slot : undefined;
    }),
  );
  return stopped.filter((slot) => slot !== undefined);
}

/** Whether it is, within the time a drain and a SIGTERM may take. */
async function gone(alive: () => boolean): Promise<boolean> {
  const deadlineMs = performance.now() + limits.worker.drainMs + limits.worker.termMs;
  while (alive()) {
    if (performance.now() >= deadlineMs) return false;
    await sleep(10);
  }
  return true;
}
