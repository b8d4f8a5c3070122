/** `agent restart [slot…]`: asks the supervisor and prints a receipt for each slot. */
import { drainOption, jsonOption, slotArgument, type Command } from '../command.ts';
import { restartSlots } from '../slots.ts';

export const command: Command = {
  name: 'restart',
  summary: 'Drain, stop and start slots',
  details:
    'Without a slot, or with `all`, every running slot is restarted, one after another. Other slots are not touched, and running turns of other workers are not interrupted. `supervisor` restarts the supervisor alone: the workers run on and are adopted by the new one. A restarted process runs the installed release.',
  arguments: [{ ...slotArgument, optional: true, variadic: true }],
  options: [drainOption, jsonOption],
  examples: [
    { line: 'agent restart dashboard', does: 'prints the old and the new process and how long it was unavailable' },
    { line: 'agent restart agent cron', does: 'two slots, one after the other' },
    { line: 'agent restart', does: 'every running slot' },
    { line: 'agent restart supervisor', does: 'after an upgrade: the supervisor first, then `agent restart`' },
    { line: 'agent restart agent@work', does: 'the worker of another profile' },
  ],
  run: restartSlots,
};
