/**
 * `agent recover <store>`: copies every readable row of a damaged store into a new one and puts that in its place. The
 * slot that writes the store is stopped meanwhile and started again.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError, isAgentError, messageOf } from '../base/errors.ts';
import { painter } from '../base/paint.ts';
import { ensureSlot, startSlot, status, stopSlot } from '../ipc/contracts/supervisor.ts';
import { dial } from '../ipc/dial.ts';
import { copiesOf } from '../state/db/copies.ts';
import { copyReadable, damagedSource, isWhole, putInPlace, type Recovery } from '../state/db/recover.ts';
import { stores, type StoreName } from '../state/db/stores.ts';
import { openHome, readToken, type Home, type ProfilePaths } from '../state/home.ts';
import { acquireLock } from '../state/lock.ts';
import { release } from '../state/release.ts';
import { hasFlag, textOption, type Input } from './command.ts';
import { withSupervisor } from './connect.ts';
import { withProgress } from './progress.ts';
import { slotOf } from './slots.ts';
import { note, out, print, printJson, table } from './terminal.ts';

interface Target {
  home: Home;
  paths: ProfilePaths;
  name: StoreName;
  path: string;
  slot: string;
}

export async function recoverStore(name: StoreName, input: Input): Promise<number> {
  const home = openHome();
  const paths = home.profile(input.profile);
  const target = { home, paths, name, path: stores[name].path(home, paths), slot: slotOf(stores[name].slot, input.profile) };
  const from = textOption(input, 'from') ?? (existsSync(target.path) ? damagedSource(target.path) : target.path);
  const resume = await pauseSlot(target);
  let code: number;
  try {
    code = await recoverStopped(target, from, input);
  } catch (thrown) {
    // The error of the recovery is the one to report: the slot may fail for the same reason.
    await resume().catch((second: unknown) => note(`agent: ${messageOf(second)}`));
    throw thrown;
  }
  await resume();
  return code;
}

async function recoverStopped(target: Target, from: string, input: Input): Promise<number> {
  const { name, path, paths } = target;
  const dryRun = hasFlag(input, 'dryRun');
  using _lock = await exclusive(target);
  const isMarked = existsSync(`${from}.damaged`);
  const healthy = from === path && !isMarked && (await withProgress(`checking ${from}`, async () => isWhole(from)));
  if (healthy && !dryRun && !hasFlag(input, 'force')) return leave(from, input);
  let doing = `reading ${from}`;
  const { schema, finish } = stores[name];
  const recovery = await withProgress(
    () => doing,
    async () =>
      copyReadable({
        from,
        to: `${path}.recovered`,
        schema,
        copies: copiesOf(paths.dir, name),
        finish,
        progress: (of, rows) => (doing = `${of}: ${rows} rows`),
      }),
  );
  const kept = dryRun ? null : place(recovery, path, from);
  if (dryRun) rmSync(recovery.path, { force: true });
  const { complete, tables } = recovery;
  if (input.json) printJson({ store: name, from, path, kept, dry_run: dryRun, complete, tables, healthy });
  else show(recovery, { from, path, kept });
  if (healthy && !input.json) note('agent: nothing was damaged');
  return 0;
}

/** A copy of a whole store would only leave an old one behind, of which the doctor warns. */
function leave(path: string, input: Input): number {
  if (input.json) printJson({ from: path, path, kept: null, dry_run: false, complete: true, tables: [], healthy: true });
  else print(`${path} is not damaged; nothing was changed. Use --force to copy it anyway.`);
  return 0;
}

// --- the slot that writes it ---

/** Stops it where a supervisor runs. Answers how to start it again, when it ran. */
async function pauseSlot(target: Target): Promise<() => Promise<void>> {
  const { home, slot } = target;
  try {
    const { workers } = await withSupervisor(home, (link) => link.call(status, {}));
    const row = workers.find((worker) => worker.slot === slot);
    if (!row || (row.desired !== 'up' && row.pid === null)) return async () => {};
    await withProgress(`stopping ${slot}`, () => move(target, stopSlot));
    // `slot.start` would keep an on-demand slot up for good.
    const start = () =>
      row.desired === 'up' ? move(target, startSlot) : withSupervisor(home, async (link) => void (await link.call(ensureSlot, { slot })));
    return () => withProgress(`starting ${slot}`, start);
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return async () => {};
    throw thrown;
  }
}

async function move({ home, slot, name }: Target, method: typeof startSlot): Promise<void> {
  const receipt = await withSupervisor(home, (link) =>
    link.call(method, { slot, drain: true, actor: 'cli', cause: `agent recover ${name}` }),
  );
  if (receipt.ok) return;
  throw new AgentError(
    receipt.action === 'stop' ? 'STOP_FAILED' : 'START_FAILED',
    `${slot} did not ${receipt.action}${receipt.error ? `: ${receipt.error}` : ''}`,
    { fix: `\`agent why ${slot}\` shows the cause` },
  );
}

/** Nobody else writes the store from here on. Errors: LOCK_HELD with the command that stops its worker. */
async function exclusive(target: Target): Promise<Disposable> {
  const { home, paths, name, slot } = target;
  const { lock } = stores[name];
  const inUse = (cause?: unknown) =>
    new AgentError('LOCK_HELD', `${target.path} is in use${isAgentError(cause) ? `: ${cause.message}` : ''}`, {
      cause,
      fix: `run \`agent stop ${slot}\`, repeat this command, then run \`agent start ${slot}\``,
    });
  try {
    if (lock) return await acquireLock(join(paths.dir, lock), 'agent recover');
    using _worker = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli', code: release().code });
  } catch (thrown) {
    if (!isAgentError(thrown)) throw thrown;
    if (thrown.code === 'PEER_UNREACHABLE') return { [Symbol.dispose]: () => {} };
    if (thrown.code !== 'LOCK_HELD' && lock) throw thrown;
    throw inUse(thrown);
  }
  throw inUse();
}

// --- its result ---

/** A store that was itself read is damaged; another one in its place is only replaced. */
function place(recovery: Recovery, path: string, from: string): string | null {
  const wasThere = existsSync(path);
  const kept = putInPlace(recovery.path, path, from === path ? 'damaged' : 'before');
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
  const torn = tables.reduce((sum, { torn: of }) => sum + of, 0);
  if (complete) print('Every row was recovered.');
  else print(`Some rows could not be read${torn > 0 ? `, and ${torn} lost a long value` : ''}; all others were recovered.`);
  if (kept === null) return note(`agent: ${from === path ? 'nothing was changed (--dry-run)' : `${path} was made from ${from}`}`);
  note(`agent: ${path} is the recovered store; the old one is kept as ${kept}`);
}
