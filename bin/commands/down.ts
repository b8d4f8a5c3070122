/** `agent down`: drains and stops everything, and waits for it, also for workers whose supervisor is gone. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { down, type Receipt } from '../../ipc/contracts/supervisor.ts';
import { openHome, type Home } from '../../state/home.ts';
import { isSameProcess } from '../../state/processIdentity.ts';
import { drainOption, jsonOption, type Command, type Input } from '../command.ts';
import { dialSupervisor } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { receiptSentence } from '../slots.ts';
import { readSnapshot } from '../snapshot.ts';
import { stopOrphans } from '../stopOrphans.ts';
import { print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'down',
  summary: 'Stop everything, after running work has drained',
  details: 'Answers when every process is proved gone. The next `agent up` starts what ran before; what was stopped by hand stays stopped.',
  options: [drainOption, jsonOption],
  examples: [
    { line: 'agent down', does: 'finish running work, then stop all of it' },
    { line: 'agent down --no-drain', does: 'at once; also while another `agent down` waits for running work' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const drain = input.options.drain !== false;
  const receipts = await withProgress('stopping the service', () => stopAll(home, drain));
  if (!receipts) {
    const stopped = await withProgress('stopping workers without a supervisor', () => stopOrphans(home, { drain }));
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
  if (failed.length) printError(stopFailed(failed), input.json);
  if (!input.json && !failed.length) print('The service is down.');
  return failed.length ? exitCodes.failed : exitCodes.ok;
}

function stopFailed(failed: Receipt[]): AgentError {
  const what = failed.map(({ slot, error }) => `${slot} did not stop${error ? `: ${error}` : ''}`).join('; ');
  return new AgentError('STOP_FAILED', what, { fix: '`agent logs supervisor` says what survived; `agent doctor` looks for it' });
}

/** Undefined when no supervisor runs. Waits for the supervisor itself to be gone too. */
async function stopAll(home: Home, drain: boolean): Promise<Receipt[] | undefined> {
  const snapshot = readSnapshot(home);
  // One that lives makes its socket again when somebody has cleaned up.
  const startingMs = snapshot?.live ? limits.supervisor.mendedMs : 0;
  try {
    using link = await dialSupervisor(home, { startingMs });
    const { receipts } = await link.call(down, { actor: 'cli', drain });
    if (snapshot) await gone(() => isSameProcess(snapshot.status.supervisor));
    return receipts;
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
    throw thrown;
  }
}

/** Within the time a drain and a SIGTERM may take. */
async function gone(alive: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + limits.worker.drainMs + limits.worker.termMs;
  while (alive() && performance.now() < deadlineMs) await sleep(10);
}
