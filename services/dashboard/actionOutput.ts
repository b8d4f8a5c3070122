/** What a child of the dashboard says: lines of both streams in the order they come, bounded, redacted, without colours. */
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { limits } from '../../base/limits.ts';

type Stream = 'stdout' | 'stderr';

export interface ActionOutput {
  take(stream: Stream, chunk: Buffer): void;
  /** No more comes: an unfinished line counts as one. */
  close(): void;
  /** The last `count` lines. */
  lines(count: number): string[];
  /** What it printed on stdout as JSON; null when that is something else, or too large. */
  result(): unknown;
}

const { actionLinesMax, actionLineMaxChars, actionResultMaxBytes } = limits.dashboard;

export function createOutput(redact: (text: string) => string): ActionOutput {
  const kept: string[] = [];
  const started: Record<Stream, string> = { stdout: '', stderr: '' };
  const decoders: Record<Stream, StringDecoder> = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  const printed: Buffer[] = [];
  let printedBytes = 0;

  const keep = (line: string) => {
    const plain = stripVTControlCharacters(line)
      .replace(/^.*\r(?=[^\r])/s, '')
      .trimEnd();
    // Before it is cut: half of a secret is none that anybody knows.
    const clean = redact(plain);
    kept.push(clean.length > actionLineMaxChars ? `${clean.slice(0, actionLineMaxChars)}…` : clean);
    if (kept.length > actionLinesMax * 2) kept.splice(0, kept.length - actionLinesMax);
  };
  return {
    take(stream, chunk) {
      if (stream === 'stdout') {
        printedBytes += chunk.length;
        if (printedBytes <= actionResultMaxBytes) printed.push(chunk);
        else printed.length = 0;
      }
      const lines = (started[stream] + decoders[stream].write(chunk)).split('\n');
      started[stream] = lines.pop()!;
      for (const line of lines) keep(line);
      // A line without an end is passed on in pieces.
      if (started[stream].length > actionResultMaxBytes) keep(started[stream].slice(0, actionLineMaxChars));
      if (started[stream].length > actionResultMaxBytes) started[stream] = '';
    },
    close() {
      for (const stream of ['stdout', 'stderr'] as const) {
        if (started[stream] !== '') keep(started[stream]);
        started[stream] = '';
      }
    },
    lines: (count) => (count === 0 ? [] : kept.slice(-Math.min(count, actionLinesMax))),
    result() {
      const text = Buffer.concat(printed).toString();
      if (!/^\s*[{[]/.test(text)) return null;
      try {
        return redacted(JSON.parse(text), redact);
      } catch {
        return null;
      }
    },
  };
}

/** Texts alone: names and structure are the command's own. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redacted(inner, redact)]));
}
