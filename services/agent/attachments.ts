/**
 * Files that go with a prompt: our own copies below the home, named by their content, private, kept until
 * the last session that names them is gone. The first bytes decide what a file is, never its name.
 */
import { constants, existsSync, mkdirSync, readdirSync, realpathSync, statSync, unlinkSync, utimesSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, isAbsolute, join, sep } from 'node:path';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import type { AttachmentInput } from '../../ipc/contracts/rpc.ts';
import type { SessionFile } from '../../ipc/contracts/rpcAttachments.ts';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import { confirmedNow } from '../../state/confirmedTime.ts';
import type { WorkerContext } from '../worker.ts';
import type { Store } from './store.ts';

/** Kinds that models and tools can do something with: first bytes → media type and ending. */
const kinds: readonly { mediaType: string; extension: string; matches(bytes: Buffer): boolean }[] = [
  { mediaType: 'image/png', extension: 'png', matches: (bytes) => starts(bytes, '\x89PNG\r\n\x1a\n') },
  { mediaType: 'image/jpeg', extension: 'jpg', matches: (bytes) => starts(bytes, '\xff\xd8\xff') },
  { mediaType: 'image/gif', extension: 'gif', matches: (bytes) => starts(bytes, 'GIF87a') || starts(bytes, 'GIF89a') },
  { mediaType: 'image/webp', extension: 'webp', matches: (bytes) => starts(bytes, 'RIFF') && starts(bytes.subarray(8), 'WEBP') },
  { mediaType: 'application/pdf', extension: 'pdf', matches: (bytes) => starts(bytes, '%PDF-') },
  { mediaType: 'text/plain', extension: 'txt', matches: isText },
];

const starts = (bytes: Buffer, magic: string): boolean => bytes.subarray(0, magic.length).equals(Buffer.from(magic, 'latin1'));

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Durable when it resolves. Errors: BAD_REQUEST with the field, DISK_FULL, HOME_UNUSABLE. */
export async function storeAttachments(context: WorkerContext, inputs: readonly AttachmentInput[]): Promise<Attachment[]> {
  const stored: Attachment[] = [];
  let sizeBytes = 0;
  for (const [index, input] of inputs.entries()) {
    const field = `attachments.${index}`;
    const { name, bytes } = 'path' in input ? await readInput(context, input.path, field) : decoded(input, field);
    sizeBytes += bytes.length;
    if (sizeBytes > limits.attachments.promptMaxBytes) throw tooLarge(field, 'the files of this prompt', limits.attachments.promptMaxBytes);
    stored.push(keep(context, name, bytes, field));
  }
  return stored;
}

/** Copies of images in a tool's result; what is no image, or over the limits, is left out. Errors: DISK_FULL, HOME_UNUSABLE. */
export function storeImages(context: WorkerContext, tool: string, images: readonly { data: string }[]): Attachment[] {
  const stored: Attachment[] = [];
  for (const { data } of images.slice(0, limits.attachments.perPromptMax)) {
    const bytes = Buffer.from(data, 'base64');
    const kind = kinds.find(({ matches }) => matches(bytes));
    if (!kind?.mediaType.startsWith('image/') || bytes.length > limits.attachments.fileMaxBytes) continue;
    stored.push(keep(context, `${tool}-${stored.length + 1}.${kind.extension}`, bytes, 'result'));
  }
  return stored;
}

