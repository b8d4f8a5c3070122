/** `agent stop <slot>`: asks the supervisor and prints the receipt. */
import { drainOption, jsonOption, slotArgument, type Command } from '../command.ts';
import { actOnSlot } from '../slots.ts';

export const command: Command = {
  name: 'stop',
  summary: 'Drain and stop a slot',
  details: 'Waits until its whole process group is gone. A stopped slot stays stopped, also over a restart of the service.',
  arguments: [slotArgument],
  options: [drainOption, jsonOption],
  examples: [
    { line: 'agent stop gateway', does: 'finish running work, then stop' },
    { line: 'agent stop gateway --no-drain', does: 'at once' },
  ],
  run: (input) => actOnSlot('stop', input, input.args[0]!),
};
