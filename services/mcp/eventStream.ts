/** Bodies of HTTP answers, read as they arrive and never past the size of one message. */
import { limits } from '../../base/limits.ts';
import { isAgentError } from '../../base/errors.ts';
import { LineReader } from './lineReader.ts';
import { failed } from './wire.ts';

export interface ServerEvent {
  type: string;
  data: string;
}

/** What a stream has said so far about how it is resumed. */
export interface Resumption {
  lastEventId?: string;
  retryMs?: number;
}

const tooLarge = () => failed('answer', `it sent a message over ${limits.mcp.messageMaxBytes / 1024 / 1024} MiB`);

/** Errors: MCP_FAILED when it is too large, and what reading throws. */
export async function readBody(body: ReadableStream<Uint8Array> | null, maxBytes: number = limits.mcp.messageMaxBytes): Promise<string> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const part of body ?? []) {
    sizeBytes += part.length;
    // Leaving the loop cancels the stream.
    if (sizeBytes > maxBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts, sizeBytes).toString('utf8');
}

/** The first `maxBytes` of a body, for an error message. */
export async function readExcerpt(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    sizeBytes += part.length;
    if (sizeBytes >= maxBytes) break;
  }
  return Buffer.concat(parts).subarray(0, maxBytes).toString('utf8');
}

/** Server-sent events (WHATWG HTML, 9.2). Notes ids and pauses in `resumption`. Errors: as `readBody`. */
export async function* readEvents(body: ReadableStream<Uint8Array> | null, resumption: Resumption): AsyncGenerator<ServerEvent> {
  const lines = new LineReader(limits.mcp.messageMaxBytes);
  let type = 'message';
  let data: string[] = [];
  let sizeChars = 0;
  for await (const part of body ?? []) {
    for (const line of bounded(() => lines.push(Buffer.from(part.buffer, part.byteOffset, part.length)))) {
      const [, field = '', value = ''] = /^([^:]*):? ?([^]*)$/.exec(line) ?? [];
      if (line === '') {
        if (data.length > 0) yield { type, data: data.join('\n') };
        type = 'message';
        data = [];
        sizeChars = 0;
      } else if (field === 'data') {
        sizeChars += value.length;
        if (sizeChars > limits.mcp.messageMaxBytes) throw tooLarge();
        data.push(value);
      } else if (field === 'event') type = value;
      else if (field === 'id' && !value.includes('\0')) resumption.lastEventId = value;
      else if (field === 'retry' && /^\d+$/.test(value)) resumption.retryMs = Number(value);
    }
  }
}

function bounded<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw isAgentError(thrown) && thrown.code === 'FRAME_TOO_LARGE' ? tooLarge() : thrown;
  }
}
