/** `agent status`: the snapshot as a table or JSON. Calls nobody unless it is damaged or old, loads next to nothing. */
import { existsSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { formatDuration } from '../../base/time.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, type Command, type Input } from '../command.ts';
import { allReady, pausedProfiles, pauseNow, readSnapshot, type Snapshot } from '../snapshot.ts';
import { pauseLines, statusView } from '../statusView.ts';
import { note, out, print, printError, printJson } from '../terminal.ts';

export const command: Command = {
  name: 'status',
  summary: 'Show what runs, what does not, and why',
  details: 'Exit code: 0 every wanted slot is ready, 1 some are not, 3 no supervisor runs (the last snapshot is shown with its age).',
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
  if (!snapshot?.live) printError(noSupervisor(home, snapshot), input.json);
  return exitCode(snapshot);
}

/** What the supervisor has written; where that is damaged, or older than it can be, what it says itself. */
async function currentSnapshot(home: Home): Promise<Snapshot | undefined> {
  const written = readSnapshot(home);
  const isOld = written !== undefined && written.live && written.ageMs > limits.supervisor.snapshotStaleMs;
  if ((written && !isOld) || !existsSync(home.run.supervisorSocket)) return written;
  const { askSnapshot } = await import('../askSnapshot.ts');
  const asked = await askSnapshot(home);
  if (!asked && isOld)
    note(`agent: the supervisor has written nothing for ${formatDuration(written.ageMs)} and does not answer — agent doctor`);
  return asked ?? written;
}

function exitCode(snapshot: Snapshot | undefined): number {
  if (!snapshot?.live) return exitCodes.noSupervisor;
  return allReady(snapshot.status) ? exitCodes.ok : exitCodes.failed;
}

/** Contract §4, plus the pauses of single profiles, and `stale_ms` when it is the picture of a service that is gone. */
function document(home: Home, snapshot: Snapshot | undefined): unknown {
  if (!snapshot) {
    const pauses = { paused: pauseNow(home), paused_profiles: pausedProfiles(home) };
    return { supervisor: null, ...pauses, problems: [], workers: [], at: null, home: home.root };
  }
  const { status, live, ageMs, pausedProfiles: paused_profiles } = snapshot;
  return { ...status, paused_profiles, ...(live ? {} : { stale_ms: ageMs }) };
}

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
