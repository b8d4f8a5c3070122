/** `agent why <slot>`: the last abnormal end in a sentence, then the evidence. Reads files alone: works with everything down. */
import { AgentError } from '../../base/errors.ts';
import type { BlackBox } from '../../ipc/contracts/blackBox.ts';
import type { LastExit, SlotState } from '../../ipc/contracts/supervisor.ts';
import { openHome, type Home } from '../../state/home.ts';
import { readBoxes } from '../blackBoxes.ts';
import { jsonOption, slotArgument, type Command, type Input } from '../command.ts';
import { noSupervisor } from '../connect.ts';
import { knownSlots, slotOf } from '../slots.ts';
import { readSnapshot, type WorkerRow } from '../snapshot.ts';
import { unknownName } from '../suggest.ts';
import { note, print, printJson } from '../terminal.ts';
import { whyText } from '../whyView.ts';

/** What `--json` prints. */
export interface Why {
  slot: string;
  /** Null when no supervisor has written what it knows. */
  state: SlotState | null;
  sentence: string;
  fix: string | null;
  last_exit: LastExit | null;
  /** Ends on record with the same signature as the last one, and the first of them. */
  times: number;
  first_at: string | null;
  tail: string[];
  /** Newest first. */
  ends: BlackBox[];
}

export const command: Command = {
  name: 'why',
  summary: 'Say why a slot ended or does not start',
  details:
    'First a sentence, with the fix where it is known; then how often this happened, the last lines, resources before the end, what it was doing, and where a hung one stood. Ten ends are kept per slot, in crash/ of the home.',
  arguments: [slotArgument],
  options: [jsonOption, { flags: '--last <n>', summary: 'list the last n ends as well (default 1)' }],
  examples: [
    { line: 'agent why gateway', does: 'one sentence, the fix, then the evidence' },
    { line: 'agent why agent --last 10', does: 'every end on record, to see whether they are the same' },
    { line: 'agent why mcp --json', does: 'for programs' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const slot = slotOf(input.args[0]!, input.profile);
  const count = lastOf(input);
  const why = explain(home, slot, count);
  if (input.json) printJson(why);
  else print(whyText(why));
  return 0;
}

function lastOf({ options }: Input): number {
  const text = String(options.last ?? '1');
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
  const boxes = readBoxes(home, slot);
  if (!row && boxes.length === 0) {
    if (!knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
    throw noSupervisor(home);
  }
  if (row && !snapshot!.live) note(`agent: ${noSupervisor(home).message}; this is from its last snapshot`);
  const last = boxes[0];
  const same = boxes.filter((box) => box.last_exit.signature === last?.last_exit.signature);
  return {
    slot,
    state: row?.state ?? null,
    sentence: row?.reason ?? last?.last_exit.summary ?? row?.last_exit?.summary ?? fine(slot, row, snapshot?.status.supervisor.started_at),
    fix: last?.fix ?? null,
    last_exit: last?.last_exit ?? row?.last_exit ?? null,
    times: same.length,
    first_at: same.at(-1)?.last_exit.at ?? null,
    tail: last?.tail ?? [],
    ends: boxes.slice(0, count),
  };
}

function fine(slot: string, row: WorkerRow | undefined, startedAt: string | undefined): string {
  const now = row?.state === 'ready' ? ` It is ready since ${row.since}.` : '';
  return `${slot} has no abnormal end on record${startedAt ? `; the supervisor watches it since ${startedAt}` : ''}.${now}`;
}
