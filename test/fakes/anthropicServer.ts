/** A server that speaks Anthropic messages: signed thoughts, text, tool calls in fragments, and the list of models. */
import { pieces, startModels, usageOf, type FakeAnswer, type FakeModels, type Send, type Vendor } from './modelServer.ts';

export interface AnthropicBody {
  model: string;
  system?: { type: string; text: string; cache_control?: unknown }[];
  messages: { role: string; content: string | { type: string; cache_control?: unknown; [key: string]: unknown }[] }[];
  tools?: { name: string }[];
  thinking?: { type: string; budget_tokens?: number };
  [key: string]: unknown;
}

export type FakeAnthropic = FakeModels<AnthropicBody>;

export const startAnthropic = (...script: FakeAnswer[]): Promise<FakeAnthropic> => startModels(anthropic, script);

const anthropic: Vendor<AnthropicBody> = {
  base: '/v1',
  list: (path) =>
    path.startsWith('/v1/models')
      ? {
          data: [
            { type: 'model', id: 'claude-sonnet-4-5', display_name: 'Claude Sonnet 4.5', created_at: '2025-09-29T00:00:00Z' },
            {
              type: 'model',
              id: 'claude-next',
              display_name: 'Claude Next',
              created_at: '2026-09-29T00:00:00Z',
              max_input_tokens: 500_000,
            },
          ],
          has_more: false,
          first_id: 'claude-sonnet-4-5',
          last_id: 'claude-next',
        }
      : undefined,
  refusal: (status) => ({ type: 'error', error: { type: 'scripted_error', message: `scripted ${status}` } }),
  async stream(answer, { body }, send) {
    const emit = (type: string, data: Record<string, unknown>) => send({ type, ...data }, type);
    const { input, output, cacheRead, cacheWrite } = usageOf(answer);
    const usage = {
      input_tokens: input - cacheRead - cacheWrite,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
    };
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    await emit('message_start', { message: { ...message, usage: { ...usage, output_tokens: 1 } } });
    await emit('ping', {});
    let index = 0;
    if (answer.reasoning) {
      const deltas = pieces(answer.reasoning).map((thinking) => ({ type: 'thinking_delta', thinking }));
      const signed = { type: 'signature_delta', signature: 'signed-by-the-maker' };
      await block(emit, index++, { type: 'thinking', thinking: '', signature: '' }, [...deltas, signed]);
    }
    if (answer.text) {
      const deltas = pieces(answer.text).map((text) => ({ type: 'text_delta', text }));
      await block(emit, index++, { type: 'text', text: '' }, deltas);
    }
    for (const [at, call] of (answer.toolCalls ?? []).entries()) {
      const deltas = pieces(call.args).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
      await block(emit, index++, { type: 'tool_use', id: `toolu_${at}`, name: call.name, input: {} }, deltas);
    }
    return async () => {
      const stop_reason = answer.finish ?? (answer.toolCalls ? 'tool_use' : 'end_turn');
      await emit('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: output } });
      await emit('message_stop', {});
    };
  },
};

type Emit = (type: string, data: Record<string, unknown>) => ReturnType<Send>;

async function block(emit: Emit, index: number, content_block: object, deltas: readonly object[]): Promise<void> {
  await emit('content_block_start', { index, content_block });
  for (const delta of deltas) await emit('content_block_delta', { index, delta });
  await emit('content_block_stop', { index });
}
