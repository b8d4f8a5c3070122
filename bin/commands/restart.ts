/** `agent restart <slot>`: asks the supervisor and prints the receipt. */
import { drainOption, jsonOption, slotArgument, type Command } from '../command.ts';
import { actOnSlot } from '../slots.ts';

export const command: Command = {
  name: 'restart',
  summary: 'Drain, stop and start a slot',
  details: 'Other slots go on. Running turns of other workers are not interrupted.',
  arguments: [slotArgument],
  options: [drainOption, jsonOption],
  examples: [
    { line: 'agent restart dashboard', does: 'prints the old and the new process and how long it was away' },
    { line: 'agent restart agent@work', does: 'the worker of another profile' },
  ],
  run: (input) => actOnSlot('restart', input, input.args[0]!),
};
