/** Files of a conversation, part by part from the agent worker, which has checked whose they are and what they are. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Client } from '../../../ipc/client.ts';
import { listAttachments, readAttachment } from '../../../ipc/contracts/http/sessions.ts';
import { sessionAttachment, sessionAttachments } from '../../../ipc/contracts/rpcAttachments.ts';
import type { ResultOf } from '../../../ipc/method.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';
import { dispositionOf } from './files.ts';

/** Shown in place by a browser; a picture cannot run anything, which SVG could. */
const SHOWN: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export function attachmentRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(listAttachments, ({ params: { id }, query: { limit, offset }, profile, signal }) =>
      agentOf(profile).call(sessionAttachments, { session_id: id, limit, offset }, { signal }),
    ),
    on(readAttachment, async ({ params: { id, attachment }, profile, signal, request, reply }) => {
      const etag = `"${attachment}"`;
      const known = request.headers['if-none-match'] === etag;
      const source = { agent: agentOf(profile), asked: { session_id: id, attachment }, signal };
      // Also a browser that has it is told whether the session still does.
      const first = await partOf(source, 0, known || request.method === 'HEAD' ? 0 : limits.attachments.partBytes);
      void reply.headers({ ...headersOf(first), ETag: etag });
      if (known) return reply.status(304).send();
      void reply.type(SHOWN.has(first.media_type) ? first.media_type : 'application/octet-stream');
      return send(reply, source, first);
    }),
  ];
}

interface Source {
  agent: Client;
  asked: { session_id: string; attachment: string };
  signal: AbortSignal;
}
type Part = ResultOf<typeof sessionAttachment>;

const partOf = ({ agent, asked, signal }: Source, offset: number, length: number): Promise<Part> =>
  agent.call(sessionAttachment, { ...asked, offset, length }, { signal });

function headersOf({ name, media_type }: Part): Record<string, string> {
  return {
    // For whoever is signed in now, and nobody else at the same browser.
    'Cache-Control': `private, max-age=${limits.attachments.browserKeepS}, immutable`,
    Vary: 'Cookie, X-Agent-Session-Token',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Content-Disposition': SHOWN.has(media_type) ? dispositionOf(name).replace('attachment', 'inline') : dispositionOf(name),
  };
}

function send(reply: FastifyReply, source: Source, first: Part): FastifyReply {
  void reply.header('Content-Length', String(first.size));
  return reply.send(Readable.from(bytesOf(source, first), { objectMode: false }));
}

/** One part in memory at a time; the next is asked for when the browser has taken this one. */
async function* bytesOf(source: Source, first: Part): AsyncGenerator<Buffer> {
  let sent = 0;
  for (let part = first; sent < first.size; part = await partOf(source, sent, limits.attachments.partBytes)) {
    const bytes = Buffer.from(part.data_base64, 'base64');
    // Cut off in mid-answer, so that nobody takes a piece for the whole.
    if (bytes.length === 0 || part.size !== first.size) throw new AgentError('ATTACHMENT_GONE', 'the file changed while it was read');
    sent += bytes.length;
    yield bytes;
    if (sent === first.size) return;
  }
}
