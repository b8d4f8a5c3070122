/** Messages that the gateway gave up, read from its store without it: they can be seen while it is down. */
import { existsSync } from 'node:fs';
import { limits } from '../base/limits.ts';
import { isoTime } from '../base/time.ts';
import { openReadOnly } from './db/open.ts';
import type { ProfilePaths } from './home.ts';

export interface Undelivered {
  id: number;
  /** Refused for good; not delivered within a day; may or may not have arrived. */
  state: 'failed' | 'expired' | 'uncertain';
  /** `irc:#room`. */
  target: string;
  text: string;
  /** Who asked for it: `cli`, `cron`, … */
  origin: string;
  tries: number;
  created_at: string;
  closed_at: string;
  error: string | null;
}

interface Row extends Omit<Undelivered, 'target' | 'created_at' | 'closed_at'> {
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
    const sql = `SELECT id, state, platform, chat, thread, text, origin, tries, created_at, closed_at, error FROM outbox
      WHERE closed_at IS NOT NULL AND state IN ('failed', 'expired', 'uncertain') ORDER BY closed_at DESC, id DESC LIMIT ?`;
    return (db.prepare(sql).all(limits.gateway.undeliveredMax) as Row[]).toReversed().map(listed);
  } finally {
    db.close();
  }
}

const listed = ({ platform, chat, thread, created_at, closed_at, ...row }: Row): Undelivered => ({
  ...row,
  target: [platform, chat, ...(thread === '' ? [] : [thread])].join(':'),
  created_at: isoTime(created_at),
  closed_at: isoTime(closed_at),
});
