/**
 * A language model behind the chat API of OpenAI, as compatible servers speak it: the provider's package builds the
 * request, this folder sends it and reads the stream. Owns no retry and no time limit (docs/adr/0028).
 */
import { STATUS_CODES } from 'node:http';
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { CallOptions, Connection, LanguageModel, Prompt } from '../endpoint.ts';
import { limits } from '../../../base/limits.ts';
import { partsOf, wholeParts } from './partStream.ts';
import { post, rehearse, type Answered } from './post.ts';

/** `name`: of its options and of its marks. */
export function chatModel(name: string, { settings, apiKey, rehearsal = false }: Connection): LanguageModel {
  const url = new URL(`${settings.baseUrl.replace(/\/$/, '')}/chat/completions`);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'agent-service',
    ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
    ...Object.fromEntries(Object.entries(settings.headers).map(([key, value]) => [key.toLowerCase(), value])),
  };
  const packaged = new OpenAICompatibleChatLanguageModel(settings.model, { provider: `${name}.chat`, url: () => url.href });
  return {
    async doStream(options) {
      const body = await bodyOf(packaged, options);
      const answered = await (rehearsal ? rehearse : post)({ url, headers, body, signal: options.abortSignal });
      if (answered.status < 200 || answered.status > 299) throw await refusal(answered);
      const parts = answered.headers['content-type']?.startsWith('application/json') ? wholeParts : partsOf;
      return { stream: parts(answered.body, name), response: { headers: answered.headers } };
    },
  };
}

// --- the request ---

/** JSON of each message, beside it: the beginning of a long conversation is the same at every call. */
const written = new WeakMap<Prompt[number], string>();

async function bodyOf(packaged: OpenAICompatibleChatLanguageModel, options: CallOptions): Promise<string> {
  const fresh: Prompt = [];
  const texts = options.prompt.map((message) => {
    const text = written.get(message);
    if (text === undefined) fresh.push(message);
    return text;
  });
  const { body } = await packaged.prepareRequest({ ...options, prompt: fresh });
  const { messages, ...rest } = { ...body, stream: true, stream_options: { include_usage: true } } as Record<string, unknown>;
  const told = messages as unknown[];
  if (told.length !== fresh.length) return JSON.stringify({ ...rest, messages: await allMessages(packaged, options) });
  let next = 0;
  for (const [index, text] of texts.entries()) {
    if (text !== undefined) continue;
    texts[index] = JSON.stringify(told[next++]);
    written.set(options.prompt[index]!, texts[index]);
  }
  return `${JSON.stringify(rest).slice(0, -1)},"messages":[${texts.join(',')}]}`;
}

/** A message that became several, or none: then nothing is kept. */
async function allMessages(packaged: OpenAICompatibleChatLanguageModel, options: CallOptions): Promise<unknown> {
  return (await packaged.prepareRequest(options)).body.messages;
}

// --- a refusal ---

/** In the shape of the packages, which failure.ts knows. */
async function refusal({ status, headers, body }: Answered): Promise<Error> {
  const responseBody = await beginningOf(body);
  return Object.assign(new Error(STATUS_CODES[status] ?? ''), {
    statusCode: status,
    responseHeaders: headers,
    responseBody,
  });
}

async function beginningOf(body: Answered['body']): Promise<string> {
  let text = '';
  try {
    for await (const piece of body.setEncoding('utf8')) {
      text += piece as string;
      if (text.length >= limits.models.errorBodyMaxChars) break;
    }
  } catch {
    // The status says enough.
  }
  return text;
}
