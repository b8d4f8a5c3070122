/** `agent gateway undelivered`: messages that were given up, read from the gateway's store without it; works while it is down. */
import { existsSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { exitCodes } from '../../base/exitCodes.ts';
import { isoTime } from '../../base/time.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { openHome } from '../../state/home.ts';
import type { Input } from '../command.ts';
import { note, print, printJson, table } from '../terminal.ts';

interface Row {
  id: number;
  state: 'failed' | 'expired' | 'uncertain';
  platform: string;
  chat: string;
  thread: string;
  text: string;
  origin: string;
  tries: number;
  created_at: number;
  closed_at: number;
  error: string | null;
}

const ROWS_MAX = 500;
const TEXT_MAX_CHARS = 60;

export async function undelivered(input: Input): Promise<number> {
  const rows = read(openHome().profile(input.profile).gatewayDb).map(({ platform, chat, thread, created_at, closed_at, ...row }) => ({
    ...row,
    target: [platform, chat, ...(thread === '' ? [] : [thread])].join(':'),
    created_at: isoTime(created_at),
    closed_at: isoTime(closed_at),
  }));
  if (input.json) printJson({ undelivered: rows });
  else if (rows.length === 0) note('agent: no message of the last week was given up');
  else
    print(
      table([
        ['ID', 'GIVEN UP', 'TARGET', 'STATE', 'WHY', 'TEXT'],
        ...rows.map(({ id, closed_at, target, state, error, text }) => [
          String(id),
          closed_at,
          target,
          state,
          line(error ?? ''),
          line(text),
        ]),
      ]),
    );
  return exitCodes.ok;
}

/** The newest last. */
function read(path: string): Row[] {
  if (!existsSync(path)) return [];
  const db = openReadOnly(path);
  try {
    const sql = `SELECT id, state, platform, chat, thread, text, origin, tries, created_at, closed_at, error FROM outbox
      WHERE closed_at IS NOT NULL AND state IN ('failed', 'expired', 'uncertain') ORDER BY closed_at DESC, id DESC LIMIT ?`;
    return (db.prepare(sql).all(ROWS_MAX) as Row[]).toReversed();
  } finally {
    db.close();
  }
}

/** What others wrote must not steer the terminal. */
function line(text: string): string {
  const plain = stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
  return plain.length > TEXT_MAX_CHARS ? `${plain.slice(0, TEXT_MAX_CHARS - 1)}…` : plain;
}
