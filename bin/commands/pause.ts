/** `agent pause`: writes the sentinel (contract §6). Needs no service. */
import { AgentError } from '../../base/errors.ts';
import { formatDuration, parseDurationMs } from '../../base/time.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { pauseScopes } from '../../base/closedWords.ts';
import { engagePause, resumeCommand, type Pause } from '../../state/pause.ts';
import { jsonOption, listOption, textOption, type Command, type Input } from '../command.ts';
import { note, print, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'pause',
  summary: 'Hold new automation: cron runs, fire webhooks and gateway turns',
  details:
    'Running work finishes, processes stay up. The file ESTOP in the home is the switch: `touch ~/.agent/ESTOP` does the same. ' +
    'With -p only that profile is held. Pausing again replaces reason, time to live and scope.',
  options: [
    { flags: '--reason <text>', summary: 'why, shown in status' },
    { flags: '--ttl <duration>', summary: 'end automatically after this long (90s, 10m, 2h, 1d)' },
    { flags: '--scope <part...>', summary: 'hold only this part', choices: pauseScopes, complete: 'scope' },
    jsonOption,
  ],
  examples: [
    { line: 'agent pause --reason "maintenance"', does: 'hold everything until agent resume' },
    { line: 'agent pause --ttl 30m --scope cron', does: 'no cron runs for half an hour' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const scope = listOption(input, 'scope');
  const home = openHome();
  prepareHome(home);
  const ttlMs = ttlOf(input);
  const pause = engagePause(home.profile(input.profile).estop, { reason: textOption(input, 'reason'), ttlMs, scope });
  if (input.json) printJson({ paused: true, ...pause });
  else print(`Paused: new ${pausedPart(pause, ttlMs, input.profile)} (${pause.path})`);
  if (pause.generation === null) note('agent: the disk is full, so reason, scope and time to live were not kept — free some space');
  return 0;
}

function pausedPart({ scope, generation }: Pause, ttlMs: number | undefined, profile: string): string {
  if (generation === null) return `automation is held until \`${resumeCommand(profile)}\``;
  const end = ttlMs === undefined ? '' : ` for ${formatDuration(ttlMs)}`;
  return `${scope.length > 0 ? `${scope.join(' and ')} work` : 'automation'} is held${end}`;
}

function ttlOf(input: Input): number | undefined {
  const text = textOption(input, 'ttl');
  if (text === undefined) return undefined;
  const ms = parseDurationMs(text);
  if (!ms) throw new AgentError('USAGE', `"${text}" is not a duration`, { fix: 'write a number and a unit: 90s, 10m, 2h or 1d' });
  return ms;
}
