/** `agent doctor`: everything a support person would ask, each with its fix. */
import { hasFlag, jsonOption, type Command } from '../command.ts';

export const command: Command = {
  name: 'doctor',
  summary: 'Check everything a support person would ask',
  options: [jsonOption],
  examples: [{ line: 'agent doctor', does: 'all checks' }],
  run: async (input) => (await import('../doctor/run.ts')).runDoctor(input, hasFlag(input, 'x') ? '' : undefined),
};
