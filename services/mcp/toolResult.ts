/** Turns what a server answered into what goes on to the agent: text first, everything within a bound. */
import { limits } from '../../base/limits.ts';

export interface ServerAnswer {
  content: unknown[];
  structured?: unknown;
  isError: boolean;
}

export interface ToolAnswer {
  text: string;
  content: unknown[];
  structured?: unknown;
  is_error: boolean;
}

/** Sizes are those of the JSON that will travel: 4 MiB of control characters are 24 MiB on the wire. */
export function boundResult({ content, structured, isError }: ServerAnswer, maxBytes: number = limits.mcp.resultMaxBytes): ToolAnswer {
  const text = cutMiddle(content.map(textOf).join('\n') || (structured === undefined ? '' : JSON.stringify(structured)), maxBytes);
  const kept = jsonBytes(content) <= maxBytes ? content : [{ type: 'text', text }];
  const keepStructured = structured !== undefined && jsonBytes(structured) <= maxBytes;
  return { text, content: kept, ...(keepStructured ? { structured } : {}), is_error: isError };
}

/** With `redact` over every text; the data of pictures, sounds and files is left alone. */
export function redactedAnswer(answer: ToolAnswer, redact: (text: string) => string): ToolAnswer {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, clean(part)]));
  };
  const cleanBlock = (block: unknown): unknown => {
    const { type, data, resource } = (block ?? {}) as Block;
    if ((type === 'image' || type === 'audio') && typeof data === 'string')
      return { ...(clean({ ...(block as Block), data: '' }) as Block), data };
    if (type !== 'resource' || typeof resource?.blob !== 'string') return clean(block);
    const { blob } = resource;
    const cleaned = clean({ ...(block as Block), resource: { ...resource, blob: '' } }) as { resource: object };
    return { ...cleaned, resource: { ...cleaned.resource, blob } };
  };
  const { text, content, structured } = answer;
  return {
    ...answer,
    text: redact(text),
    content: content.map(cleanBlock),
    ...(structured === undefined ? {} : { structured: clean(structured) }),
  };
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

interface Block {
  type?: unknown;
  text?: unknown;
  mimeType?: unknown;
  data?: unknown;
  uri?: unknown;
  name?: unknown;
  resource?: { uri?: unknown; text?: unknown; mimeType?: unknown; blob?: unknown };
}

/** Text as it is, what is known described in brackets, anything else as its JSON. */
function textOf(block: unknown): string {
  if (typeof block !== 'object' || block === null) return String(block);
  const { type, text, mimeType, data, uri, name, resource } = block as Block;
  if (type === 'text' && text != null) return typeof text === 'string' ? text : JSON.stringify(text);
  if (type === 'resource' && typeof resource?.text === 'string') return resource.text;
  if (type === 'resource') return `[resource ${String(resource?.uri ?? '')}${resource?.mimeType ? `, ${String(resource.mimeType)}` : ''}]`;
  if (type === 'resource_link') return `[resource ${String(name ?? '')}: ${String(uri ?? '')}]`;
  if (typeof data === 'string') return `[${String(type)} ${String(mimeType ?? '')}, ${Math.ceil((data.length * 3) / 4 / 1024)} KiB]`;
  return `[${String(type ?? 'block')} ${JSON.stringify(block)}]`;
}

/** Keeps beginning and end; says how much is missing. */
function cutMiddle(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  let half = Math.floor(maxBytes / 2);
  for (;;) {
    const cut = `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`.toWellFormed();
    if (half <= 16 || jsonBytes(cut) <= maxBytes) return cut;
    half = Math.floor(half * 0.8);
  }
}
