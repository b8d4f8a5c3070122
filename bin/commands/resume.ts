/** `agent resume`: removes the sentinel. Needs no service. */
import { openHome } from '../../state/home.ts';
import { liftPause, readPause, resumeCommand } from '../../state/pause.ts';
import { jsonOption, type Command, type Input } from '../command.ts';
import { note, print, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'resume',
  summary: 'Let automation go on',
  details:
    'What was held is released in order. With -p only the pause of that profile is lifted; a pause of the root home holds all profiles.',
  options: [jsonOption],
  examples: [
    { line: 'agent resume', does: 'lift the pause' },
    { line: 'agent -p work resume', does: 'lift the pause of one profile' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  const path = home.profile(input.profile).estop;
  const lifted = liftPause([path]);
  const still = readPause(home, input.profile);
  if (input.json) printJson({ paused: still !== undefined, lifted, path, still_paused_by: still?.path ?? null });
  else print(lifted ? `Resumed: automation continues (${path})` : `It was not paused (${path})`);
  if (still && !input.json) note(`agent: ${still.path} still holds automation — ${resumeCommand()} lifts it`);
  return 0;
}
