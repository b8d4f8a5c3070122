/**
 * Files that go with a prompt: our own copies below the home, named by their content, private, kept until
 * the last session that names them is gone. The first bytes decide what a file is, never its name.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, statSync, unlinkSync, utimesSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, isAbsolute, join, sep } from 'node:path';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { AttachmentInput } from '../../ipc/contracts/rpc.ts';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
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

/** Removes copies that no message names any more; how many. */
export function forgetAttachments({ paths }: WorkerContext, store: Store): number {
  const dir = folderOf(paths.dir);
  if (!existsSync(dir)) return 0;
  const named = new Set(
    store
      .all<{ path: string }>(
        "SELECT DISTINCT json_extract(file.value, '$.path') AS path FROM messages, json_each(messages.attachments) AS file WHERE messages.attachments IS NOT NULL",
      )
      .map((row) => row.path),
  );
  const orphans = readdirSync(dir)
    .map((name) => join(dir, name))
    .filter((path) => !named.has(path) && Date.now() - statSync(path).mtimeMs > limits.attachments.orphanMs);
  for (const path of orphans) unlinkSync(path);
  return orphans.length;
}
