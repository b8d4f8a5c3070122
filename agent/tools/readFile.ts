/**
 * `read_file`: lines of a text file. Refuses what is not a regular file of a disk, what is binary, what is too
 * large, and the files that hold the service's own secrets.
 */
import { closeSync, createReadStream, readSync, realpathSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { kindWords, openPlainFile, type PlainFile } from '../../base/regularFile.ts';
import { hostPath, refuseOutside, type FileSandbox } from './fileAccess.ts';
import { absolutePath } from './filePath.ts';
import { defineTool, type Tool } from './registry.ts';

export interface ReadFileOptions {
  /** Relative paths start here. */
  cwd: string;
  /** Says of a real path that it holds secrets of the service and is never read. */
  isSecret(realPath: string): boolean;
  /** What the directory of the file has to say, once (agent/context/directoryHints.ts). */
  hint?(path: string): string;
  sandbox?: FileSandbox | undefined;
}

const { readLinesMax, readLineMaxChars, readFileMaxBytes } = limits.tools;

const Args = z.object({
  path: z.string().min(1).describe('`~` and relative paths are resolved.'),
  offset: z.number().int().min(1).optional().describe('First line, from 1.'),
  limit: z.number().int().min(1).max(readLinesMax).optional().describe('Lines.'),
});

export function readFileTool({ cwd, isSecret, hint, sandbox }: ReadFileOptions): Tool {
  return defineTool({
    name: 'read_file',
    toolset: 'file',
    description: 'Reads lines of a text file. Each line comes with its number.',
    args: Args,
    readsOnly: true,
    async run({ path, offset = 1, limit = readLinesMax }, { signal }) {
      const full = absolutePath(path, cwd);
      const { fd, sizeBytes } = openText(hostPath(path, { cwd, sandbox }), isSecret, sandbox);
      const part = await readLines(fd, { offset, limit, signal });
      return {
        text: render(part, { path: full, offset, sizeBytes }) + (hint?.(full) ?? ''),
        data: { path: full, offset, lines: part.lines.length, more: part.more, size_bytes: sizeBytes },
        isError: false,
      };
    },
  });
}

/** Opened without blocking, so a FIFO cannot hold us; the caller closes it. */
function openText(
  path: string,
  isSecret: ReadFileOptions['isSecret'],
  sandbox: FileSandbox | undefined,
): { fd: number; sizeBytes: number } {
  const file = opened(path, isSecret, sandbox);
  if (file.kind !== 'file') {
    const fix = file.kind === 'directory' ? 'name a file in it' : undefined;
    throw new AgentError('BAD_REQUEST', `${path} is ${kindWords[file.kind]}`, fix === undefined ? {} : { fix });
  }
  const { fd, stat } = file;
  try {
    if (stat.size > readFileMaxBytes)
      throw new AgentError('BAD_REQUEST', `${path} has ${stat.size} bytes; files over ${readFileMaxBytes} are not read`);
    const head = Buffer.alloc(Math.min(8_192, stat.size));
    const length = readSync(fd, head, 0, head.length, 0);
    if (head.subarray(0, length).includes(0)) throw new AgentError('BAD_REQUEST', `${path} is binary (${stat.size} bytes)`);
    return { fd, sizeBytes: stat.size };
  } catch (thrown) {
    closeSync(fd);
    throw thrown;
  }
}

function opened(path: string, isSecret: ReadFileOptions['isSecret'], sandbox: FileSandbox | undefined): PlainFile {
  try {
    const real = realpathSync(path);
    refuseOutside(path, real, 'read', sandbox);
    if (isSecret(real)) {
      throw new AgentError('TOOL_REFUSED', `${path} holds secrets of the service and is not read`, {
        fix: 'ask the user for what you need to know',
      });
    }
    return openPlainFile(path);
  } catch (thrown) {
    if (thrown instanceof AgentError) throw thrown;
    throw new AgentError('NOT_FOUND', `cannot read ${path} (${errnoOf(thrown) ?? String(thrown)})`, { cause: thrown });
  }
}

interface Part {
  lines: string[];
  more: boolean;
}

async function readLines(fd: number, { offset, limit, signal }: { offset: number; limit: number; signal: AbortSignal }): Promise<Part> {
  const lines: string[] = [];
  let number = 0;
  let chars = 0;
  const stream = createReadStream('', { fd, start: 0, encoding: 'utf8', signal });
  const reader = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of reader) {
      number++;
      if (number < offset) continue;
      if (lines.length >= limit || chars > limits.turn.toolOutputMaxChars) return { lines, more: true };
      const shown = line.length > readLineMaxChars ? `${line.slice(0, readLineMaxChars)} [… line cut]` : line;
      chars += shown.length;
      lines.push(shown);
    }
    return { lines, more: false };
  } finally {
    reader.close();
    stream.destroy();
  }
}

function render({ lines, more }: Part, { path, offset, sizeBytes }: { path: string; offset: number; sizeBytes: number }): string {
  if (lines.length === 0) return sizeBytes === 0 ? `${path} is empty.` : `${path} has fewer than ${offset} lines.`;
  const width = String(offset + lines.length - 1).length;
  const numbered = lines.map((line, index) => `${String(offset + index).padStart(width)}  ${line}`).join('\n');
  return more ? `${numbered}\n[more lines follow: offset ${offset + lines.length}]` : numbered;
}
