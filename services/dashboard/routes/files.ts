/** Files below the root: the page's look at what the agent works on. */
import type { FastifyReply } from 'fastify';
import { AgentError } from '../../../base/errors.ts';
import * as http from '../../../ipc/contracts/http/files.ts';
import { listFolder, makeFolder, openFile, readWhole, takeIn, type OpenFile } from '../../../state/files/files.ts';
import { createFilePlaces, type FilePlaces } from '../../../state/files/places.ts';
import { listTrash, removeEntry, restoreEntry } from '../../../state/files/trash.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function fileRoutes({ context }: Dashboard): HttpHandler[] {
  const places = createFilePlaces(context.home, () => context.config().config.dashboard?.files_root);
  return [
    on(http.listFiles, ({ query: { path, hidden } }) => listFolder(places, path, hidden)),
    on(http.readFile, ({ query: { path } }) => readWhole(places, path)),
    on(http.downloadFile, ({ query: { path }, request, reply }) => download(places, path, { range: request.headers.range, reply })),
    on(http.uploadFile, async ({ request }) => {
      if (!request.isMultipart()) throw Object.assign(new Error('the body must be multipart/form-data'), { statusCode: 415 });
      const part = await request.file();
      if (!part)
        throw new AgentError('BAD_REQUEST', 'file: the form holds no file', { fix: 'send the fields path and overwrite, then file' });
      const said = (name: string): string => {
        const field = part.fields[name];
        return field && 'value' in field && typeof field.value === 'string' ? field.value : '';
      };
      const name = part.filename;
      const { path, size } = await takeIn(places, { folder: said('path'), name, overwrite: said('overwrite') === 'true' }, part.file);
      context.log.info('file taken in', { size, from: request.ip });
      return { ok: true as const, path, name, size };
    }),
    on(http.makeFolder, async ({ body: { path } }) => ({ ok: true as const, path: await makeFolder(places, path) })),
    on(http.listTrashRoute, () => listTrash(places)),
    on(http.restoreFile, async ({ body: { path, folder } }) => ({ ok: true as const, path: await restoreEntry(places, path, folder) })),
    on(http.deleteFile, async ({ body: { path, recursive, permanent } }) => ({
      ok: true as const,
      trashed: await removeEntry(places, path, { recursive, permanent }),
    })),
  ];
}

/** As a file to save, whatever is in it: nothing that was uploaded ever runs as a page of ours. */
async function download(places: FilePlaces, path: string, { range, reply }: { range: string | undefined; reply: FastifyReply }) {
  const file = await openFile(places, path);
  const part = rangeOf(range, file.size);
  void reply.headers({
    'Accept-Ranges': 'bytes',
    'Content-Disposition': dispositionOf(file.name),
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Last-Modified': new Date(file.mtime).toUTCString(),
  });
  if (part === 'bad') {
    await file[Symbol.asyncDispose]();
    return reply.status(416).header('Content-Range', `bytes */${file.size}`).send();
  }
  if (part) void reply.status(206).header('Content-Range', `bytes ${part.start}-${part.end}/${file.size}`);
  const { start, end } = part ?? { start: 0, end: file.size - 1 };
  void reply.header('Content-Length', String(end - start + 1)).type('application/octet-stream');
  return reply.send(streamOf(file, start, end));
}

function streamOf(file: OpenFile, start: number, end: number) {
  if (end < start) {
    void file[Symbol.asyncDispose]();
    return Buffer.alloc(0);
  }
  // Closes the file when it ends, and when the client goes away.
  return file.handle.createReadStream({ start, end, autoClose: true });
}

interface Part {
  start: number;
  end: number;
}

/** One range; several, or another unit, are answered with the whole file, as the standard allows. */
export function rangeOf(header: string | undefined, size: number): Part | 'bad' | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start >= size || end < start ? 'bad' : { start, end };
}

/** Names of strangers: nothing of them may end the header, and every browser gets letters it can read. */
export function dispositionOf(name: string): string {
  const plain = name.replaceAll(/[^\w.()\- ]/g, '_').slice(0, 150);
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
