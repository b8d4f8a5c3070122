/** What must be true after the chaos, read from the stores and files of the home. Each answers sentences about what is not. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionHistory } from '../../ipc/contracts/rpc.ts';
import { type Message } from '../../ipc/contracts/rpcRecords.ts';
import { openReadOnly } from '../../state/db/open.ts';
import type { Home } from '../../state/home.ts';
import type { IrcUser } from '../harness/ngircd.ts';
import type { AcceptedPrompt } from './loads.ts';
import type { ChaosService } from './service.ts';

/** Every accepted prompt stands once, followed by exactly one end: an answer, or the mark of an interruption. */
export async function chatProblems(service: ChaosService, accepted: readonly AcceptedPrompt[]): Promise<string[]> {
  const problems: string[] = [];
  for (const session of new Set(accepted.map((one) => one.session))) {
    const { messages } = await service.call('agent', (link) => link.call(sessionHistory, { session_id: session, limit: 10_000 }), 30_000);
    const own = accepted.filter((one) => one.session === session);
    for (const { messageId, text } of own) {
      const times = messages.filter(({ id, role }) => id === messageId && role === 'user').length;
      if (times !== 1) problems.push(`prompt ${messageId} ("${text}") of ${session} stands ${times} times in its history`);
    }
    const users = messages.filter(({ role }) => role === 'user');
    if (users.length !== own.length) problems.push(`${session} has ${users.length} prompts, ${own.length} were accepted`);
    problems.push(...unanswered(session, messages));
  }
  return problems;
}

/** Between a prompt and the next one stands exactly one final row of the assistant. */
function unanswered(session: string, messages: readonly Message[]): string[] {
  const problems: string[] = [];
  let open: Message | undefined;
  let ends = 0;
  const close = () => {
    if (open && ends !== 1) problems.push(`prompt ${open.id} ("${open.content}") of ${session} has ${ends} answers`);
  };
  for (const message of messages) {
    if (message.role === 'user') {
      close();
      open = message;
      ends = 0;
    } else if (message.role === 'assistant' && message.finish_reason !== 'tool_calls') ends++;
  }
  close();
  return problems;
}

/** Each line that reached the inbox is there once, is closed, and was answered once (twice only with the mark of a resend). */
export function inboxProblems(home: Home, user: IrcUser, sent: { irc: number; webhooks: number }): string[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    const problems: string[] = [];
    const rows = db.prepare('SELECT id, platform, text, state, closed_at, error FROM inbox').all() as {
      id: number;
      platform: string;
      text: string;
      state: string;
      closed_at: number | null;
      error: string | null;
    }[];
    const open = rows.filter(({ closed_at }) => closed_at === null);
    if (open.length > 0) problems.push(`${open.length} inbox rows were never closed, first: ${JSON.stringify(open[0])}`);
    // A turn that was cut off has its end, and says so; anything else was accepted and then dropped.
    const dropped = rows.filter(({ state, error }) => state === 'failed' && error !== 'TURN_CUT');
    if (dropped.length > 0) problems.push(`${dropped.length} accepted messages were dropped, first: ${JSON.stringify(dropped[0])}`);
    const hooks = rows.filter(({ platform }) => platform === 'webhook');
    if (hooks.length !== sent.webhooks) problems.push(`${sent.webhooks} webhooks were taken, ${hooks.length} stand in the inbox`);
    const outbox = db.prepare('SELECT idempotency_key, text, state, resends FROM outbox').all() as {
      idempotency_key: string;
      text: string;
      state: string;
      resends: number;
    }[];
    const undelivered = outbox.filter(({ state }) => state !== 'delivered' && state !== 'uncertain');
    if (undelivered.length > 0) problems.push(`${undelivered.length} answers were not delivered, first: ${JSON.stringify(undelivered[0])}`);
    problems.push(...lineProblems(rows, outbox, user));
    return problems;
  } finally {
    db.close();
  }
}

function lineProblems(
  rows: readonly { id: number; platform: string; text: string; state: string; error: string | null }[],
  outbox: readonly { idempotency_key: string; resends: number }[],
  user: IrcUser,
): string[] {
  const problems: string[] = [];
  const heard = user.lines.map(({ message }) => message);
  for (const row of rows.filter(({ platform }) => platform === 'irc')) {
    const { text } = row;
    if (rows.filter((other) => other.text === text).length > 1) problems.push(`"${text}" stands twice in the inbox`);
    // A turn that was cut off is answered too: by what there was of it, and that it was stopped.
    const answers = outbox.filter(({ idempotency_key }) => idempotency_key === `inbox:${row.id}`);
    if (answers.length !== 1) problems.push(`"${text}" has ${answers.length} answers in the outbox; its row: ${JSON.stringify(row)}`);
    const times = heard.filter((message) => message.includes(`"${text}"`)).length;
    const allowed = 1 + (answers[0]?.resends ?? 0);
    if (times > allowed) problems.push(`the answer to "${text}" was heard ${times} times`);
  }
  return problems;
}

/** Each text that was accepted for the room is in the outbox once, and was heard: twice only where a resend was marked. */
export function sendProblems(home: Home, user: IrcUser, accepted: readonly string[]): string[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    const row = db.prepare('SELECT state, resends FROM outbox WHERE idempotency_key = ?');
    return accepted.flatMap((text) => {
      const stored = row.get(text) as { state: string; resends: number } | undefined;
      if (!stored) return [`"${text}" was accepted and is not in the outbox`];
      const times = user.lines.filter(({ message }) => message.includes(text)).length;
      const lost = times === 0 && stored.resends === 0 && stored.state === 'delivered';
      return lost || times > 1 + stored.resends ? [`"${text}" was heard ${times} times; its row: ${JSON.stringify(stored)}`] : [];
    });
  } finally {
    db.close();
  }
}