function keep({ paths }: WorkerContext, name: string, bytes: Buffer, field: string): Attachment {
  const kind = kinds.find(({ matches }) => matches(bytes));
  if (!kind || bytes.length === 0) {
    throw refused(field, `${name} is ${bytes.length === 0 ? 'empty' : 'neither a picture (PNG, JPEG, GIF, WebP), a PDF nor text'}`);
  }
  const dir = folderOf(paths.dir);
  const path = join(dir, `${digest(bytes)}.${kind.extension}`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Touched, so that housekeeping does not take it for forgotten before its prompt is stored.
  if (existsSync(path)) utimesSync(path, new Date(), new Date());
  else writeFileAtomic(path, bytes, { mode: 0o600 });
  const isImage = kind.mediaType.startsWith('image/');
  return { kind: isImage ? 'image' : 'file', name: basename(name).slice(0, 200), media_type: kind.mediaType, size: bytes.length, path };
}

const folderOf = (dir: string): string => join(dir, 'attachments');

/** A file of the user. The service's own folder is closed: it holds keys and other people's conversations. */
async function readInput({ home }: WorkerContext, path: string, field: string): Promise<{ name: string; bytes: Buffer }> {
  if (!isAbsolute(path)) throw refused(field, `${path} is not an absolute path`);
  try {
    const real = realpathSync(path);
    if (real.startsWith(realpathSync(home.root) + sep))
      throw refused(field, `${path} is inside the service's own folder`, 'copy it elsewhere first');
    await using file = await open(real, 'r');
    const stats = await file.stat();
    if (!stats.isFile()) throw refused(field, `${path} is not a file`);
    if (stats.size > limits.attachments.fileMaxBytes) throw tooLarge(field, path, limits.attachments.fileMaxBytes);
    // No more than it claims to have: files of the kernel say 0 and would show this process's own environment.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return { name: basename(path), bytes: buffer.subarray(0, bytesRead) };
  } catch (thrown) {
    if (thrown instanceof AgentError) throw thrown;
    throw refused(field, errnoOf(thrown) === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${messageOf(thrown)}`);
  }
}

function decoded({ name, data_base64 }: Extract<AttachmentInput, { name: string }>, field: string): { name: string; bytes: Buffer } {
  const bytes = Buffer.from(data_base64, 'base64');
  if (bytes.length > limits.attachments.fileMaxBytes) throw tooLarge(field, name, limits.attachments.fileMaxBytes);
  return { name, bytes };
}

const refused = (field: string, message: string, fix?: string): AgentError =>
  new AgentError('BAD_REQUEST', message, { field, ...(fix ? { fix } : {}) });

const tooLarge = (field: string, what: string, maxBytes: number): AgentError =>
  refused(
    field,
    `${what}: over the limit of ${maxBytes / 2 ** 20} MiB`,
    'make it smaller, or name its path in the prompt so that tools read it',
  );

// --- handing out ---

interface FileRow extends Attachment {
  message_id: number;
  at: number;
  total: number;
}

const FILES = `FROM messages, json_each(messages.attachments) AS file
  WHERE messages.session_id = @session AND messages.attachments IS NOT NULL AND messages.active = 1`;
const of = (field: string): string => `json_extract(file.value, '$.${field}') AS ${field}`;
const COLUMNS = `${['kind', 'name', 'media_type', 'size', 'path'].map(of).join(', ')}, messages.id AS message_id, messages.timestamp AS at, count(*) OVER () AS total`;

/** Files of what is shown of a session, the newest first. */
export function filesOf(
  store: Store,
  sessionId: string,
  { limit, offset }: { limit: number; offset: number },
): { files: SessionFile[]; total: number } {
  const rows = store.all<FileRow>(`SELECT ${COLUMNS} ${FILES} ORDER BY messages.id DESC, file.key LIMIT @limit OFFSET @offset`, {
    session: sessionId,
    limit,
    offset,
  });
  const files = rows.map(({ total: _total, at, path, ...row }) => ({ ...row, id: basename(path), timestamp: isoTime(at) }));
  return { files, total: rows[0]?.total ?? 0 };
}

export interface Part {
  name: string;
  kind: Attachment['kind'];
  media_type: string;
  /** Of the whole file. */
  size: number;
  data_base64: string;
}

/**
 * A part of a copy that a message of the session names. `id` never becomes a path unless a record ends in it, and the
 * folder is ours, wherever the home has moved to since. Errors: NOT_FOUND, ATTACHMENT_GONE.
 */
export async function readPart(
  { paths, store }: { paths: WorkerContext['paths']; store: Store },
  { sessionId, id, offset, length }: { sessionId: string; id: string; offset: number; length: number },
): Promise<Part> {
  const row = store.one<{ name: string; path: string; media_type: string }>(
    `SELECT ${COLUMNS} ${FILES} AND json_extract(file.value, '$.path') LIKE '%/' || @id ORDER BY messages.id DESC LIMIT 1`,
    { session: sessionId, id },
  );
  if (!row || basename(row.path) !== id)
    throw new AgentError('NOT_FOUND', `no message of this session names ${id}`, { fix: '`agent sessions attachments` lists its files' });
  try {
    // A copy is a file of ours; a link in its place is somebody else's doing.
    await using file = await open(join(folderOf(paths.dir), id), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) throw gone(row.name);
    const head = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const wanted = Math.max(0, Math.min(length, stats.size - offset));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, offset);
    const mediaType = typeOf(head.buffer.subarray(0, head.bytesRead), row.media_type);
    return {
      name: row.name,
      kind: mediaType.startsWith('image/') ? 'image' : 'file',
      media_type: mediaType,
      size: stats.size,
      data_base64: buffer.toString('base64', 0, bytesRead),
    };
  } catch (thrown) {
    if (thrown instanceof AgentError || !GONE.has(errnoOf(thrown) ?? '')) throw thrown;
    throw gone(row.name);
  }
}

/** Longer than the longest mark that a kind begins with. */
const HEAD_BYTES = 16;
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO']);

const gone = (name: string): AgentError =>
  new AgentError('ATTACHMENT_GONE', `the copy of ${name} is no longer on the disk`, {
    fix: 'attach the file again',
  });

/** A record may come from another machine: only what the bytes say makes a picture of a file. */
function typeOf(head: Buffer, recorded: string): string {
  const kind = kinds.find(({ mediaType, matches }) => mediaType !== 'text/plain' && matches(head));
  return kind?.mediaType ?? (recorded === 'text/plain' ? recorded : 'application/octet-stream');
}

// --- housekeeping ---

/** Removes copies that no message names any more; how many. */
export function forgetAttachments({ home, paths }: WorkerContext, store: Store): number {
  const dir = folderOf(paths.dir);
  if (!existsSync(dir)) return 0;
  const named = new Set(
    store
      .all<{ path: string }>(
        "SELECT DISTINCT json_extract(file.value, '$.path') AS path FROM messages, json_each(messages.attachments) AS file WHERE messages.attachments IS NOT NULL",
      )
      .map((row) => row.path),
  );
  const nowMs = confirmedNow(home);
  const orphans = readdirSync(dir)
    .map((name) => join(dir, name))
    .filter((path) => !named.has(path) && nowMs - statSync(path).mtimeMs > limits.attachments.orphanMs);
  for (const path of orphans) unlinkSync(path);
  return orphans.length;
}
