/** What an edit did, short enough to check it by. */
import { limits } from '../../base/limits.ts';
import { cutMiddle } from './outputCap.ts';

/** Longer texts are counted, not compared: a diff of everything helps nobody and costs seconds. */
const COMPARED_MAX_CHARS = 500_000;
/** Edits after which the comparison gives up. */
const EDITS_MAX = 2_000;

export interface ShownDiff {
  /** Unified, without a header; empty when nothing changed. */
  text: string;
  added: number;
  removed: number;
}

export async function shownDiff(before: string, after: string): Promise<ShownDiff> {
  if (before === after) return { text: '', added: 0, removed: 0 };
  if (before.length + after.length > COMPARED_MAX_CHARS) return counted(before, after);
  // 3 ms to load, and most turns edit nothing.
  const { structuredPatch } = await import('diff');
  const patch = structuredPatch('a', 'b', before, after, undefined, undefined, { context: 2, maxEditLength: EDITS_MAX });
  if (!patch) return counted(before, after);
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ]);
  const starting = (sign: string) => patch.hunks.flatMap((hunk) => hunk.lines).filter((line) => line.startsWith(sign)).length;
  return { text: cutMiddle(lines.join('\n'), limits.tools.diffMaxChars), added: starting('+'), removed: starting('-') };
}

function counted(before: string, after: string): ShownDiff {
  const lines = (text: string) => (text === '' ? 0 : text.split('\n').length);
  return { text: `[${lines(before)} lines replaced by ${lines(after)}]`, added: lines(after), removed: lines(before) };
}
