/** Files that went with the prompts of a session, as the agent worker keeps them. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { rpcMethod, type Method } from '../method.ts';
import { Attachment } from './rpcRecords.ts';

const SessionId = z.string({ error: 'session_id is missing' });

/** Name of a copy: its content and what it is. The last part of `Attachment.path`. */
export const AttachmentId = z.string().regex(/^[0-9a-f]{64}\.[a-z]{1,8}$/, 'it is no id of an attachment: session.attachments lists them');

/** A file of a message; `id` names its bytes, which two messages may share. */
export const SessionFile = Attachment.omit({ path: true }).extend({ id: AttachmentId, message_id: z.number(), timestamp: z.string() });
export type SessionFile = z.infer<typeof SessionFile>;

/** The files of what is shown of a session, the newest first. Errors: UNKNOWN_SESSION. */
export const sessionAttachments = rpcMethod('session.attachments', {
  params: z.strictObject({
    session_id: SessionId,
    limit: z.number().int().min(1).max(limits.attachments.listMax).optional(),
    offset: z.number().int().min(0).optional(),
  }),
  result: z.object({ session_id: z.string(), files: z.array(SessionFile), total: z.number() }),
});

/**
 * A part of one of them, by default from its beginning and as long as one answer holds; `length` 0 tells what it is and
 * no more. `media_type` is what its first bytes say now, whatever the record says. Ask for the next part with
 * `offset` + the bytes that came, until `size` is reached. Errors: UNKNOWN_SESSION, NOT_FOUND when no message of the
 * session names it, ATTACHMENT_GONE when its copy was lost.
 */
export const sessionAttachment = rpcMethod('session.attachment', {
  params: z.strictObject({
    session_id: SessionId,
    attachment: AttachmentId,
    offset: z.number().int().min(0).optional(),
    length: z.number().int().min(0).max(limits.attachments.partBytes).optional(),
  }),
  result: z.object({
    name: z.string(),
    kind: z.enum(['image', 'file']),
    media_type: z.string(),
    size: z.number(),
    data_base64: z.string(),
  }),
});

export const attachmentMethods: readonly Method[] = [sessionAttachments, sessionAttachment];
