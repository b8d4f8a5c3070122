/** Methods of the gateway RPC about the files of a session. */
import { limits } from '../../../base/limits.ts';
import { sessionAttachment, sessionAttachments } from '../../../ipc/contracts/rpcAttachments.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { filesOf, readPart } from '../attachments.ts';
import { requireSession, type SessionParts } from '../sessions.ts';

const LIST_DEFAULT = 100;

export function attachmentHandlers({ context, store }: SessionParts): Handler[] {
  return [
    handle(sessionAttachments, ({ session_id, limit = LIST_DEFAULT, offset = 0 }) => {
      const { id } = requireSession(store, session_id);
      return { session_id: id, ...filesOf(store, id, { limit, offset }) };
    }),
    handle(sessionAttachment, ({ session_id, attachment, offset = 0, length = limits.attachments.partBytes }) =>
      readPart({ paths: context.paths, store }, { sessionId: requireSession(store, session_id).id, id: attachment, offset, length }),
    ),
  ];
}
