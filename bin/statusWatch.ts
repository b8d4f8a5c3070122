/**
 * `agent status --watch`: the terminal while the screen is live. Draws on the alternate screen when the snapshot
 * changes, line by line over what stands there, so that nothing flickers; gives the terminal back however it ends.
 */
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { coalesced } from '../base/coalesce.ts';
import { painter } from '../base/paint.ts';
import type { Home } from '../state/home.ts';
import { currentSnapshot } from './currentSnapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { noteTrend, statusScreen, type Screen, type Trend } from './statusScreen.ts';
import { steadyText } from '../base/visibleText.ts';
import { out, writeOut } from './terminal.ts';

/** Memory is read afresh and ages go on: a glance every second is what an eye follows. */
const LOOK_MS = 1_000;

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** Returns what was last seen, when the user has had enough. */
export async function watchStatus(home: Home): Promise<Snapshot | undefined> {
  const paint = painter(out);
  const trend: Trend = new Map();
  const enough = Promise.withResolvers<void>();
  let snapshot: Snapshot | undefined;
  let trendAtMs = 0;
  let isOver = false;
  let isDrawing = false;
  const draw = async () => {
    // A service that does not answer takes longer than the pause between two draws.
    if (isDrawing) return;
    isDrawing = true;
    const found = await currentSnapshot(home).finally(() => (isDrawing = false));
    if (isOver) return;
    const nowMs = Date.now();
    snapshot = found;
    if (snapshot && nowMs - trendAtMs >= LOOK_MS / 2) {
      noteTrend(trend, snapshot.status.workers);
      trendAtMs = nowMs;
    }
    const lines = snapshot
      ? statusScreen(snapshot, { screen: sizeOf(), trend, paint, nowMs })
      : [`No supervisor runs on ${home.root}.`, '', paint('dim', 'q or ctrl-C ends')];
    writeOut(`${HOME}${lines.map((line) => `${steadyText(line)}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`);
  };
  using life = new DisposableStack();
  life.defer(enterScreen());
  life.defer(readKeys(() => enough.resolve()));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, enough.resolve);
    life.defer(() => process.off(signal, enough.resolve));
  }
  life.defer(() => {
    isOver = true;
  });
  const soon = coalesced(() => void draw());
  life.defer(() => soon.cancel());
  process.stdout.on('resize', soon);
  life.defer(() => process.stdout.off('resize', soon));
  life.defer(watchFile(home.run.status, soon));
  const timer = setInterval(soon, LOOK_MS);
  life.defer(() => clearInterval(timer));
  await draw();
  await enough.promise;
  return snapshot;
}

/** The terminal's own screen comes back even if the process throws. */
function enterScreen(): () => void {
  const leave = () => writeOut(LEAVE);
  process.once('exit', leave);
  writeOut(ENTER);
  return () => {
    process.off('exit', leave);
    leave();
  };
}

function readKeys(onEnd: () => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const onKeys = (keys: Buffer) => {
    if (/[qQ\u0003\u0004]/.test(keys.toString('latin1'))) onEnd();
  };
  stdin.setRawMode(true);
  stdin.on('data', onKeys);
  return () => {
    stdin.off('data', onKeys);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

/** The snapshot is replaced by renaming, so its directory is watched; where that cannot be, the timer remains. */
function watchFile(path: string, onChange: () => void): () => void {
  try {
    const name = basename(path);
    const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
      if (changed === null || changed === name) onChange();
    });
    watcher.on('error', () => {});
    return () => watcher.close();
  } catch {
    return () => {};
  }
}

const sizeOf = (): Screen => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 });
