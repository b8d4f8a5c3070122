/** Sessions and their messages over HTTP (reference/clients §1.4). They are the agent worker's of that profile. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';
import { AttachmentId, sessionAttachments } from '../rpcAttachments.ts';
import { Message, SessionRow } from '../rpcRecords.ts';
import { ExportedSession, SearchHit, sessionStats } from '../rpcSessions.ts';

const Count = (max: number) => z.coerce.number().int().min(1).max(max);
const Offset = z.coerce.number().int().min(0).max(10_000_000).default(0);
/** An id, its unique beginning, an exact title, or `latest`. */
const Id = z.object({ id: z.string().min(1).max(200) });
const Source = z.string().min(1).max(50);
/** `a,b` */
const Sources = z
  .string()
  .max(1_000)
  .transform((text) => text.split(',').filter(Boolean))
  .pipe(z.array(Source).max(50))
  .optional();

/** The row of the agent worker, and what clients of this API read from it. */
const HttpSession = SessionRow.extend({
  /** It works or waits, or something was said in the last five minutes. */
  is_active: z.boolean(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  profile: z.string(),
});

export const listSessions = httpRoute('GET /api/sessions', {
  tag: 'Sessions',
  summary: 'Sessions, the most recently used or the newest first.',
  profile: true,
  query: z.looseObject({
    limit: Count(500).default(50),
    offset: Offset,
    order: z.enum(['recent', 'created']).default('recent'),
    source: Source.optional(),
    sources: Sources,
    exclude_sources: Sources,
    archived: z.stringbool().optional(),
    include_hidden: z.stringbool().optional(),
  }),
  result: z.object({ sessions: z.array(HttpSession), total: z.number(), limit: z.number(), offset: z.number() }),
});

export const searchSessions = httpRoute('GET /api/sessions/search', {
  tag: 'Sessions',
  summary: 'Where words were said, over all conversations; the best first. `ready` is false while the index is being built.',
  profile: true,
  query: z.looseObject({ q: z.string().min(1).max(500), limit: Count(100).default(20), session_id: z.string().max(200).optional() }),
  result: z.object({
    results: z.array(
      SearchHit.extend({ source: z.string(), session_started: z.string().nullable(), lineage_root: z.string(), profile: z.string() }),
    ),
    ready: z.boolean(),
  }),
  errors: ['SEARCH_FAILED', 'UNKNOWN_SESSION'],
});

export const getSessionStats = httpRoute('GET /api/sessions/stats', {
  tag: 'Sessions',
  summary: 'How many sessions and messages there are, and where they come from.',
  profile: true,
  result: sessionStats.result.and(z.object({ active_store: z.number() })),
});

export const countEmptySessions = httpRoute('GET /api/sessions/empty/count', {
  tag: 'Sessions',
  summary: 'Sessions that were opened a while ago and never got a prompt.',
  profile: true,
  result: z.object({ count: z.number() }),
});

export const deleteEmptySessions = httpRoute('DELETE /api/sessions/empty', {
  tag: 'Sessions',
  summary: 'Deletes them.',
  profile: true,
  result: z.object({ ok: z.literal(true), removed: z.number() }),
});

export const bulkDeleteSessions = httpRoute('POST /api/sessions/bulk-delete', {
  tag: 'Sessions',
  summary: 'Deletes several sessions; those that work stay and are named.',
  profile: true,
  body: z.strictObject({ ids: z.array(z.string().min(1).max(200)).min(1).max(500), profile: Profile }),
  result: z.object({
    ok: z.boolean(),
    removed: z.number(),
    failed: z.array(z.object({ id: z.string(), code: z.string(), message: z.string() })),
  }),
});

export const pruneSessions = httpRoute('POST /api/sessions/prune', {
  tag: 'Sessions',
  summary: 'Deletes sessions that nobody has used for so long; working, archived and platform ones stay. `dry_run` only counts.',
  profile: true,
  body: z.strictObject({
    older_than_days: z.number().min(0).max(36_500),
    source: Source.optional(),
    dry_run: z.boolean().optional(),
    profile: Profile,
  }),
  result: z.object({ ok: z.literal(true), removed: z.number(), skipped_open: z.number(), freed_bytes: z.number() }),
});

export const importSessions = httpRoute('POST /api/sessions/import', {
  tag: 'Sessions',
  summary: 'Takes conversations that were exported; larger ones go through `agent sessions import`.',
  profile: true,
  body: z.strictObject({ sessions: z.array(z.unknown()).min(1).max(100), profile: Profile }),
  result: z.object({
    ok: z.boolean(),
    imported: z.number(),
    skipped: z.number(),
    imported_ids: z.array(z.string()),
    skipped_ids: z.array(z.string()),
    /** Conversations that lost their parent: always none here, a parent is only named. */
    detached: z.number(),
    errors: z.array(z.object({ index: z.number(), message: z.string() })),
    /** Of those that were taken: what was changed, a title that was cut. */
    warnings: z.array(z.object({ index: z.number(), message: z.string() })).optional(),
  }),
  bodyMaxBytes: limits.dashboard.importMaxBytes,
});

export const getSession = httpRoute('GET /api/sessions/:id', {
  tag: 'Sessions',
  summary: 'One session.',
  profile: true,
  params: Id,
  result: HttpSession,
  errors: ['UNKNOWN_SESSION'],
});

export const changeSession = httpRoute('PATCH /api/sessions/:id', {
  tag: 'Sessions',
  summary: 'Gives a session a title, puts it away or brings it back.',
  profile: true,
  params: Id,
  body: z
    .strictObject({ title: z.string().trim().min(1).max(200).optional(), archived: z.boolean().optional(), profile: Profile })
    .refine(({ title, archived }) => title !== undefined || archived !== undefined, 'give a title, or archived'),
  result: z.object({ ok: z.literal(true), title: z.string().nullable(), archived: z.boolean() }),
  errors: ['UNKNOWN_SESSION'],
});

export const deleteSession = httpRoute('DELETE /api/sessions/:id', {
  tag: 'Sessions',
  summary: 'Deletes a session with everything said in it. One that works stays.',
  profile: true,
  params: Id,
  result: z.object({ ok: z.boolean() }),
  errors: ['UNKNOWN_SESSION', 'BUSY'],
});

export const listMessages = httpRoute('GET /api/sessions/:id/messages', {
  tag: 'Sessions',
  summary: 'Messages of a session, oldest first; `limit` and `offset` count from the end, or from the beginning with `order=oldest`.',
  profile: true,
  params: Id,
  query: z.looseObject({ limit: Count(10_000).default(500), offset: Offset, order: z.enum(['latest', 'oldest']).default('latest') }),
  result: z.object({
    session_id: z.string(),
    messages: z.array(Message),
    pagination: z.object({ limit: z.number(), offset: z.number(), order: z.enum(['latest', 'oldest']), returned: z.number() }),
  }),
  errors: ['UNKNOWN_SESSION'],
});

export const latestDescendant = httpRoute('GET /api/sessions/:id/latest-descendant', {
  tag: 'Sessions',
  summary: 'Where a conversation goes on. A compression keeps its session here, so this is the session that the name leads to.',
  profile: true,
  params: Id,
  result: z.object({ requested_session_id: z.string(), session_id: z.string(), path: z.array(z.string()), changed: z.boolean() }),
  errors: ['UNKNOWN_SESSION'],
});

export const exportSession = httpRoute('GET /api/sessions/:id/export', {
  tag: 'Sessions',
  summary: 'The whole conversation as one document, as a file to keep; `import` takes it back.',
  profile: true,
  params: Id,
  result: ExportedSession,
  errors: ['UNKNOWN_SESSION'],
});

export const listAttachments = httpRoute('GET /api/sessions/:id/attachments', {
  tag: 'Sessions',
  summary: 'Files that went with the messages of a session, the newest first.',
  profile: true,
  params: Id,
  query: z.looseObject({ limit: Count(limits.attachments.listMax).default(100), offset: Offset }),
  result: sessionAttachments.result,
  errors: ['UNKNOWN_SESSION'],
});

/** A picture (PNG, JPEG, GIF, WebP by its own bytes) may be shown; everything else is a file to save, whatever its name says. */
export const readAttachment = httpRoute('GET /api/sessions/:id/attachments/:attachment', {
  tag: 'Sessions',
  summary: 'The bytes of one of them. Named by its content, so it never changes: browsers keep it. 410 when its copy was lost.',
  profile: true,
  params: Id.extend({ attachment: AttachmentId }),
  type: 'application/octet-stream',
  errors: ['UNKNOWN_SESSION', 'NOT_FOUND', 'ATTACHMENT_GONE'],
});
