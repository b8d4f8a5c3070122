/**
 * `agent files put` and `get`: whole files in and out of the root. Both are written aside and put in place at the end, so
 * ctrl-C, a full disk or a file that is too large leave nothing behind.
 */
import { constants, statSync } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { visibleText } from '../../base/visibleText.ts';
import { openFile, takeIn } from '../../state/files/files.ts';
import { fileError, type FilePlaces } from '../../state/files/places.ts';
import { tooLarge, writeWhole } from '../../state/files/wholeFile.ts';
import { hasFlag, textOption, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { out, print, printJson } from '../terminal.ts';
import { writeToStdout } from './show.ts';
import { sizeForPeople } from './view.ts';

/** Errors: USAGE, CANCELLED, and as takeIn. */
export async function putFile(places: FilePlaces, input: Input): Promise<number> {
  const [file, folder = ''] = input.args as [string, string?];
  const name = textOption(input, 'name') ?? (file === '-' ? undefined : basename(resolve(file)));
  if (name === undefined) throw new AgentError('USAGE', 'stdin has no name', { fix: 'add --name <name>' });
  const overwrite = hasFlag(input, 'overwrite');
  await using source = file === '-' ? fromStdin() : await openOwn(file);
  if (source.size !== undefined && source.size > limits.files.uploadMaxBytes) throw tooLarge(name, limits.files.uploadMaxBytes);
  const done = await untilInterrupted(async (signal) =>
    moving({ verb: 'putting', name, size: source.size, stream: addAbortSignal(signal, source.stream()) }, (content) =>
      takeIn(places, { folder, name, overwrite, signal }, content),
    ),
  ).catch((thrown: unknown) => {
    throw replaceable(thrown, '--overwrite replaces it, --name gives another name');
  });
  if (input.json) printJson({ ok: true, path: done.path, name, size: done.size });
  else print(`${visibleText(done.path)}  ${sizeForPeople(done.size)}`);
  return exitCodes.ok;
}

/** Errors: USAGE, CANCELLED, NOT_FOUND, FILE_EXISTS, DISK_FULL, FILE_FAILED, PATH_REFUSED. */
export async function fetchFile(places: FilePlaces, input: Input): Promise<number> {
  const [path, wanted = '.'] = input.args as [string, string?];
  if (wanted === '-') return toStdout(places, path, input);
  await using file = await openFile(places, path);
  const overwrite = hasFlag(input, 'overwrite');
  const target = await targetOf(wanted, file.name);
  const size = await untilInterrupted((signal) => {
    const stream = addAbortSignal(signal, file.handle.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES }));
    return moving({ verb: 'fetching', name: file.name, size: file.size, stream }, (content) =>
      writeWhole({ target, overwrite, mode: 0o666, signal }, content),
    );
  }).catch((thrown: unknown) => {
    throw replaceable(thrown, '--overwrite replaces it; or name another target');
  });
  if (input.json) printJson({ ok: true, path: file.path, target, size });
  else print(`${visibleText(target)}  ${sizeForPeople(size)}`);
  return exitCodes.ok;
}

const CHUNK_BYTES = 256 * 1_024;

async function toStdout(places: FilePlaces, path: string, { json }: Input): Promise<number> {
  if (json) throw new AgentError('USAGE', 'stdout cannot hold the file and a JSON document', { fix: 'leave out --json' });
  if (out.isTTY)
    throw new AgentError('USAGE', 'a terminal takes no bytes', { fix: 'agent files cat shows text; or name a target, or a pipe' });
  await writeToStdout(places, path);
  return exitCodes.ok;
}

/** A directory takes it under its own name; a link leads to what is replaced. Errors: NOT_FOUND, FILE_FAILED. */
async function targetOf(wanted: string, name: string): Promise<string> {
  const given = resolve(wanted);
  const target = isDirectory(given) || wanted.endsWith('/') ? join(given, name) : given;
  if (!isDirectory(dirname(target)))
    throw new AgentError('NOT_FOUND', `there is no directory ${visibleText(dirname(target))}`, { fix: 'make it first' });
  const found = statSync(target, { throwIfNoEntry: false });
  if (found && !found.isFile())
    throw new AgentError('FILE_FAILED', `${visibleText(target)} is no file that could be replaced`, {
      fix: 'name another target, or - for stdout',
    });
  return found ? realpath(target) : target;
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

interface Source extends AsyncDisposable {
  /** Bytes; undefined where nobody knows. */
  size: number | undefined;
  stream: () => Readable;
}

/** Errors: NOT_FOUND, FILE_FAILED, USAGE. */
async function openOwn(file: string): Promise<Source> {
  // A pipe without a writer must not hold the command.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((thrown: unknown) => {
    throw fileError(resolve(file), thrown);
  });
  const found = await handle.stat();
  if (!found.isFile()) {
    await handle.close();
    throw new AgentError('USAGE', `${visibleText(file)} is not a file`, {
      fix: found.isDirectory() ? 'put its files one by one' : 'hand it over on stdin: agent files put - --name <name> < …',
    });
  }
  return {
    // Those of /proc say 0 and hold something.
    size: found.size || undefined,
    stream: () => handle.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

const fromStdin = (): Source => ({ size: undefined, stream: () => process.stdin, [Symbol.asyncDispose]: () => Promise.resolve() });

interface Moving {
  verb: string;
  name: string;
  size: number | undefined;
  stream: Readable;
}

/** Says on a terminal how far it is. */
function moving<T>({ verb, name, size, stream }: Moving, work: (content: AsyncIterable<Buffer>) => Promise<T>): Promise<T> {
  let moved = 0;
  async function* counted(): AsyncIterable<Buffer> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      moved += chunk.length;
      yield chunk;
    }
  }
  const what = () => `${verb} ${visibleText(name)}: ${sizeForPeople(moved)}${size === undefined ? '' : ` of ${sizeForPeople(size)}`}`;
  return withProgress(what, () => work(counted()));
}

const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ctrl-C ends the work, what was written aside is removed, then the command ends. Errors: CANCELLED. */
async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new AgentError('CANCELLED', 'stopped; nothing was left behind'));
  for (const signal of ENDINGS) process.once(signal, onSignal);
  try {
    return await work(stop.signal);
  } catch (thrown) {
    stop.signal.throwIfAborted();
    throw errnoOf(thrown) === undefined ? thrown : fileError('stdin', thrown);
  } finally {
    for (const signal of ENDINGS) process.off(signal, onSignal);
  }
}

function replaceable(thrown: unknown, fix: string): unknown {
  if (!(thrown instanceof AgentError) || thrown.code !== 'FILE_EXISTS') return thrown;
  return new AgentError(thrown.code, thrown.message, { cause: thrown, fix });
}
