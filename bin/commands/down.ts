/** `agent down`: drains and stops everything, and waits for it, whatever state the supervisor is in. */
import { AgentError, isAgentError, type ErrorCode } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { ping } from '../../ipc/contracts/peer.ts';
import { down, type Receipt } from '../../ipc/contracts/supervisor.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome, type Home } from '../../state/home.ts';
import { isStopped, signalProcess } from '../../state/processIdentity.ts';
import { supervisorsOf, taggedProcesses } from '../../state/serviceProcesses.ts';
import { drainOption, jsonOption, type Command, type Input } from '../command.ts';
import { dialSupervisor, notResponding } from '../connect.ts';
import { endSupervisors, type Patience } from '../endSupervisors.ts';
import { withProgress } from '../progress.ts';
import { receiptSentence } from '../slots.ts';
import { readSnapshot } from '../snapshot.ts';
import { stopOrphans } from '../stopOrphans.ts';
import { print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'down',
  summary: 'Stop everything, after running work has drained',
  details:
    'Returns when every process is proved gone; a supervisor that does not respond is killed. The next `agent up` starts what ran before; what was stopped by hand stays stopped.',
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
  // While a supervisor lives it shows which process tags are its own.
  const look = taggedProcesses(home, supervisorsOf(home));
  const { receipts, signalled } = await withProgress('stopping the service', () => stopService(home, drain));
  const stopped = await withProgress('stopping workers without a supervisor', () => stopOrphans(home, { drain, look }));
  const failed = (receipts ?? []).filter(({ ok, slot }) => !ok && !stopped.includes(slot));
  if (input.json) printJson({ running: failed.length > 0, receipts: receipts ?? [], stopped, signalled });
  else for (const line of outcome(home, { receipts, signalled, stopped })) print(line);
  if (failed.length) printError(stopFailed(failed), input.json);
  else if (!input.json && (receipts || signalled.length)) print('The service is down.');
  return failed.length ? exitCodes.failed : exitCodes.ok;
}

interface Ended {
  /** Undefined when no supervisor answered. */
  receipts: Receipt[] | undefined;
  /** Supervisors that needed a signal. */
  signalled: number[];
}

function outcome(home: Home, { receipts, signalled, stopped }: Ended & { stopped: string[] }): string[] {
  const nothing = !receipts && signalled.length === 0 && stopped.length === 0;
  return [
    ...(nothing ? [`Nothing runs on ${home.root}.`] : []),
    ...(receipts ?? []).filter(({ ok, old_pid }) => ok && old_pid !== null).map(receiptSentence),
    ...signalled.map((pid) => `The supervisor (process ${pid}) did not stop when asked; it was ended by a signal.`),
    ...(stopped.length === 0
      ? []
      : [`${signalled.length ? 'Stopped' : 'No supervisor ran; stopped'} the workers it had left behind: ${stopped.join(', ')}.`]),
  ];
}

function stopFailed(failed: Receipt[]): AgentError {
  const what = failed.map(({ slot, error }) => `${slot} did not stop${error ? `: ${error}` : ''}`).join('; ');
  return new AgentError('STOP_FAILED', what, { fix: '`agent logs supervisor` says what survived; `agent doctor` looks for it' });
}

/** Asks the supervisor; one that does not answer, or does not take the request, is ended by proof of its identity. */
async function stopService(home: Home, drain: boolean): Promise<Ended> {
  const signalled: number[] = [];
  let receipts: Receipt[] | undefined;
  for (let round = 1; ; round++) {
    const supervisors = supervisorsOf(home);
    for (const one of supervisors.filter(({ pid }) => isStopped(pid))) signalProcess(one, 'SIGCONT');
    const { patience, ...answer } = await askDown(home, { drain, isThere: supervisors.length > 0 });
    receipts = answer.receipts ?? receipts;
    const ended = await endSupervisors(home, patience);
    signalled.push(...ended);
    // A service manager starts again what was ended by a signal; what it is asked by a call stays down.
    if (ended.length === 0 || round === ROUNDS_MAX || !isManaged(home)) return { receipts, signalled };
    await startedAgain(home);
  }
}

const ROUNDS_MAX = 3;

const isManaged = (home: Home): boolean => (readSnapshot(home)?.status.supervisor.managed_by ?? 'none') !== 'none';

/** Returns when the manager has started it, or does not. */
async function startedAgain(home: Home): Promise<void> {
  try {
    (await dialSupervisor(home, { startingMs: limits.supervisor.mendedMs })).destroy();
  } catch {
    // it stays down
  }
}

async function askDown(
  home: Home,
  { drain, isThere }: { drain: boolean; isThere: boolean },
): Promise<{ receipts?: Receipt[]; patience: Patience }> {
  const { drainMs, termMs } = limits.worker;
  const asked: Patience = { quietMs: drainMs + termMs, termMs };
  try {
    // One that lives makes its socket again when `run/` was cleared.
    using link = await dialSupervisor(home, { startingMs: isThere ? limits.supervisor.mendedMs : 0 });
    return { receipts: await answerOf(home, link, drain), patience: asked };
  } catch (thrown) {
    if (!isAgentError(thrown)) throw thrown;
    // It ended before its answer arrived, or is about to.
    if (thrown.code === 'PEER_GONE') return { patience: asked };
    const patienceMs: Partial<Record<ErrorCode, number>> = {
      NOT_RESPONDING: termMs,
      // Perhaps it only has no socket: SIGTERM drains as the call does.
      NO_SUPERVISOR: drain ? drainMs + termMs : termMs,
      // It responds, but `run/token` is not its own.
      BAD_TOKEN: drain ? limits.supervisor.endMs : termMs,
      PROTOCOL_MISMATCH: drain ? limits.supervisor.endMs : termMs,
    };
    const forSignal = patienceMs[thrown.code];
    if (forSignal === undefined) throw thrown;
    return { patience: { quietMs: 0, termMs: forSignal } };
  }
}

/** However long the drain takes, as long as the supervisor responds meanwhile. Errors: NOT_RESPONDING, PEER_GONE. */
async function answerOf(home: Home, link: Link, drain: boolean): Promise<Receipt[]> {
  const answer = link.call(down, { actor: 'cli', drain });
  answer.catch(() => {});
  for (;;) {
    const receipts = await Promise.race([answer.then((found) => found.receipts), sleep(limits.worker.heartbeatMs)]);
    if (receipts) return receipts;
    await link.call(ping, {}, { timeoutMs: limits.ipc.helloMs }).catch((thrown: unknown) => {
      throw isAgentError(thrown) && thrown.code === 'TIMEOUT' ? notResponding(home, thrown) : thrown;
    });
  }
}
