/** A server that speaks OpenAI: the chat-completions stream, the responses stream, and the list of models. */
import { pieces, startModels, usageOf, type FakeAnswer, type FakeModels, type FakeRequest, type Send, type Vendor } from './modelServer.ts';

export type { FakeAnswer } from './modelServer.ts';

export interface OpenAiBody {
  model: string;
  /** Of the chat API. */
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  /** Of the responses API. */
  input?: { role?: string; type?: string; content?: unknown; [key: string]: unknown }[];
  tools?: { name?: string; function: { name: string } }[];
  [key: string]: unknown;
}

export type FakeOpenAi = FakeModels<OpenAiBody>;

export const startOpenAi = (...script: FakeAnswer[]): Promise<FakeOpenAi> => startModels(openai, script);

/** The rows may be anything a compatible server adds to them. */
export const startOpenAiWith = (models: Record<string, unknown>[], ...script: FakeAnswer[]): Promise<FakeOpenAi> =>
  startModels({ ...openai, list: (path) => (path.endsWith('/models') ? { object: 'list', data: models } : undefined) }, script);

const openai: Vendor<OpenAiBody> = {
  base: '/v1',
  list: (path) =>
    path.endsWith('/models')
      ? {
          object: 'list',
          data: ['gpt-5', 'gpt-4o', 'text-embedding-3-small'].map((id) => ({ id, object: 'model', created: 1, owned_by: 'openai' })),
        }
      : undefined,
  refusal: (status) => ({ error: { message: `scripted ${status}`, type: 'scripted', code: null } }),
  stream: (answer, request, send) =>
    request.path.endsWith('/responses') ? responses(answer, request, send) : chatCompletions(answer, request, send),
};

async function chatCompletions(answer: FakeAnswer, { body }: FakeRequest<OpenAiBody>, send: Send): Promise<() => Promise<void>> {
  const frame = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: body.model };
  const delta = (part: Record<string, unknown>, finish: string | null = null) =>
    send({ ...frame, choices: [{ index: 0, delta: part, finish_reason: finish }] });
  await delta({ role: 'assistant', content: '' });
  for (const part of pieces(answer.reasoning ?? '')) await delta({ reasoning_content: part });
  for (const part of pieces(answer.text ?? '')) await delta({ content: part });
  for (const [index, call] of (answer.toolCalls ?? []).entries()) {
    await delta({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: call.name, arguments: '' } }] });
    for (const part of pieces(call.args)) await delta({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  return async () => {
    const { input, output, reasoning, cacheRead } = usageOf(answer);
    await delta({}, answer.finish ?? (answer.toolCalls ? 'tool_calls' : 'stop'));
    await send({
      ...frame,
      choices: [],
      usage: {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input + output,
        prompt_tokens_details: { cached_tokens: cacheRead },
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    });
    await send('[DONE]');
  };
}

async function responses(answer: FakeAnswer, { body }: FakeRequest<OpenAiBody>, send: Send): Promise<() => Promise<void>> {
  let sequence = 0;
  const emit = (type: string, data: Record<string, unknown>) => send({ type, sequence_number: sequence++, ...data }, type);
  const shell = { id: 'resp_1', object: 'response', created_at: 1, model: body.model, output: [], tools: [], parallel_tool_calls: true };
  await emit('response.created', { response: { ...shell, status: 'in_progress' } });
  let index = 0;
  if (answer.reasoning) await reasoningItem(answer.reasoning, index++, emit);
  if (answer.text) await messageItem(answer.text, index++, emit);
  for (const [at, call] of (answer.toolCalls ?? []).entries()) {
    const item = { id: `fc_${at}`, type: 'function_call', call_id: `call_${at}`, name: call.name, arguments: '', status: 'in_progress' };
    await emit('response.output_item.added', { output_index: index, item });
    for (const delta of pieces(call.args))
      await emit('response.function_call_arguments.delta', { item_id: item.id, output_index: index, delta });
    await emit('response.function_call_arguments.done', { item_id: item.id, output_index: index, name: call.name, arguments: call.args });
    await emit('response.output_item.done', {
      output_index: index++,
      item: { ...item, arguments: call.args, status: 'completed' },
    });
  }
  return async () => {
    const { input, output, reasoning, cacheRead } = usageOf(answer);
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cacheRead },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    };
    const incomplete = answer.finish === undefined ? null : { reason: answer.finish };
    const type = incomplete ? 'response.incomplete' : 'response.completed';
    await emit(type, { response: { ...shell, status: type.slice('response.'.length), usage, incomplete_details: incomplete } });
  };
}

type Emit = (type: string, data: Record<string, unknown>) => Promise<void>;

async function reasoningItem(text: string, output_index: number, emit: Emit): Promise<void> {
  const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed' };
  const at = { item_id: item.id, output_index, summary_index: 0 };
  await emit('response.output_item.added', { output_index, item });
  await emit('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } });
  for (const delta of pieces(text)) await emit('response.reasoning_summary_text.delta', { ...at, delta });
  await emit('response.reasoning_summary_text.done', { ...at, text });
  await emit('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } });
  await emit('response.output_item.done', { output_index, item: { ...item, summary: [{ type: 'summary_text', text }] } });
}

async function messageItem(text: string, output_index: number, emit: Emit): Promise<void> {
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const at = { item_id: item.id, output_index, content_index: 0 };
  await emit('response.output_item.added', { output_index, item });
  await emit('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } });
  for (const delta of pieces(text)) await emit('response.output_text.delta', { ...at, delta, logprobs: [] });
  await emit('response.output_text.done', { ...at, text, logprobs: [] });
  const part = { type: 'output_text', text, annotations: [] };
  await emit('response.content_part.done', { ...at, part });
  await emit('response.output_item.done', { output_index, item: { ...item, status: 'completed', content: [part] } });
}
