/** `agent start <slot>`: asks the supervisor and prints the receipt. */
import { jsonOption, slotArgument, type Command } from '../command.ts';
import { actOnSlot } from '../slots.ts';

export const command: Command = {
  name: 'start',
  summary: 'Start a slot and wait until it is ready',
  details: 'Unparks a parked slot. The intent is remembered: a started gateway starts again with the service.',
  arguments: [slotArgument],
  options: [jsonOption],
  examples: [
    { line: 'agent start gateway', does: 'connect the chat platforms' },
    { line: 'agent start gateway --json', does: 'the receipt as JSON' },
  ],
  run: (input) => actOnSlot('start', input, input.args[0]!),
};
