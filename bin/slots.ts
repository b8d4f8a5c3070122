/** Slots as a user names them, and the three commands that act on one. */
import { AgentError, isAgentError, messageOf } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { formatDuration } from '../base/time.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import { restartSlot, startSlot, status as statusMethod, stopSlot } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import { manifest } from '../services/manifest.ts';
import { listProfiles, openHome, type Home } from '../state/home.ts';
import type { Input } from './command.ts';
import { withSupervisor, withWorker } from './connect.ts';
import { withProgress } from './progress.ts';
import { restartSupervisor } from './restartSupervisor.ts';
import { readSnapshot } from './snapshot.ts';
import { unknownName } from './suggest.ts';
import { print, printError, printJson } from './terminal.ts';

export type SlotAction = Receipt['action'];

const methods = { start: startSlot, stop: stopSlot, restart: restartSlot };
const doing = { start: 'starting', stop: 'stopping', restart: 'restarting' };

/** Those given, or every running one, one after another. All are tried; the exit code is that of the worst. */
export async function restartSlots(input: Input): Promise<number> {
  const args = input.args.length === 1 && input.args[0] === 'all' ? [] : input.args;
  const [only, ...more] = args;
  if (only === 'supervisor' && more.length === 0) return restartSupervisor(input);
  if (only !== undefined && more.length === 0) return actOnSlot('restart', input, only);
  const home = openHome();
  const slots = only === undefined ? await runningSlots(home) : args.map((given) => slotOf(given, input.profile));
  const unknown = slots.find((slot) => !knownSlots(home).includes(slot));
  if (unknown !== undefined) throw unknownName('slot', unknown, knownSlots(home), 'UNKNOWN_SLOT');
  const receipts: Receipt[] = [];
  for (const slot of new Set(slots)) {
    const receipt = await act(home, 'restart', slot, input).catch((thrown: unknown) => failedReceipt('restart', slot, thrown));
    receipts.push(receipt);
    if (!input.json && receipt.ok) print(receiptSentence(receipt));
    else if (!input.json) printError(failure(receipt), false);
  }
  const failed = receipts.filter(({ ok }) => !ok);
  if (input.json) printJson({ receipts });
  if (input.json && failed.length) printError(new AgentError('START_FAILED', failed.map((one) => failure(one).message).join('; ')), true);
  return failed.length ? exitCodes.failed : exitCodes.ok;
}

/** The command itself failed: the slots after it are tried all the same. */
function failedReceipt(action: SlotAction, slot: string, thrown: unknown): Receipt {
  const unknown = { old_pid: null, new_pid: null, ready_ms: null, downtime_ms: null, drained_ms: null, interrupted_turns: 0 };
  const at = new Date().toISOString();
  return { slot, action, cause: `agent ${action}`, actor: 'cli', ok: false, error: messageOf(thrown), at, ...unknown };
}

/** Errors: NO_SUPERVISOR. */
async function runningSlots(home: Home): Promise<string[]> {
  const { workers } = await withSupervisor(home, (link) => link.call(statusMethod, {}));
  return workers.flatMap(({ slot, pid }) => (pid === null ? [] : [slot]));
}

/** Does it, waits for the result, prints the receipt. Answers the exit code. */
export async function actOnSlot(action: SlotAction, input: Input, given: string): Promise<number> {
  const home = openHome();
  const receipt = await act(home, action, slotOf(given, input.profile), input);
  if (input.json) printJson(receipt);
  else if (receipt.ok) print(receiptSentence(receipt));
  if (!receipt.ok) printError(failure(receipt), input.json);
  return receipt.ok ? exitCodes.ok : exitCodes.failed;
}

function act(home: Home, action: SlotAction, slot: string, input: Input): Promise<Receipt> {
  const drain = input.options.drain !== false;
  return withProgress(`${doing[action]} ${slot}`, () =>
    withSupervisor(home, (link) => link.call(methods[action], { slot, drain, actor: 'cli', cause: `agent ${action}` })).catch(
      (thrown: unknown) => {
        throw isAgentError(thrown) && thrown.code === 'UNKNOWN_SLOT' ? unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT') : thrown;
      },
    ),
  );
}

/** Asks the agent worker of the profile, which has to run. Errors: NO_SUPERVISOR, START_FAILED, SLOT_PARKED, and what `use` throws. */
export const askAgent = <T>(input: Input, use: (link: Link) => Promise<T>): Promise<T> =>
  withWorker(openHome(), slotOf('agent', input.profile), use);

/** `agent`, or `agent@work` when a profile is chosen and the slot exists per profile. */
export function slotOf(given: string, profile: string): string {
  const perProfile = manifest.find(({ slot }) => slot === given)?.perProfile ?? false;
  return profile === 'default' || given.includes('@') || !perProfile ? given : `${given}@${profile}`;
}

/** Slots of this home: those the service knows, else those that every home has. */
export function knownSlots(home: Home): string[] {
  const running = readSnapshot(home)?.status.workers.map(({ slot }) => slot);
  if (running?.length) return running;
  const others = listProfiles(home).filter((name) => name !== 'default');
  return manifest.flatMap(({ slot, perProfile }) => [slot, ...(perProfile ? others.map((name) => `${slot}@${name}`) : [])]);
}

/** What happened, in one sentence. */
export function receiptSentence({ slot, action, old_pid, new_pid, ready_ms, downtime_ms, drained_ms, interrupted_turns }: Receipt): string {
  const facts = [
    drained_ms === null ? '' : `drained in ${formatDuration(drained_ms)}`,
    ready_ms === null ? '' : `ready in ${formatDuration(ready_ms)}`,
    downtime_ms === null ? '' : `away for ${formatDuration(downtime_ms)}`,
    interrupted_turns > 0 ? `${interrupted_turns} turn${interrupted_turns === 1 ? '' : 's'} interrupted` : '',
  ].filter(Boolean);
  const tail = facts.length ? `: ${facts.join(', ')}` : '';
  if (action === 'stop') return old_pid === null ? `${slot} was not running.` : `${slot} stopped (process ${old_pid})${tail}.`;
  if (old_pid !== null && old_pid === new_pid) return `${slot} already runs (process ${new_pid}).`;
  if (action === 'start' || old_pid === null) return `${slot} is ready (process ${new_pid})${tail}.`;
  return `${slot} restarted (process ${old_pid} → ${new_pid})${tail}.`;
}

function failure({ slot, action, error }: Receipt): AgentError {
  return new AgentError(action === 'stop' ? 'STOP_FAILED' : 'START_FAILED', `${slot} did not ${action}${error ? `: ${error}` : ''}`, {
    fix: `\`agent why ${slot}\` and \`agent logs\` say more`,
  });
}
