/** `agent doctor`: everything a support person would ask, each with its fix. */
import { jsonOption, type Command } from '../command.ts';

export const command: Command = {
  name: 'doctor',
  summary: 'Check everything a support person would ask',
  details:
    'Node and its modules, the home and its permissions, the supervisor and what it left behind, the installed service, config.yaml and what it names, the machine. Works with everything down, asks no network, changes nothing without --fix. Exit code: 0 nothing fails (warnings are no failure), 1 something does.',
  options: [
    { flags: '--fix', summary: 'put right what can safely be put right' },
    { flags: '--online', summary: 'also ask whether model providers answer' },
    { flags: '--system', summary: 'look at the service of the system, not at that of this user' },
    jsonOption,
  ],
  examples: [
    { line: 'agent doctor', does: 'all checks, by group' },
    { line: 'agent doctor --fix', does: 'permissions, dead locks and sockets, a changed unit' },
    { line: 'agent doctor --json | jq \'.checks[] | select(.status == "fail")\'', does: 'for programs' },
  ],
  run: async (input) => (await import('../doctor/run.ts')).runDoctor(input),
};
