/** `agent status --watch` in a real terminal: live, without a call to anybody, and the terminal given back. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { writeJsonAtomic } from '../../state/atomicFile.ts';
import { identityOf } from '../../state/processIdentity.ts';
import { engagePause } from '../../state/pause.ts';
import { testHome } from '../harness/home.ts';
import { openTerminal } from '../harness/tmux.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';
import { workerRow } from '../harness/records.ts';

function statusOf(pid: number, home: string, state: 'ready' | 'backoff'): Status {
  const at = new Date().toISOString();
  const supervisor = { ...identityOf(pid), version: '9.9.9', code: 'source', started_at: at, home, managed_by: 'none' as const };
  const row = workerRow('agent', { state, pid, since: at, ready_ms: 1, liveness: null });
  return { supervisor: { ...supervisor, adopted: 0, dashboard: null, demo: false }, paused: null, problems: [], workers: [row], at };
}

t.test('lesson 40: the live table follows the snapshot of a supervisor that stands still, and q gives the terminal back', async (t) => {
  using home = testHome();
  const frozen = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  t.teardown(() => frozen.kill('SIGKILL'));
  writeJsonAtomic(home.run.status, statusOf(frozen.pid!, home.root, 'ready'));
  const env = { PATH: process.env.PATH ?? '', HOME: home.root, AGENT_HOME: home.root, PS1: 'prompt> ', NO_COLOR: '1' };
  const agent = `${projectRoot}/bin/agent`;
  await using terminal = await openTerminal(
    `stty -g > ${home.root}/before; ${agent} status --watch; echo "left with $?"; stty -g > ${home.root}/after; cat`,
    { env, columns: 110, rows: 20 },
  );
  await terminal.shows(/agent +ready/);
  writeJsonAtomic(home.run.status, statusOf(frozen.pid!, home.root, 'backoff'));
  await terminal.shows(/agent +backoff[^]*Not ready: agent is backoff[^]*q or ctrl-C ends/);
  engagePause(home.estop, { reason: 'tea', scope: [] });
  await terminal.shows(/Paused: automation has been held for .* \(tea\)/);
  frozen.kill('SIGSTOP');
  await terminal.shows(/is not responding[^]*agent +alone/);
  await terminal.press('q');
  const screen = await terminal.shows('left with 1');
  t.notMatch(screen, /q or ctrl-C ends/, 'the screen from before is back');
  const after = await until(
    'the shell has asked again',
    () => existsSync(`${home.root}/after`) && readFileSync(`${home.root}/after`, 'utf8'),
  );
  t.equal(after, readFileSync(`${home.root}/before`, 'utf8'), 'echo and line mode are as they were');
});
