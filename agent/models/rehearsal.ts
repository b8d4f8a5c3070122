/**
 * The rehearsal model: provider `demo`, model `rehearsal`. Deterministic, without network, streaming in
 * small chunks with short pauses so that everything behind a model is exercised as with a real one.
 */
import { AgentError, errorTable, type ErrorCode } from '../../base/errors.ts';
import { sleep, systemClock, type Clock } from '../../base/time.ts';
import type { Model, ModelChunk, ModelMessage, ModelRequest } from '../ports.ts';
import { afterTools, parsePrompt, type Step } from './grammar.ts';

/** Words in a chunk and the pause after it: about 500 words a second, a fast provider. */
const WORDS_PER_CHUNK = 2;
const PAUSE_MS = 4;
/** While `slow:` waits, a sign of life this often. */
const TICK_MS = 500;

export const rehearsalName = { provider: 'demo', model: 'rehearsal' } as const;

export function rehearsalModel(clock: Clock = systemClock): Model {
  return {
    provider: rehearsalName.provider,
    id: rehearsalName.model,
    scripted: true,
    contextWindow: null,
    vision: false,
    effortFor: () => undefined,
    stream: (request) => perform(stepsOf(request.messages), request, clock),
  };
}

/** Results of tools are repeated; a user's prompt is obeyed. */
function stepsOf(messages: readonly ModelMessage[]): Step[] {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return parsePrompt(last?.content ?? '');
  const start = messages.findLastIndex((message) => message.role !== 'tool') + 1;
  const results = messages.slice(start).filter((message) => message.role === 'tool');
  return [{ kind: 'say', text: afterTools(results.map(({ toolName, content, isError }) => ({ name: toolName, content, isError }))) }];
}

async function* perform(steps: Step[], { messages, signal }: ModelRequest, clock: Clock): AsyncGenerator<ModelChunk> {
  let output = 0;
  let called = 0;
  for (const step of steps) {
    switch (step.kind) {
      case 'think':
      case 'say':
        for (const text of chunks(step.text)) {
          await sleep(PAUSE_MS, signal, clock);
          output += WORDS_PER_CHUNK;
          yield { type: step.kind === 'say' ? 'text' : 'reasoning', text };
        }
        break;
      case 'wait':
        for (let leftMs = step.seconds * 1_000; leftMs > 0; leftMs -= TICK_MS) {
          await sleep(Math.min(TICK_MS, leftMs), signal, clock);
          yield { type: 'text', text: ' .' };
        }
        break;
      case 'call':
        yield { type: 'toolCall', call: { id: `call_${called++}`, name: step.name, args: step.args } };
        break;
      case 'fail':
        throw failure(step.code);
    }
  }
  yield { type: 'finish', reason: called > 0 ? 'tool_calls' : 'stop', usage: { input: countWords(messages), output } };
}

function failure(code: string): AgentError {
  const name = code.toUpperCase();
  if (name in errorTable) return new AgentError(name as ErrorCode, `the scripted model failed with ${name}, as asked`);
  return new AgentError('PROVIDER_FAILED', `the scripted provider answered ${code}, as asked`);
}

/** White space stays where it is: joined, the chunks are the text. */
const chunks = (text: string): string[] => text.match(new RegExp(`(?:\\s*\\S+){1,${WORDS_PER_CHUNK}}|\\s+`, 'g')) ?? [];

const countWords = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, { content }) => sum + (content.match(/\S+/g)?.length ?? 0), 0);
