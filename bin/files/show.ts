/** `agent files cat`: text on a terminal, bytes in a pipe. */
import { AgentError, errnoOf, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { visibleLines } from '../../base/visibleText.ts';
import { openFile, readWhole } from '../../state/files/files.ts';
import type { FilePlaces } from '../../state/files/places.ts';
import type { Input } from '../command.ts';
import { out, print, printJson, writeOut } from '../terminal.ts';

/** Errors: as openFile, and FILE_TOO_LARGE and FILE_FAILED (no text) on a terminal. */
export async function show(places: FilePlaces, input: Input): Promise<number> {
  const path = input.args[0]!;
  if (input.json) printJson(await whole(places, path));
  else if (out.isTTY) await showText(places, path);
  else await writeToStdout(places, path);
  return exitCodes.ok;
}

/** The bytes, a reader's pace. Errors: as openFile, DISK_FULL, FILE_FAILED. */
export async function writeToStdout(places: FilePlaces, path: string): Promise<number> {
  await using file = await openFile(places, path);
  let size = 0;
  for await (const chunk of file.handle.createReadStream({ autoClose: false, highWaterMark: 256 * 1_024 }) as AsyncIterable<Buffer>) {
    try {
      writeOut(chunk);
    } catch (thrown) {
      if (isAgentError(thrown)) throw thrown;
      throw new AgentError('FILE_FAILED', `stdout cannot be written (${errnoOf(thrown) ?? 'error'})`, {
        cause: thrown,
        fix: 'check where stdout leads',
      });
    }
    size += chunk.length;
  }
  return size;
}

async function whole(places: FilePlaces, path: string) {
  try {
    return await readWhole(places, path);
  } catch (thrown) {
    if (!(thrown instanceof AgentError) || thrown.code !== 'FILE_TOO_LARGE') throw thrown;
    throw new AgentError(thrown.code, thrown.message, { cause: thrown, fix: 'fetch it with: agent files get' });
  }
}

async function showText(places: FilePlaces, path: string): Promise<void> {
  const { name, data_url } = await whole(places, path);
  const bytes = Buffer.from(data_url.slice(data_url.indexOf(',') + 1), 'base64');
  const text = textOf(bytes);
  if (text === undefined)
    throw new AgentError('FILE_FAILED', `${name} is no text`, {
      fix: 'fetch it with: agent files get, or hand it to a program with a pipe',
    });
  if (text === '') return;
  if (text.endsWith('\n')) writeOut(visibleLines(text));
  else print(visibleLines(text));
}

/** Undefined when the bytes are no text in UTF-8. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 8_192).includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
