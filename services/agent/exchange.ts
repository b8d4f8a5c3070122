/**
 * Sessions as documents (`agent.session.v1`): what is shown of a conversation goes out, and comes in again
 * on this or another machine. Each one is taken whole or not at all.
 */
import { realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { Message } from '../../ipc/contracts/rpcRecords.ts';
import { ExportedSession } from '../../ipc/contracts/rpcSessions.ts';
import type { SessionRecord, Store } from './store.ts';
import type { Transcripts } from './transcripts.ts';

interface Parts {
  store: Store;
  transcripts: Transcripts;
  /** Copies of attachments below this directory may be named by an imported session; others are left out. */
  dir: string;
}

/** Errors: BAD_REQUEST when it is too large for one answer. */
export function exported({ store, transcripts }: Parts, session: SessionRecord): ExportedSession {
  const size = store.one<{ chars: number | null }>(
    'SELECT sum(length(content) + coalesce(length(reasoning), 0) + coalesce(length(tool_calls), 0) + 400) AS chars FROM messages WHERE session_id = ? AND active = 1',
    session.id,
  )!.chars;
  if ((size ?? 0) > limits.sessions.exportMaxChars) {
    throw new AgentError('BAD_REQUEST', `the session has ${size} characters; one answer holds ${limits.sessions.exportMaxChars}`, {
      field: 'session_id',
      fix: 'agent sessions export reads it from the file',
    });
  }
  return {
    format: 'agent.session.v1',
    session: headOf(session),
    messages: transcripts.history(session.id, { limit: limits.sessions.importRowsMax }),
  };
}

function headOf(session: SessionRecord): ExportedSession['session'] {
  const { id, source, platform, title, model, provider, cwd, parent_session_id, system_prompt, tool_names, compressions } = session;
  return {
    id,
    source,
    platform,
    title,
    model,
    provider,
    cwd,
    parent_session_id,
    hidden: session.hidden === 1,
    archived: session.archived === 1,
    compressions,
    system_prompt,
    tool_names: tool_names ? (JSON.parse(tool_names) as string[]) : null,
    started_at: isoTime(session.started_at),
    last_active: isoTime(session.last_active),
  };
}

/** Its facts about a session, checked: the rest of the document is left alone. */
const Head = z.object({
  id: z.string().regex(/^[\w-]{1,80}$/, 'it is no id of a session'),
  source: z.string().max(80),
  platform: z.string().max(80).nullish(),
  title: z.string().nullable(),
  model: z.string().max(200).nullish(),
  provider: z.string().max(200).nullish(),
  cwd: z.string().max(4_096).optional(),
  parent_session_id: z.string().max(80).nullish(),
  hidden: z.boolean().optional(),
  archived: z.boolean().optional(),
  compressions: z.number().int().min(0).optional(),
  system_prompt: z.string().max(1_000_000).nullish(),
  tool_names: z.array(z.string().max(200)).max(2_000).nullish(),
  started_at: z.iso.datetime(),
  last_active: z.iso.datetime().optional(),
});
const Document = ExportedSession.extend({ session: Head, messages: z.array(Message).max(limits.sessions.importRowsMax) });
type Document = z.infer<typeof Document>;

/** `warning`: what was changed on the way in. */
export type Imported = { outcome: 'imported' | 'skipped'; id: string; warning?: string };

/** Skipped when the same conversation stands under its id; a new id when another one does. Errors: BAD_REQUEST naming the field, DISK_FULL. */
export function importOne(parts: Parts, document: unknown): Imported {
  const parsed = Document.safeParse(document);
  if (!parsed.success) throw badDocument(parsed.error);
  const { session, messages } = parsed.data;
  const there = parts.store.session(session.id);
  if (there && sameConversation(parts, there, messages)) return { outcome: 'skipped', id: there.id };
  const id = there ? sortableId('ses') : session.id;
  const { title, warning } = fittingTitle(session.title);
  parts.store.transaction(() => insert(parts, id, { ...parsed.data, session: { ...session, title } }));
  return { outcome: 'imported', id, ...(warning === undefined ? {} : { warning }) };
}

/** Nobody loses a conversation over its title: one that is too long is cut. */
function fittingTitle(title: string | null): { title: string | null; warning?: string } {
  const max = limits.sessions.titleMaxChars;
  if (title === null || title.length <= max) return { title };
  // Not through the middle of a character of two halves.
  const cut = title.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '');
  return { title: `${cut}…`, warning: `its title of ${title.length} characters was cut to ${max}` };
}

