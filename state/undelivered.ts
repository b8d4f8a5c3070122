/** Messages that failed permanently, read from the store of the gateway without it: they can be seen while it is down. */
import { existsSync } from 'node:fs';
import { limits } from '../base/limits.ts';
import { isoTime } from '../base/time.ts';
import { openReadOnly, type Db } from './db/open.ts';
import type { ProfilePaths } from './home.ts';

export interface Undelivered {
  /** `12`: a message to a chat; `m12`: one that was received and could not be answered. */
  id: number | string;
  direction: 'out' | 'in';
  /** Failed permanently; not delivered within a day; may or may not have arrived. */
  state: 'failed' | 'expired' | 'uncertain';
  /** `irc:#room`: where it was to go, or where it came from. */
  target: string;
  text: string;
  /** Who sent it: `cli`, `cron`, …, or the sender of a received message. */
  origin: string;
  tries: number;
  created_at: string;
  closed_at: string;
  error: string | null;
}

interface Row extends Omit<Undelivered, 'target' | 'direction' | 'created_at' | 'closed_at'> {
  id: number;
  platform: string;
  chat: string;
  thread: string;
  created_at: number;
  closed_at: number;
}

/** Those of the last week, the newest last. */
export function readUndelivered({ gatewayDb }: Pick<ProfilePaths, 'gatewayDb'>): Undelivered[] {
  if (!existsSync(gatewayDb)) return [];
  const db = openReadOnly(gatewayDb);
  try {
    const out = newest(
      db,
      `SELECT id, state, platform, chat, thread, text, origin, tries, created_at, closed_at, error FROM outbox
       WHERE closed_at IS NOT NULL AND state IN ('failed', 'expired', 'uncertain')`,
    ).map((row) => listed(row, 'out'));
    const received = newest(
      db,
      `SELECT id, state, platform, chat, thread, ${PROMPT} AS text, user AS origin, 1 AS tries, received_at AS created_at, closed_at, error
       FROM inbox WHERE closed_at IS NOT NULL AND state = 'failed'`,
    ).map((row) => ({ ...listed(row, 'in'), id: `m${row.id}` }));
    return [...out, ...received].toSorted((a, b) => a.closed_at.localeCompare(b.closed_at)).slice(-limits.gateway.undeliveredMax);
  } finally {
    db.close();
  }
}

/** A received message with the lines gathered into it. */
const PROMPT =
  "text || COALESCE((SELECT GROUP_CONCAT(CHAR(10) || line.text, '' ORDER BY line.id) FROM inbox line WHERE line.prompt_id = inbox.id), '')";

const newest = (db: Db, sql: string): Row[] =>
  (db.prepare(`${sql} ORDER BY closed_at DESC, id DESC LIMIT ?`).all(limits.gateway.undeliveredMax) as Row[]).toReversed();

const listed = ({ platform, chat, thread, created_at, closed_at, ...row }: Row, direction: Undelivered['direction']): Undelivered => ({
  ...row,
  direction,
  target: [platform, chat, ...(thread === '' ? [] : [thread])].join(':'),
  created_at: isoTime(created_at),
  closed_at: isoTime(closed_at),
});
