/** `agent why <slot>`: the last abnormal end in a sentence, then the evidence. Reads files alone: works with everything down. */
import { AgentError } from '../../base/errors.ts';
import { explainSlot, readBoxes, type Why } from '../../ipc/blackBoxes.ts';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { readReceipts } from '../../ipc/receiptFile.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, slotArgument, type Command, type Input } from '../command.ts';
import { noSupervisor } from '../connect.ts';
import { knownSlots, receiptSentence, slotOf } from '../slots.ts';
import { readSnapshot } from '../snapshot.ts';
import { unknownName } from '../suggest.ts';
import { note, print, printJson } from '../terminal.ts';
import { whyText } from '../whyView.ts';

export const command: Command = {
  name: 'why',
  summary: 'Say why a slot ended or does not start',
  details:
    'First a sentence, with the fix where it is known; then how often this happened, the last lines, resources before the end, what it was doing, and where a hung one stood. Ten ends are kept per slot, in crash/ of the home.',
  arguments: [slotArgument],
  options: [
    jsonOption,
    { flags: '--last <n>', summary: 'list the last n ends as well (default 1); of receipts the last n (default 20)' },
    { flags: '--receipts', summary: 'instead: who started, stopped or restarted it, and what came of it' },
  ],
  examples: [
    { line: 'agent why gateway', does: 'one sentence, the fix, then the evidence' },
    { line: 'agent why agent --last 10', does: 'every end on record, to see whether they are the same' },
    { line: 'agent why gateway --receipts', does: 'each command on it: when, by whom, why, how long it was away' },
    { line: 'agent why mcp --json', does: 'for programs' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const slot = slotOf(input.args[0]!, input.profile);
  if (hasFlag(input, 'receipts')) return showReceipts(home, slot, input);
  const why = explain(home, slot, lastOf(input, 1));
  if (input.json) printJson(why);
  else print(whyText(why));
  return 0;
}

/** From their file, newest first: also with everything down. Errors: UNKNOWN_SLOT. */
function showReceipts(home: Home, slot: string, input: Input): number {
  if (!knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
  const receipts = readReceipts(home.run.receipts)
    .filter((receipt) => receipt.slot === slot)
    .slice(-lastOf(input, 20))
    .toReversed();
  if (input.json) printJson({ slot, receipts });
  else if (receipts.length === 0) note(`agent: nobody has started, stopped or restarted ${slot} by a command yet`);
  else print(receipts.map(receiptText).join('\n'));
  return 0;
}

const receiptText = (receipt: Receipt): string =>
  `${receipt.at}  ${receipt.ok ? receiptSentence(receipt) : `${receipt.slot} did not ${receipt.action}: ${receipt.error ?? 'no reason is known'}`}  (${receipt.actor}: ${receipt.cause})`;

function lastOf({ options }: Input, preset: number): number {
  const text = String(options.last ?? preset);
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) {
    throw new AgentError('USAGE', `--last takes a number from 1 on, not "${text}"`, { fix: 'agent why <slot> --last 5' });
  }
  return count;
}

/** Errors: UNKNOWN_SLOT, NO_SUPERVISOR when nothing has ever been written about it. */
function explain(home: Home, slot: string, count: number): Why {
  const snapshot = readSnapshot(home);
  const row = snapshot?.status.workers.find((worker) => worker.slot === slot);
  const boxes = readBoxes(home.crash, slot);
  if (!row && boxes.length === 0) {
    if (!knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
    throw noSupervisor(home);
  }
  if (row && !snapshot!.live) note(`agent: ${noSupervisor(home).message}; this is from its last snapshot`);
  return explainSlot(slot, { row, boxes, watchedSince: snapshot?.status.supervisor.started_at }, count);
}
