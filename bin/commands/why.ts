/** `agent why [slot]`: the last abnormal end in a sentence, then the evidence; of all slots one line each. Reads files alone: works with everything down. */
import { AgentError } from '../../base/errors.ts';
import { visibleText } from '../../base/visibleText.ts';
import { explainSlot, readBoxes, slotsWithBoxes, type Why } from '../../ipc/blackBoxes.ts';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { readReceipts } from '../../ipc/receiptFile.ts';
import { unplannedEnd } from '../../state/supervisorRecord.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, slotArgument, type Command, type Input } from '../command.ts';
import { noSupervisor, notResponding } from '../connect.ts';
import { knownSlots, receiptSentence, slotOf } from '../slots.ts';
import { localTime, ago } from '../instants.ts';
import { currentSnapshot } from '../currentSnapshot.ts';
import type { Snapshot } from '../snapshot.ts';
import { unknownName } from '../suggest.ts';
import { note, print, printJson } from '../terminal.ts';
import { overviewText, whyText } from '../whyView.ts';

export const command: Command = {
  name: 'why',
  summary: 'Say why a slot ended or does not start',
  details:
    'Without a slot: what became of each, one line each. With one: first a sentence, with the fix where it is known; then how often this happened, the last lines, resources before the end, what it was doing, and where a hung one stood. Ten ends are kept per slot, in crash/ of the home.',
  arguments: [{ ...slotArgument, optional: true }],
  options: [
    jsonOption,
    { flags: '--last <n>', summary: 'list the last n ends as well (default 1); of receipts the last n (default 20)' },
    { flags: '--receipts', summary: 'instead: who started, stopped or restarted it, and what came of it' },
  ],
  examples: [
    { line: 'agent why', does: 'what is wrong now, and the last abnormal end of every slot' },
    { line: 'agent why gateway', does: 'one sentence, the fix, then the evidence' },
    { line: 'agent why agent --last 10', does: 'every end on record, to see whether they are the same' },
    { line: 'agent why gateway --receipts', does: 'each command on it: when, by whom, why, how long it was away' },
    { line: 'agent why mcp --json', does: 'for programs' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const given = input.args[0];
  const slot = given === undefined ? undefined : slotOf(given, input.profile);
  if (hasFlag(input, 'receipts')) return showReceipts(home, slot, input);
  if (slot === undefined) return showOverview(home, input);
  const why = slot === 'supervisor' ? await explainSupervisor(home, lastOf(input, 1)) : await explain(home, slot, lastOf(input, 1));
  if (input.json) printJson(why);
  else print(whyText(why));
  return 0;
}

/** From their file, newest first: also with everything down. Errors: UNKNOWN_SLOT. */
function showReceipts(home: Home, slot: string | undefined, input: Input): number {
  if (slot !== undefined && !knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
  const receipts = readReceipts(home.run.receipts)
    .filter((receipt) => slot === undefined || receipt.slot === slot)
    .slice(-lastOf(input, 20))
    .toReversed();
  const nowMs = Date.now();
  if (input.json) printJson({ slot: slot ?? null, receipts });
  else if (receipts.length === 0) note(`agent: nobody has started, stopped or restarted ${slot ?? 'anything'} by a command yet`);
  else print(receipts.map((receipt) => receiptText(receipt, nowMs)).join('\n'));
  return 0;
}

function receiptText(receipt: Receipt, nowMs: number): string {
  const { at, ok, slot, action, error, actor, cause } = receipt;
  const what = ok ? receiptSentence(receipt) : `${slot} did not ${action}: ${error ?? 'no reason is known'}`;
  return visibleText(`${localTime(at)} (${ago(at, nowMs)})  ${what}  (${actor}: ${cause})`);
}

/** What became of every slot: those that are not well first, then the latest end first. Errors: USAGE, NO_SUPERVISOR. */
async function showOverview(home: Home, input: Input): Promise<number> {
  if (input.options.last !== undefined) throw new AgentError('USAGE', '--last is about one slot', { fix: 'agent why <slot> --last 5' });
  const snapshot = await currentSnapshot(home);
  const rows = snapshot?.status.workers ?? [];
  const unexplained = unplannedEnd(home) ? ['supervisor'] : [];
  const names = [...new Set([...rows.map(({ slot }) => slot), ...slotsWithBoxes(home.crash), ...unexplained])];
  if (names.length === 0) throw noSupervisor(home);
  const whys = names.map((slot) => (slot === 'supervisor' ? supervisorWhy(home, snapshot, 0) : whyOf(home, slot, snapshot, 0)));
  const rank = ({ state }: Why) => (state === 'parked' ? 0 : state === 'backoff' ? 1 : 2);
  const slots = whys
    .toSorted((a, b) => rank(a) - rank(b) || (b.last_exit?.at ?? '').localeCompare(a.last_exit?.at ?? ''))
    .map(({ slot, state, sentence, fix, last_exit, times, first_at }) => ({ slot, state, sentence, fix, last_exit, times, first_at }));
  if (!snapshot?.live) note(`agent: ${whoWatches(home, snapshot)}; this is what is on record`);
  if (input.json) printJson({ slots });
  else print(overviewText(slots));
  return 0;
}

function lastOf({ options }: Input, preset: number): number {
  const text = String(options.last ?? preset);
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) {
    throw new AgentError('USAGE', `--last takes a number from 1 on, not "${text}"`, { fix: 'agent why <slot> --last 5' });
  }
  return count;
}

/** Errors: UNKNOWN_SLOT, NO_SUPERVISOR when nothing has ever been written about it. */
async function explain(home: Home, slot: string, count: number): Promise<Why> {
  const snapshot = await currentSnapshot(home);
  const why = whyOf(home, slot, snapshot, count);
  if (why.state === null && why.last_exit === null) {
    if (!knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
    throw noSupervisor(home);
  }
  if (why.state !== null && !snapshot!.live) note(`agent: ${whoWatches(home, snapshot)}; this is from its last snapshot`);
  return why;
}

/** Errors: NO_SUPERVISOR when none has run. */
async function explainSupervisor(home: Home, count: number): Promise<Why> {
  const why = supervisorWhy(home, await currentSnapshot(home), count);
  if (why.state === null && why.last_exit === null && why.sentence === '') throw noSupervisor(home);
  return why;
}

/** Its last unplanned end; one that no later supervisor has recorded yet is explained from what it left. */
function supervisorWhy(home: Home, snapshot: Snapshot | undefined, count: number): Why {
  const end = unplannedEnd(home);
  const { pid, started_at } = snapshot?.status.supervisor ?? {};
  const why = explainSlot('supervisor', { row: undefined, boxes: readBoxes(home.crash, 'supervisor'), watchedSince: undefined }, count);
  const state = snapshot ? (snapshot.live ? 'ready' : 'down') : null;
  if (snapshot?.supervisor === 'not_responding')
    return { ...why, state: null, sentence: notResponding(home).message, fix: notResponding(home).fix! };
  if (end) {
    const { at, summary, signature, fix, tail } = end;
    return {
      ...why,
      state,
      sentence: summary,
      fix,
      tail,
      last_exit: { code: null, signal: null, at, signature, summary },
      times: why.times + 1,
      first_at: why.first_at ?? at,
    };
  }
  if (why.last_exit) return { ...why, state };
  const sentence = snapshot
    ? `the supervisor has no unplanned end on record.${snapshot.live ? ` Process ${pid} runs since ${started_at}.` : ''}`
    : '';
  return { ...why, state, sentence };
}

const whoWatches = (home: Home, snapshot: Snapshot | undefined): string =>
  (snapshot?.supervisor === 'not_responding' ? notResponding(home) : noSupervisor(home)).message;

function whyOf(home: Home, slot: string, snapshot: Snapshot | undefined, count: number): Why {
  const row = snapshot?.status.workers.find((worker) => worker.slot === slot);
  return explainSlot(slot, { row, boxes: readBoxes(home.crash, slot), watchedSince: snapshot?.status.supervisor.started_at }, count);
}
