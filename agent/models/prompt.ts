/**
 * The conversation in the words of the provider packages: roles, tool calls, images as bytes, and the marks up to
 * which a provider keeps the prompt in its cache. The order is that of the transcript, so that the beginning stays the same.
 */
import { readFile, stat } from 'node:fs/promises';
import { limits } from '../../base/limits.ts';
import type { ModelMessage, PromptFile, ToolSpec } from '../ports.ts';
import type { CallOptions, Prompt, ProviderOptions } from './endpoint.ts';

type Message = Prompt[number];
type Assistant = Extract<Message, { role: 'assistant' }>;
export type AssistantContent = Assistant['content'];
type UserPart = Extract<Message, { role: 'user' }>['content'][number];

export interface PromptParts {
  system: string;
  messages: readonly ModelMessage[];
  /** The model sees images; otherwise they are named. */
  vision: boolean;
  cacheMark: ProviderOptions | undefined;
  /** Answers of this turn as their provider gave them, by their first call: some refuse a result without the signed thoughts before it. */
  originals: ReadonlyMap<string, AssistantContent>;
}

export async function promptOf({ system, messages, vision, cacheMark, originals }: PromptParts): Promise<Prompt> {
  const prompt: Prompt = system ? [{ role: 'system', content: system }] : [];
  const recent = new Set(
    messages.flatMap((message) => (message.role === 'tool' ? (message.files ?? []) : [])).slice(-limits.models.toolImagesMax),
  );
  let shown: PromptFile[] = [];
  // Results take text alone with most providers: their images follow all results of one answer, as a message of the user.
  const showImages = async () => {
    if (shown.length > 0) prompt.push(await withFiles({ role: 'user', content: TOOL_IMAGES, files: shown }, vision));
    shown = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') await showImages();
    const told = message.role === 'user' && message.files?.length ? await withFiles(message, vision) : plainMessage(message, originals);
    if (told) prompt.push(told);
    if (message.role === 'tool' && message.files) shown.push(...message.files.filter((file) => recent.has(file)));
  }
  await showImages();
  if (cacheMark) mark(prompt, cacheMark);
  return prompt;
}

/** On the system prompt, and the last messages, each of which was or will be the end of a prompt. */
function mark(prompt: Prompt, providerOptions: ProviderOptions): void {
  const last = prompt
    .map((_, index) => index)
    .filter((index) => prompt[index]!.role !== 'system')
    .slice(-limits.models.cacheMarksMax);
  for (const index of prompt[0]?.role === 'system' ? [0, ...last] : last) prompt[index] = { ...prompt[index]!, providerOptions };
}

const TOOL_IMAGES = '[Images of the tool results above, added by the service.]';
const SUMMARY_START = '[Summary of the earlier conversation, made by the service; nobody said this.]';
const SUMMARY_END = '[End of the summary. The conversation goes on below.]';

/** Kept beside each message: the beginning of a long conversation is the same at every call. Nobody writes into them. */
const converted = new WeakMap<ModelMessage, Message | null>();

/** An answer without text and calls (cut before its first word) is left out: providers refuse it. */
function plainMessage(message: ModelMessage, originals: PromptParts['originals']): Message | undefined {
  if (originals.size > 0 && message.role === 'assistant' && message.toolCalls[0]) {
    const original = originals.get(message.toolCalls[0].id);
    if (original && isOf(original, message)) return { role: 'assistant', content: original };
  }
  let plain = converted.get(message);
  if (plain === undefined) converted.set(message, (plain = convert(message) ?? null));
  return plain ?? undefined;
}

function convert(message: ModelMessage): Message | undefined {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.content ? [{ type: 'text', text: message.content }] : [] };
    case 'summary':
      return { role: 'user', content: [{ type: 'text', text: `${SUMMARY_START}\n${message.content}\n${SUMMARY_END}` }] };
    case 'tool': {
      const output = { type: message.isError ? ('error-text' as const) : ('text' as const), value: message.content };
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId: message.toolCallId, toolName: message.toolName, output }] };
    }
    case 'assistant': {
      const content: AssistantContent = message.content ? [{ type: 'text', text: message.content }] : [];
      for (const { id, name, args } of message.toolCalls) {
        content.push({ type: 'tool-call', toolCallId: id, toolName: name, input: inputOf(args) });
      }
      return content.length > 0 ? { role: 'assistant', content } : undefined;
    }
  }
}

/** Some servers number the calls of each answer from zero, so an id alone proves nothing. */
function isOf(original: AssistantContent, { content, toolCalls }: Extract<ModelMessage, { role: 'assistant' }>): boolean {
  const calls = original.filter((part) => part.type === 'tool-call');
  const text = original.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const same = ({ toolCallId, input }: (typeof calls)[number], index: number) =>
    toolCallId === toolCalls[index]?.id && JSON.stringify(input) === JSON.stringify(inputOf(toolCalls[index].args));
  return text === content && calls.length === toolCalls.length && calls.every(same);
}

/** Providers take nothing but an object; what was none stays readable for the model that wrote it. */
export const inputOf = (args: unknown): unknown => (typeof args === 'object' && args !== null ? args : { unreadable: String(args) });

async function withFiles({ content, files = [] }: Extract<ModelMessage, { role: 'user' }>, vision: boolean): Promise<Message> {
  const parts = await Promise.all(files.map((file) => filePart(file, vision)));
  const named = parts.filter((part) => typeof part === 'string');
  const text = [content, ...named].filter(Boolean).join('\n');
  return {
    role: 'user',
    content: [...(text ? [{ type: 'text' as const, text }] : []), ...parts.filter((part) => typeof part !== 'string')],
  };
}

/** The bytes of an image, or the sentence that stands for a file. */
async function filePart(file: PromptFile, vision: boolean): Promise<UserPart | string> {
  const { kind, name, mediaType, path } = file;
  if (kind !== 'image') return `[Attached file ${name}: ${path}]`;
  if (!vision) return `[Attached image ${name}, which this model cannot see: ${path}]`;
  try {
    const { size } = await stat(path);
    if (size > limits.models.imageMaxBytes) return `[Attached image ${name} is too large to send (${size} bytes): ${path}]`;
    return { type: 'file', filename: name, mediaType, data: { type: 'data', data: new Uint8Array(await readFile(path)) } };
  } catch {
    return `[Attached image ${name} can no longer be read: ${path}]`;
  }
}

export function toolsOf(specs: readonly ToolSpec[]): CallOptions['tools'] {
  return specs.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    name,
    description,
    inputSchema: parameters as Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>['inputSchema'],
  }));
}
