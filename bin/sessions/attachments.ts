/** `agent sessions attachments`: files that went with the messages of a conversation, listed and taken out. */
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { sessionAttachment, sessionAttachments, type SessionFile } from '../../ipc/contracts/rpcAttachments.ts';
import type { Link } from '../../ipc/link.ts';
import { out, table, writeOut } from '../terminal.ts';
import type { OfflineSessions } from './offline.ts';

/** Where the files of one session come from: the agent worker, or the disk while it is down. */
export interface FileSource {
  files: SessionFile[];
  /** Part by part. Errors: ATTACHMENT_GONE. */
  bytes(id: string): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export async function filesOnline(link: Link, name: string): Promise<FileSource> {
  const files: SessionFile[] = [];
  let session_id = name;
  for (let total = 1; files.length < total;) {
    const page = await link.call(sessionAttachments, { session_id, limit: limits.attachments.listMax, offset: files.length });
    // The rest of the same session, also when `latest` is another one by now.
    session_id = page.session_id;
    files.push(...page.files);
    total = page.files.length === 0 ? 0 : page.total;
  }
  return { files, bytes: (id) => partsOf(link, { session_id, attachment: id }) };
}

async function* partsOf(link: Link, asked: { session_id: string; attachment: string }): AsyncGenerator<Uint8Array> {
  for (let sent = 0; ;) {
    const { data_base64, size } = await link.call(sessionAttachment, { ...asked, offset: sent });
    const bytes = Buffer.from(data_base64, 'base64');
    yield bytes;
    sent += bytes.length;
    if (sent >= size || bytes.length === 0) return;
  }
}

/** `dir`: of the profile. */
export function filesOffline(sessions: OfflineSessions, name: string, dir: string): FileSource {
  const files = sessions
    .messages(sessions.find(name))
    .flatMap(({ id: message_id, timestamp, attachments }) =>
      (attachments ?? []).map(({ path, ...file }) => ({ ...file, id: basename(path), message_id, timestamp })),
    );
  return {
    files: files.toReversed(),
    bytes(id) {
      const path = join(dir, 'attachments', id);
      if (!existsSync(path))
        throw new AgentError('ATTACHMENT_GONE', `the copy ${id} is no longer on the disk`, { fix: 'attach the file again' });
      return [readFileSync(path)];
    },
  };
}

export function fileTable(files: readonly SessionFile[]): string {
  const paint = painter(out);
  const rows = files.map(({ name, media_type, size, timestamp, id }) => [
    printable(name),
    media_type,
    `${size}`,
    new Date(timestamp).toLocaleString('sv-SE'),
    id,
  ]);
  return table([['NAME', 'TYPE', 'BYTES', 'SENT', 'ID'].map((head) => paint('dim', head)), ...rows]);
}

/** A name of a stranger moves no cursor. */
const printable = (name: string): string => name.replaceAll(/\p{Cc}/gu, '?');

/** By name or id; a name that several different files have is none. Errors: NOT_FOUND, USAGE. */
export function chosen(files: readonly SessionFile[], wanted: string): SessionFile {
  const found = files.filter(({ id, name }) => id === wanted || name === wanted);
  if (found.length === 0)
    throw new AgentError('NOT_FOUND', `no message of this session has a file "${wanted}"`, {
      fix: 'agent sessions attachments <session> lists them',
    });
  if (new Set(found.map(({ id }) => id)).size > 1)
    throw new AgentError('USAGE', `${found.length} different files are called "${wanted}"`, {
      fix: `give the id: ${[...new Set(found.map(({ id }) => id))].join(', ')}`,
    });
  return found[0]!;
}

/** To stdout, or into a file that is there only when it is whole; never over another one. Answers where and how much. */
export async function writeFile(
  source: FileSource,
  file: SessionFile,
  output: string | undefined,
): Promise<{ path: string | null; bytes: number }> {
  if (output === undefined && out.isTTY)
    throw new AgentError('USAGE', 'the bytes of a file do not belong on a terminal', {
      fix: 'add -o <file>, or send them to another program',
    });
  const path = output !== undefined && isFolder(output) ? join(output, basename(file.name)) : output;
  if (path !== undefined && existsSync(path))
    throw new AgentError('USAGE', `${path} is there already`, { fix: 'give another name with -o, or remove it first' });
  let bytes = 0;
  const temporary = path === undefined ? undefined : `${path}.part`;
  const target = temporary === undefined ? undefined : openSync(temporary, 'w', 0o600);
  try {
    for await (const part of source.bytes(file.id)) {
      if (target === undefined) writeOut(part);
      else writeSync(target, part);
      bytes += part.length;
    }
    if (temporary !== undefined) renameSync(temporary, path!);
    return { path: path ?? null, bytes };
  } finally {
    if (target !== undefined) closeSync(target);
    if (temporary !== undefined) rmSync(temporary, { force: true });
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
