/** `agent sessions recover`: copies every readable row of a damaged state.db into a new one. Needs the agent worker stopped. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { painter } from '../../base/paint.ts';
import { copyReadable, damagedSource, finishState, isWhole, putInPlace, type Recovery } from '../../state/db/recover.ts';
import { openHome } from '../../state/home.ts';
import { acquireLock } from '../../state/lock.ts';
import { hasFlag, textOption, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

export async function recover(input: Input): Promise<number> {
  const paths = openHome().profile(input.profile);
  const from = textOption(input, 'from') ?? (existsSync(paths.stateDb) ? damagedSource(paths.stateDb) : paths.stateDb);
  const dryRun = hasFlag(input, 'dryRun');
  using _lock = await stopped(paths.dir, input.profile);
  const healthy =
    from === paths.stateDb && !existsSync(`${from}.damaged`) && (await withProgress(`checking ${from}`, async () => isWhole(from)));
  if (healthy && !dryRun && !hasFlag(input, 'force')) return leave(from, input);
  let doing = `reading ${from}`;
  const recovery = await withProgress(
    () => doing,
    async () =>
      copyReadable({
        from,
        to: `${paths.stateDb}.recovered`,
        schema: stateSchema,
        finish: finishState,
        progress: (name, rows) => (doing = `${name}: ${rows} rows`),
      }),
  );
  const kept = dryRun ? null : place(recovery, paths.stateDb, from);
  if (dryRun) rmSync(recovery.path, { force: true });
  if (input.json)
    printJson({ from, path: paths.stateDb, kept, dry_run: dryRun, complete: recovery.complete, tables: recovery.tables, healthy });
  else show(recovery, { from, path: paths.stateDb, kept });
  if (healthy && !input.json) note('agent: nothing was damaged');
  return 0;
}

/** A copy of what is whole would only leave an old store behind, of which the doctor warns. */
function leave(path: string, input: Input): number {
  if (input.json) printJson({ from: path, path, kept: null, dry_run: false, complete: true, tables: [], healthy: true });
  else print(`${path} is not damaged; nothing was changed. --force copies it all the same.`);
  return 0;
}

/** Errors: LOCK_HELD with the command that stops the worker. */
async function stopped(dir: string, profile: string) {
  try {
    return await acquireLock(join(dir, 'agent.lock'), 'agent sessions recover');
  } catch (thrown) {
    if (!(thrown instanceof AgentError) || thrown.code !== 'LOCK_HELD') throw thrown;
    const slot = profile === 'default' ? 'agent' : `agent@${profile}`;
    throw new AgentError('LOCK_HELD', `the store is in use: ${thrown.message}`, {
      cause: thrown,
      fix: `agent stop ${slot}, then repeat; agent start ${slot} afterwards`,
    });
  }
}

/** A store that was itself read is damaged; another one that stood there is only replaced. */
function place(recovery: Recovery, path: string, from: string): string | null {
  const wasThere = existsSync(path);
  const kept = putInPlace(recovery.path, path, from === path ? 'corrupt' : 'before');
  rmSync(`${path}.damaged`, { force: true });
  return wasThere ? kept : null;
}

function show({ tables, complete }: Recovery, { from, path, kept }: { from: string; path: string; kept: string | null }): void {
  const paint = painter(out);
  const rows = tables.map(({ name, before, after }) => {
    const whole = before !== null && before <= after;
    return [name, before === null ? '?' : String(before), paint(whole ? 'green' : 'yellow', String(after))];
  });
  print(table([['TABLE', 'BEFORE', 'RECOVERED'].map((head) => paint('dim', head)), ...rows]));
  print(complete ? 'Every row was recovered.' : 'Some rows could not be read any more; all others were recovered.');
  if (kept === null) return note(`agent: ${from === path ? 'nothing was changed (--dry-run)' : `${path} was made from ${from}`}`);
  note(`agent: ${path} is the recovered store; the old one is kept as ${kept}`);
}
