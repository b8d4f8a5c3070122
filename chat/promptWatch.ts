/**
 * Waits for the outcome of one prompt among the events of a session that other surfaces use too: first
 * the row is accepted, then it leaves the queue, then a turn completes, and that one was ours.
 */
import type { EventPayloads } from '../ipc/contracts/rpcEvents.ts';
import type { Snapshot } from '../ipc/contracts/rpcRecords.ts';
import type { ResultOf } from '../ipc/method.ts';
import type { promptSubmit } from '../ipc/contracts/rpc.ts';
import type { ChatEvent } from './conversation.ts';

type Completion = EventPayloads['message.complete'];

export interface Outcome {
  session_id: string;
  text: string;
  status: Completion['status'];
  tools: { name: string; args: unknown; is_error: boolean; duration_s: number }[];
  usage: Completion['usage'];
  error: Completion['error'];
  /** What a reader would not see in the text: that it stops short, or is none. */
  warnings: string[];
}

export class PromptWatch {
  readonly #settled = Promise.withResolvers<Completion>();
  readonly #tools: Outcome['tools'] = [];
  readonly #warnings: string[] = [];
  #early: ChatEvent[] | undefined = [];
  #messageId = 0;
  #phase: 'stored' | 'queued' | 'running' = 'stored';
  #queues = false;

  /** Every event of the conversation, from before the prompt is submitted. */
  see(event: ChatEvent): void {
    if (this.#early) this.#early.push(event);
    else this.#step(event);
  }

  /** The answer of `prompt.submit`: from now on the events can be told apart. */
  accepted({ message_id, status }: ResultOf<typeof promptSubmit>): void {
    this.#messageId = message_id;
    this.#queues = status === 'queued';
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const event of early) this.#step(event);
  }

  async outcome(sessionId: string): Promise<Outcome> {
    const { text, status, usage, error } = await this.#settled.promise;
    return { session_id: sessionId, text, status, tools: this.#tools, usage, error, warnings: this.#warnings };
  }

  #step(event: ChatEvent): void {
    switch (event.type) {
      case 'prompt.accepted':
        if (event.payload.message_id === this.#messageId && this.#phase === 'stored') this.#phase = this.#queues ? 'queued' : 'running';
        return;
      case 'queue.updated':
        if (this.#phase === 'queued' && !event.payload.queued.some(({ id }) => id === this.#messageId)) this.#phase = 'running';
        return;
      case 'tool.complete':
        if (this.#phase === 'running') {
          const { name, args, is_error, duration_s } = event.payload;
          this.#tools.push({ name, args, is_error, duration_s });
        }
        return;
      case 'notice':
        if (this.#phase === 'running' && event.payload.level !== 'info') this.#warnings.push(event.payload.text);
        return;
      case 'message.complete':
        if (this.#phase === 'running') this.#settled.resolve(event.payload);
        return;
      case 'connection.snapshot':
        return this.#look(event.snapshot);
      case 'connection.failed':
        return this.#settled.reject(event.error);
      default:
    }
  }

  /** Events were missed: the transcript says how it ended. */
  #look({ status, inflight, messages, queued }: Snapshot): void {
    if (queued.some(({ id }) => id === this.#messageId)) return void (this.#phase = 'queued');
    this.#phase = 'running';
    const answer = messages.findLast(({ id, role }) => role === 'assistant' && id > this.#messageId);
    if (status === 'working' || inflight || !answer) return;
    const ended = answer.finish_reason === 'interrupted' || answer.finish_reason === 'error' ? answer.finish_reason : 'complete';
    this.#settled.resolve({
      message_id: answer.id,
      text: answer.content,
      status: ended,
      usage: null,
      error: answer.error ?? null,
      duration_ms: 0,
    });
  }
}
