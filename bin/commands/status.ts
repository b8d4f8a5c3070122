/** `agent status`: the snapshot as a table or JSON. Asks the supervisor only when the snapshot is damaged or in doubt, loads next to nothing. */
import { existsSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, type Command, type Input } from '../command.ts';
import { currentSnapshot } from '../currentSnapshot.ts';
import { allReady, pausedProfiles, pauseNow, type Snapshot } from '../snapshot.ts';
import { pauseLines, statusView } from '../statusView.ts';
import { out, print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'status',
  summary: 'Show what runs, what does not, and why',
  details:
    'Exit code: 0 every wanted slot is ready; 1 some are not, or the supervisor does not respond; 3 no supervisor runs. In the last two cases the last snapshot is shown with its age, and every process in it is checked.',
  options: [jsonOption, { flags: '-w, --watch', summary: 'a live table, until q or ctrl-C' }],
  examples: [
    { line: 'agent status', does: 'one line per slot' },
    { line: 'agent status --json | jq .workers', does: 'for programs' },
    { line: 'agent status --watch', does: 'live' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const home = openHome();
  if (hasFlag(input, 'watch')) return watch(home, input);
  const snapshot = await currentSnapshot(home);
  if (input.json) printJson(document(home, snapshot));
  else if (snapshot) print(statusView(snapshot, painter(out)));
  else for (const line of pauseLines(pauseNow(home), pausedProfiles(home), Date.now())) print(painter(out)('yellow', line));
  if (snapshot?.supervisor === 'not_responding') printError(notResponding(snapshot), input.json);
  else if (!snapshot?.live) printError(noSupervisor(home, snapshot), input.json);
  return exitCode(snapshot);
}

function exitCode(snapshot: Snapshot | undefined): number {
  if (!snapshot || snapshot.supervisor === 'gone') return exitCodes.noSupervisor;
  if (snapshot.supervisor === 'not_responding') return exitCodes.failed;
  return allReady(snapshot.status) ? exitCodes.ok : exitCodes.failed;
}

/** Contract §4, plus the pauses of single profiles, and `stale_ms` when it is the picture of a service that is gone. */
function document(home: Home, snapshot: Snapshot | undefined): unknown {
  if (!snapshot) {
    const pauses = { paused: pauseNow(home), paused_profiles: pausedProfiles(home) };
    return { supervisor: null, ...pauses, problems: [], workers: [], at: null, home: home.root };
  }
  const { status, live, ageMs, pausedProfiles: paused_profiles } = snapshot;
  const supervisor = { ...status.supervisor, state: snapshot.supervisor };
  return { ...status, supervisor, paused_profiles, ...(live ? {} : { stale_ms: ageMs }) };
}

const notResponding = ({ status: { supervisor } }: Snapshot): AgentError =>
  new AgentError('NOT_RESPONDING', `supervisor not responding (process ${supervisor.pid} on ${supervisor.home})`, {
    fix: 'end it with `agent down`, then `agent up`',
  });

function noSupervisor(home: Home, snapshot: Snapshot | undefined): AgentError {
  const past = snapshot ? '' : existsSync(home.run.status) ? `, and ${home.run.status} cannot be read` : ', and none has run there yet';
  return new AgentError('NO_SUPERVISOR', `no supervisor runs on ${home.root}${past}`, { fix: 'start it with `agent up`' });
}

async function watch(home: Home, input: Input): Promise<number> {
  if (input.json || !out.isTTY) {
    throw new AgentError('USAGE', '--watch draws on a terminal', {
      fix: input.json ? 'leave out --watch for one JSON document' : 'leave out --watch when the output is not a terminal',
    });
  }
  const { watchStatus } = await import('../statusWatch.ts');
  return exitCode(await watchStatus(home));
}