/** Every occurrence is claimed once; the script of each ran once; nothing is left half done. */
export function cronProblems(home: Home, promised: readonly string[] = []): { problems: string[]; runs: number } {
  const db = openReadOnly(home.cronDb);
  try {
    const problems: string[] = [];
    const runs = db
      .prepare('SELECT execution_id, job_id, scheduled_instant, status, trigger, error FROM executions ORDER BY scheduled_instant')
      .all() as {
      job_id: string;
      scheduled_instant: number;
      execution_id: string;
      status: string;
      trigger: string;
      error: string | null;
    }[];
    const known = new Set(runs.map(({ execution_id }) => execution_id));
    const missing = promised.filter((id) => !known.has(id));
    if (missing.length > 0) problems.push(`${missing.length} claimed occurrences have no run, first: ${missing[0]}`);
    const seen = new Set<string>();
    for (const { job_id, scheduled_instant, status, error } of runs) {
      // The job cannot fail by itself: an error is a run that was dropped because of somebody else.
      if (status === 'error' && !/interrupt|cut off/i.test(error ?? '')) problems.push(`a run of ${job_id} ended in an error: ${error}`);
      const key = `${job_id} ${scheduled_instant}`;
      if (seen.has(key)) problems.push(`the occurrence ${new Date(scheduled_instant).toISOString()} of ${job_id} was claimed twice`);
      seen.add(key);
      if (status === 'claimed' || status === 'running')
        problems.push(`the run of ${job_id} at ${new Date(scheduled_instant).toISOString()} is still ${status}`);
    }
    const ticks = linesOf(join(home.root, 'ticks'));
    const scripts = new Map<string, number>();
    for (const tick of ticks) scripts.set(tick, (scripts.get(tick) ?? 0) + 1);
    for (const [tick, times] of scripts) if (times > 1) problems.push(`the script of run ${tick} ran ${times} times`);
    return { problems, runs: runs.length };
  } finally {
    db.close();
  }
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

const NUMBERED = /N(\d{8}) (\d+) E/g;

/**
 * Numbered lines of sidecars: each that was printed is once in the log, in order; only lines that the log itself reports
 * as dropped (on a full disk) may be missing. `folder`: last number per process.
 */
export function sidecarProblems(
  home: Home,
  slots: readonly string[],
  folder: string,
): { problems: string[]; lines: number; dropped: number } {
  const problems: string[] = [];
  let lines = 0;
  let dropped = 0;
  for (const slot of slots) {
    const { numbers, reported } = loggedNumbers(home, slot);
    dropped += reported;
    const missing = [...numbers].flatMap(([pid, own]) => {
      lines += own.length;
      const distinct = new Set(own);
      if (distinct.size !== own.length) problems.push(`${own.length - distinct.size} lines of process ${pid} stand twice in the log`);
      if (own.some((number, index) => index > 0 && number <= own[index - 1]!))
        problems.push(`the lines of process ${pid} are out of order`);
      const absent = missingNumbers(join(folder, pid), distinct);
      return absent.length > 0 ? [{ pid, absent }] : [];
    });
    const count = missing.reduce((sum, { absent }) => sum + absent.length, 0);
    if (count <= reported) continue;
    for (const { pid, absent } of missing)
      problems.push(
        `${absent.length} lines of process ${pid} are not in the log: ${absent[0]} … ${absent.at(-1)} (${reported} of ${slot} are reported as dropped)`,
      );
  }
  const known = new Set(slots.flatMap((slot) => [...loggedNumbers(home, slot).numbers.keys()]));
  const silent = readdirSync(folder).filter((name) => /^\d+$/.test(name) && !known.has(name) && lastNumber(join(folder, name)) > 0);
  problems.push(...silent.map((pid) => `no line of process ${pid} is in the log`));
  return { problems, lines, dropped };
}

function loggedNumbers(home: Home, slot: string): { numbers: Map<string, number[]>; reported: number } {
  const numbers = new Map<string, number[]>();
  let reported = 0;
  for (const path of rotated(home.logs, slot)) {
    const text = readFileSync(path, 'latin1');
    for (const [, number, pid] of text.matchAll(NUMBERED)) {
      const own = numbers.get(pid!) ?? [];
      own.push(Number(number));
      numbers.set(pid!, own);
    }
    for (const [, count] of text.matchAll(/"dropped":(\d+)/g)) reported += Number(count);
  }
  return { numbers, reported };
}

const lastNumber = (path: string): number => Number(readFileSync(path, 'utf8')) || 0;

function missingNumbers(path: string, logged: ReadonlySet<number>): number[] {
  return Array.from({ length: lastNumber(path) }, (_, index) => index + 1).filter((number) => !logged.has(number));
}

/** A log and what it was before, oldest first. */
function rotated(folder: string, slot: string): string[] {
  return readdirSync(folder)
    .filter((name) => name === `${slot}.log` || name.startsWith(`${slot}.log.`))
    .toSorted()
    .toReversed()
    .map((name) => join(folder, name));
}
