/** `agent sessions export|import`: JSON Lines, one `agent.session.v1` document a line; a file may also hold one document or a list. */
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { sessionMarkdown } from '../../chat/sessionMarkdown.ts';
import { sessionExport, sessionImport, type ExportedSession } from '../../ipc/contracts/rpcSessions.ts';
import { sessionList } from '../../ipc/contracts/rpc.ts';
import type { Link } from '../../ipc/link.ts';
import { withProgress } from '../progress.ts';
import { out, writeOut } from '../terminal.ts';
import { steadyText, visibleJson } from '../../base/visibleText.ts';
import type { OfflineSessions } from './offline.ts';

/** A file larger than this is refused: it would not fit into memory twice. */
const FILE_MAX_BYTES = 512 * 2 ** 20;
/** Documents and characters sent at once; a frame holds 16 MiB. */
const BATCH_MAX = 50;
const BATCH_MAX_CHARS = 4_000_000;
const PAGE = 200;

export interface Wanted {
  /** As typed; empty = all. */
  names: readonly string[];
  hidden: boolean;
}

/** One document at a time. Sessions too large for one answer are read by `fallback`. */
export async function* documents(link: Link, { names, hidden }: Wanted, fallback: () => OfflineSessions): AsyncGenerator<ExportedSession> {
  const ids = names.length > 0 ? names : await allIds(link, hidden);
  for (const session_id of ids) {
    try {
      yield await link.call(sessionExport, { session_id });
    } catch (thrown) {
      if (!(thrown instanceof AgentError) || thrown.code !== 'BAD_REQUEST') throw thrown;
      using sessions = fallback();
      yield sessions.document(sessions.find(session_id));
    }
  }
}

export function* offlineDocuments(sessions: OfflineSessions, { names, hidden }: Wanted): Generator<ExportedSession> {
  const kinds = [false, true];
  const ids =
    names.length > 0
      ? names.map((name) => sessions.find(name))
      : kinds.flatMap((archived) => sessions.list({ limit: Number.MAX_SAFE_INTEGER, hidden, archived }).sessions.map(({ id }) => id));
  for (const id of ids) yield sessions.document(id);
}

async function allIds(link: Link, hidden: boolean): Promise<string[]> {
  const ids: string[] = [];
  for (const archived of [false, true]) {
    for (let offset = 0; ; offset += PAGE) {
      const { sessions } = await link.call(sessionList, { limit: PAGE, offset, order: 'created', archived, include_hidden: hidden });
      ids.push(...sessions.map(({ id }) => id));
      if (sessions.length < PAGE) break;
    }
  }
  return ids;
}

/** What a document is on paper. */
export type Form = (document: ExportedSession) => string;
export const forms = {
  jsonl: (document) => `${visibleJson(JSON.stringify(document))}\n`,
  markdown: sessionMarkdown,
} satisfies Record<string, Form>;

/** To stdout, or into a file that is there only when it is whole. Answers how many. */
export async function writeDocuments(
  found: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
  { file, form }: { file: string | undefined; form: keyof typeof forms },
): Promise<number> {
  let count = 0;
  const temporary = file === undefined ? undefined : `${file}.part`;
  const target = temporary === undefined ? undefined : openSync(temporary, 'w', 0o600);
  try {
    await withProgress(
      () => `${count} exported`,
      async () => {
        for await (const document of found) {
          const text = (form === 'markdown' && count > 0 ? '\n' : '') + forms[form](document);
          if (target === undefined) writeOut(out.isTTY ? steadyText(text) : text);
          else writeSync(target, text);
          count++;
        }
      },
    );
    if (temporary !== undefined) renameSync(temporary, file!);
    return count;
  } finally {
    if (target !== undefined) closeSync(target);
    if (temporary !== undefined) rmSync(temporary, { force: true });
  }
}

export interface ImportOutcome {
  imported_ids: string[];
  skipped_ids: string[];
  errors: { line: number; message: string }[];
  /** Taken, but not as they were: a title that was cut. */
  warnings: { line: number; message: string }[];
}

/** Errors: USAGE for a file that holds no documents. */
export async function importFile(link: Link, path: string): Promise<ImportOutcome> {
  const outcome: ImportOutcome = { imported_ids: [], skipped_ids: [], errors: [], warnings: [] };
  const lines = readLines(path, outcome);
  let done = 0;
  await withProgress(
    () => `${done} of ${lines.length} read`,
    async () => {
      for (const batch of batchesOf(lines)) {
        const answer = await link.call(sessionImport, { sessions: batch.map(({ document }) => document) });
        outcome.imported_ids.push(...answer.imported_ids);
        outcome.skipped_ids.push(...answer.skipped_ids);
        const atLine = ({ index, message }: { index: number; message: string }) => ({ line: batch[index]!.line, message });
        outcome.errors.push(...answer.errors.map(atLine));
        outcome.warnings.push(...(answer.warnings ?? []).map(atLine));
        done += batch.length;
      }
    },
  );
  return outcome;
}

interface Line {
  line: number;
  document: unknown;
  chars: number;
}

function readLines(path: string, outcome: ImportOutcome): Line[] {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new AgentError('NOT_FOUND', `there is no file ${path}`, { fix: 'give the path of an exported file' });
  if (size > FILE_MAX_BYTES)
    throw new AgentError('USAGE', `${path} has ${size} bytes; ${FILE_MAX_BYTES} are read at once`, {
      fix: 'split it: each line is a session of its own',
    });
  const text = readFileSync(path, 'utf8');
  const whole = parsed(text);
  if (whole !== undefined) {
    const list = Array.isArray(whole) ? whole : [whole];
    return list.map((document, index) => ({ line: index + 1, document, chars: JSON.stringify(document).length }));
  }
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const document = parsed(line);
    if (document !== undefined) return [{ line: index + 1, document, chars: line.length }];
    outcome.errors.push({ line: index + 1, message: 'it is no JSON' });
    return [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function* batchesOf(lines: readonly Line[]): Generator<Line[]> {
  let batch: Line[] = [];
  let chars = 0;
  for (const line of lines) {
    if (batch.length > 0 && (batch.length >= BATCH_MAX || chars + line.chars > BATCH_MAX_CHARS)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(line);
    chars += line.chars;
  }
  if (batch.length > 0) yield batch;
}
