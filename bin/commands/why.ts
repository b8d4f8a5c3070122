/** `agent why <slot>`: the last abnormal end in a sentence, then the evidence. Works with everything down. */
import { isAgentError, type AgentError } from '../../base/errors.ts';
import { painter } from '../../base/paint.ts';
import { whySlot } from '../../ipc/contracts/supervisor.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { openHome, type Home } from '../../state/home.ts';
import { jsonOption, slotArgument, type Command, type Input } from '../command.ts';
import { withSupervisor } from '../connect.ts';
import { knownSlots, slotOf } from '../slots.ts';
import { readSnapshot } from '../snapshot.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson } from '../terminal.ts';

type Why = ResultOf<typeof whySlot>;

export const command: Command = {
  name: 'why',
  summary: 'Say why a slot ended or does not start',
  arguments: [slotArgument],
  options: [jsonOption],
  examples: [
    { line: 'agent why gateway', does: 'one sentence, then the last lines it printed' },
    { line: 'agent why mcp --json', does: 'for programs' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const slot = slotOf(input.args[0]!, input.profile);
  const why = await ask(home, slot);
  if (input.json) {
    printJson(why);
    return 0;
  }
  const paint = painter(out);
  print(why.sentence);
  if (why.last_exit) print(paint('dim', `${why.last_exit.at}  ${why.last_exit.signature}`));
  if (why.tail.length) print(['', ...why.tail.map((line) => `  ${line}`)].join('\n'));
  return 0;
}

async function ask(home: Home, slot: string): Promise<Why> {
  try {
    return await withSupervisor(home, (link) => link.call(whySlot, { slot }));
  } catch (thrown) {
    if (!isAgentError(thrown)) throw thrown;
    if (thrown.code === 'UNKNOWN_SLOT') throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
    if (thrown.code !== 'NO_SUPERVISOR') throw thrown;
    return fromSnapshot(home, slot, thrown);
  }
}

/** What the last snapshot says, when nobody answers. */
function fromSnapshot(home: Home, slot: string, absent: AgentError): Why {
  if (!knownSlots(home).includes(slot)) throw unknownName('slot', slot, knownSlots(home), 'UNKNOWN_SLOT');
  const row = readSnapshot(home)?.status.workers.find((worker) => worker.slot === slot);
  if (!row) throw absent;
  note(`agent: ${absent.message}; this is from its last snapshot`);
  const sentence = row.reason ?? row.last_exit?.summary ?? `${slot} has no abnormal end on record`;
  return { slot, state: row.state, sentence, last_exit: row.last_exit, tail: [] };
}