function badDocument(error: z.ZodError): AgentError {
  const { path, message } = error.issues[0]!;
  return new AgentError('BAD_REQUEST', `${path.map(String).join('.') || 'document'}: ${message}`, {
    field: path.map(String).join('.'),
    fix: 'a document of `agent sessions export` has format agent.session.v1',
  });
}

function sameConversation({ transcripts }: Parts, there: SessionRecord, messages: Message[]): boolean {
  const essence = ({ id: _id, attachments: _files, ...message }: Message) => message;
  const own = transcripts.history(there.id, { limit: limits.sessions.importRowsMax });
  return isDeepStrictEqual(own.map(essence), messages.map(essence));
}

/** Counts as used also without a prompt: what was taken is listed, and not forgotten after a day. */
function insert(parts: Parts, id: string, { session, messages }: Document): void {
  const { store } = parts;
  store.run(
    `INSERT INTO sessions (id, source, platform, title, model, provider, cwd, parent_session_id, hidden, archived, compressions, system_prompt, tool_names, started_at, last_active, used)
     VALUES (@id, @source, @platform, @title, @model, @provider, @cwd, @parent, @hidden, @archived, @compressions, @prompt, @tools, @startedAt, @lastActive, 1)`,
    {
      id,
      source: session.source,
      platform: session.platform ?? null,
      title: session.title,
      model: session.model ?? null,
      provider: session.provider ?? null,
      cwd: session.cwd ?? '/',
      parent: session.parent_session_id ?? null,
      hidden: session.hidden ? 1 : 0,
      archived: session.archived ? 1 : 0,
      compressions: session.compressions ?? 0,
      prompt: session.system_prompt ?? null,
      tools: session.tool_names ? JSON.stringify(session.tool_names) : null,
      startedAt: Date.parse(session.started_at),
      lastActive: Date.parse(session.last_active ?? session.started_at),
    },
  );
  messages.forEach((message, index) => insertMessage(parts, { sessionId: id, position: index + 1, message }));
}

function insertMessage(parts: Parts, { sessionId, position, message }: { sessionId: string; position: number; message: Message }): void {
  const { store } = parts;
  const at = Date.parse(message.timestamp);
  const files = message.attachments?.filter(({ path }) => isOurs(parts.dir, path)) ?? [];
  const { id } = store.run(
    `INSERT INTO messages (session_id, position, role, content, tool_calls, tool_call_id, tool_name, is_error, reasoning, finish_reason, timestamp, compacted, kind, attachments)
     VALUES (@sessionId, @position, @role, @content, @calls, @callId, @tool, @failed, @reasoning, @finish, @at, @compacted, @kind, @files)`,
    {
      sessionId,
      position,
      at,
      role: message.role,
      content: message.content,
      calls: message.tool_calls ? JSON.stringify(message.tool_calls) : null,
      callId: message.tool_call_id,
      tool: message.tool_name,
      failed: message.is_error ? 1 : 0,
      reasoning: message.reasoning,
      finish: message.finish_reason ?? (message.role === 'assistant' ? 'stop' : null),
      compacted: message.in_context ? 0 : 1,
      kind: message.kind,
      files: files.length ? JSON.stringify(files) : null,
    },
  );
  if (message.error === null && message.duration_ms === null) return;
  store.run(
    'INSERT INTO turns (session_id, message_id, status, assistant_id, text, error, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    sessionId,
    id,
    message.error ? 'error' : message.finish_reason === 'interrupted' ? 'interrupted' : 'complete',
    id,
    message.content,
    message.error ? JSON.stringify(message.error) : null,
    at - (message.duration_ms ?? 0),
    at,
  );
}

/** A path in a document could name any file of this machine, and would be sent to a model. */
function isOurs(dir: string, path: string): boolean {
  try {
    return realpathSync(path).startsWith(realpathSync(dir) + sep + 'attachments' + sep);
  } catch {
    return false;
  }
}
