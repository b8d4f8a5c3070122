/**
 * Which waiting messages become one prompt: lines that one person wrote into one chat shortly after each other, as a
 * pasted text or a long line that the client cut. Decided from the stored rows alone, so that a restart decides alike.
 */
import { limits } from '../../base/limits.ts';
import { utf8Bytes } from './messageText.ts';
import type { Inbox, InboxRow } from './inbox.ts';

export type Gathered =
  | { kind: 'complete'; lines: InboxRow[] }
  /** More may follow: look again after so long. */
  | { kind: 'open'; waitMs: number };

/** What belongs to the prompt that `first` begins; `gatherMs` is the longest pause between two of its lines, 0 = none is gathered. */
export function gatherAfter(inbox: Inbox, first: InboxRow, { gatherMs, nowMs }: { gatherMs: number; nowMs: number }): Gathered {
  const lines: InboxRow[] = [];
  // Sent before, and refused: the key of its turn means what it meant.
  if (gatherMs === 0 || first.kind !== 'message' || first.retries > 0 || inbox.hasGathered(first.id)) return { kind: 'complete', lines };
  const { gatherLinesMax, gatherMaxBytes, gatherWaitMaxMs } = limits.gateway;
  let last = first;
  let bytes = utf8Bytes(first.text);
  for (const row of inbox.after(first, gatherLinesMax)) {
    bytes += 1 + utf8Bytes(row.text);
    const isSoon = row.received_at - last.received_at <= gatherMs && row.received_at - first.received_at <= gatherWaitMaxMs;
    const fits = lines.length + 2 <= gatherLinesMax && bytes <= gatherMaxBytes;
    if (!isSoon || !fits || !belongsTo(first, row)) return { kind: 'complete', lines };
    lines.push(row);
    last = row;
  }
  const waitMs = Math.min(last.received_at + gatherMs, first.received_at + gatherWaitMaxMs) - nowMs;
  // A clock that was set back gathers nothing more.
  return waitMs <= 0 || waitMs > gatherMs ? { kind: 'complete', lines } : { kind: 'open', waitMs };
}

/** Same person, same rights, same place for the answer, and nothing but words: a command between two lines parts them. */
const belongsTo = (first: InboxRow, row: InboxRow): boolean =>
  row.kind === 'message' &&
  row.state === 'received' &&
  row.retries === 0 &&
  (['user', 'is_owner', 'thread', 'profile', 'session_key', 'reply_platform', 'reply_chat', 'reply_thread'] as const).every(
    (key) => row[key] === first[key],
  );
