/** What the host says about files, and how file tools read and replace them: whole, atomically, never the service's own secrets and stores. */
import { isUtf8 } from 'node:buffer';
import { closeSync, lstatSync, mkdirSync, readFileSync, rmSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { AgentError, errnoOf, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { kindWords, openPlainFile } from '../../base/regularFile.ts';
import { absolutePath, realTarget } from './filePath.ts';

export interface FileHost {
  /** Relative paths start here. */
  cwd: string;
  /** Says of a real path that it holds secrets of the service: never read, never written. */
  isSecret(realPath: string): boolean;
  /** Says of a real path that only the service itself writes it (its databases, locks, sockets). */
  isStore(realPath: string): boolean;
  /** Home of the service; its files say what the service does. */
  home: string;
  /** The rules of the sandbox, which hold for files as they do for commands; absent = there is none. */
  sandbox?: FileSandbox | undefined;
  /** A reader, a crash or a full disk sees the old content or the new. Errors: DISK_FULL, HOME_UNUSABLE. */
  replace(path: string, content: string, mode: number): void;
}

/** A part of agent/sandbox/policy.ts. */
export interface FileSandbox {
  mayRead(realPath: string): boolean;
  mayWrite(realPath: string): boolean;
  hostPath(path: string): string;
  /** It is in the folder for temporary files of the session. */
  isTemporary(realPath: string): boolean;
}

/** Where a path leads that the model names. */
export const hostPath = (name: string, { cwd, sandbox }: Pick<FileHost, 'cwd' | 'sandbox'>): string => {
  const path = absolutePath(name, cwd);
  return sandbox ? sandbox.hostPath(path) : path;
};

/** Errors: TOOL_REFUSED. */
export function refuseOutside(path: string, real: string, how: 'read' | 'write', sandbox: FileSandbox | undefined): void {
  if (!sandbox || (how === 'read' ? sandbox.mayRead(real) : sandbox.mayWrite(real))) return;
  throw new AgentError('TOOL_REFUSED', `${path} is outside of the sandbox: it cannot be ${how === 'read' ? 'read' : 'changed'} here`, {
    fix: `work in the directory of the session, or ask the user to list it in sandbox.${how === 'read' ? 'readable' : 'writable'}`,
  });
}

/** A file as it is before a change. */
export interface FileBefore {
  /** As asked for, absolute. */
  path: string;
  /** Where it really is. */
  real: string;
  /** Null = it does not exist. */
  text: string | null;
  /** False: its bytes are no UTF-8, so `text` is not all that is in it. */
  isUtf8: boolean;
  mode: number;
}

const NEW_FILE_MODE = 0o666;

/** Errors: TOOL_REFUSED (secrets, own stores), BAD_REQUEST (no regular file, binary, too large), FILE_FAILED. */
export function openForChange(name: string, host: FileHost): FileBefore {
  const path = absolutePath(name, host.cwd);
  const real = realTarget(hostPath(name, host));
  refuseOutside(path, real, 'write', host.sandbox);
  if (!host.sandbox?.isTemporary(real)) refuseOwn(path, real, host);
  const stat = statOf(path, real);
  if (!stat) return { path, real, text: null, isUtf8: true, mode: NEW_FILE_MODE & ~process.umask() };
  if (!stat.isFile()) throw new AgentError('BAD_REQUEST', `${path} is ${stat.isDirectory() ? 'a directory' : 'not a regular file'}`);
  const bytes = bytesOf(path, real);
  return { path, real, text: bytes.toString('utf8'), isUtf8: isUtf8(bytes), mode: stat.mode & 0o7777 };
}

function statOf(path: string, real: string): Stats | undefined {
  try {
    return lstatSync(real, { throwIfNoEntry: false });
  } catch (thrown) {
    throw fileFailed('read', path, thrown);
  }
}

function refuseOwn(path: string, real: string, { isSecret, isStore }: FileHost): void {
  if (isSecret(real)) {
    throw new AgentError('TOOL_REFUSED', `${path} holds secrets of the service and is not touched`, { fix: 'ask the user to change it' });
  }
  if (isStore(real)) {
    throw new AgentError('TOOL_REFUSED', `${path} belongs to the running service, which alone writes it`, {
      fix: 'use the tool or the `agent` command that changes what is in it',
    });
  }
}

/** Errors: BAD_REQUEST, FILE_FAILED. */
function bytesOf(path: string, real: string): Buffer {
  let fd: number | undefined;
  try {
    const file = openPlainFile(real);
    if (file.kind !== 'file') throw new AgentError('BAD_REQUEST', `${path} is ${kindWords[file.kind]}`);
    fd = file.fd;
    const { size } = file.stat;
    if (size > limits.tools.writeMaxChars * 4) throw new AgentError('BAD_REQUEST', `${path} has ${size} bytes, too many to edit here`);
    const bytes = readFileSync(fd);
    if (bytes.subarray(0, 8_192).includes(0)) throw new AgentError('BAD_REQUEST', `${path} is binary`);
    return bytes;
  } catch (thrown) {
    throw isAgentError(thrown) ? thrown : fileFailed('read', path, thrown);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Makes its folder first. Errors: DISK_FULL, FILE_FAILED; the file keeps its old content then. */
export function replaceFile({ path, real, mode }: FileBefore, content: string, { replace }: FileHost): void {
  try {
    mkdirSync(dirname(real), { recursive: true });
    replace(real, content, mode);
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'DISK_FULL') throw thrown;
    throw errnoOf(thrown) === 'ENOSPC'
      ? new AgentError('DISK_FULL', `no room for ${path}`, { cause: thrown, fix: 'free some disk space, then repeat' })
      : fileFailed('write', path, isAgentError(thrown) ? (thrown.cause ?? thrown) : thrown);
  }
}

/** Errors: FILE_FAILED. */
export function removeFile({ path, real }: FileBefore): void {
  try {
    rmSync(real);
  } catch (thrown) {
    throw fileFailed('remove', path, thrown);
  }
}

function fileFailed(doing: string, path: string, cause: unknown): AgentError {
  return new AgentError('FILE_FAILED', `cannot ${doing} ${path} (${errnoOf(cause) ?? String(cause)})`, { cause });
}
