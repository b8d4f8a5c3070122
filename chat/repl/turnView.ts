/** Draws the events of a conversation: streaming text, dim reasoning, one line per tool, how it ended. */
import { hasColour } from '../../base/paint.ts';
import { formatDuration } from '../../base/time.ts';
import type { Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import type { ChatEvent } from '../conversation.ts';
import { markdownStream } from '../markdown.ts';
import type { Screen } from './screen.ts';

/** Messages shown when a conversation is resumed. */
const RECALL_MAX = 6;

export class TurnView {
  readonly #screen: Screen;
  #markdown = markdownStream(hasColour(process.stdout));
  #mode: 'none' | 'reasoning' | 'text' = 'none';
  #tools = new Map<string, string>();
  /** Text of our own prompts that were accepted or are about to be: they stand on the screen already. */
  #own: string[] = [];
  #queued = 0;
  #turn = false;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** A turn runs or waits: the prompt stays away. */
  get busy(): boolean {
    return this.#turn || this.#queued > 0 || this.#own.length > 0;
  }

  /** A prompt of ours is on its way. */
  submitting(text: string): void {
    this.#own.push(text);
    this.#screen.status('waiting');
  }

  /** It was refused: nothing will come. */
  refused(text: string): void {
    this.#forget(text);
    if (!this.busy) this.#screen.status(undefined);
  }

  draw(event: ChatEvent): void {
    const { paint } = this.#screen;
    switch (event.type) {
      case 'prompt.accepted':
        if (!this.#forget(event.payload.text)) this.#screen.line(`${paint('magenta', `${event.payload.surface}:`)} ${event.payload.text}`);
        this.#turn = true;
        return;
      case 'message.start':
        this.#turn = true;
        return this.#screen.status('thinking');
      case 'reasoning.delta':
        return this.#reason(event.payload.text);
      case 'message.delta':
        return this.#say(event.payload.text);
      case 'message.interim':
        return this.#endSegment();
      case 'tool.start':
        this.#endSegment();
        this.#tools.set(event.payload.tool_id, toolLabel(event.payload.name, event.payload.args, this.#screen.columns));
        return this.#showTools();
      case 'tool.progress':
        return this.#screen.status(
          `${this.#tools.get(event.payload.tool_id) ?? event.payload.name}  ${event.payload.preview.split('\n').at(-1)!}`,
        );
      case 'tool.complete':
        return this.#toolDone(event.payload);
      case 'message.complete':
        return this.#complete(event.payload);
      case 'queue.updated':
        this.#queued = event.payload.queued.length;
        return;
      case 'connection.lost':
        this.#endSegment();
        this.#screen.line(paint('yellow', 'The agent worker is gone; waiting for its successor …'));
        return this.#screen.status('reconnecting');
      case 'connection.back':
        this.#screen.line(
          paint(
            'green',
            `Connected again${event.missed ? `, ${event.missed} missed event${event.missed === 1 ? '' : 's'} replayed` : ''}.`,
          ),
        );
        return this.#screen.status(this.busy ? 'waiting' : undefined);
      case 'connection.snapshot':
        return this.recall(event.snapshot);
      default:
    }
  }

  /** The state of a conversation that was entered in the middle. */
  recall({ messages, status, inflight, queued }: Snapshot): void {
    const { paint } = this.#screen;
    this.#endSegment();
    const spoken = messages.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content);
    for (const { role, content } of spoken.slice(-RECALL_MAX))
      this.#screen.line(role === 'user' ? `${paint('cyan', '›')} ${content}` : content);
    this.#own = [];
    this.#queued = queued.length;
    this.#turn = status === 'working';
    if (!this.#turn) return this.#screen.status(undefined);
    for (const { tool_id, name, args } of inflight?.tools ?? []) this.#tools.set(tool_id, toolLabel(name, args, this.#screen.columns));
    if (inflight?.text) this.#say(inflight.text);
    else this.#screen.status('thinking');
  }

  #say(text: string): void {
    if (this.#mode === 'reasoning') this.#endSegment();
    if (this.#mode === 'none') this.#screen.status(undefined);
    this.#mode = 'text';
    this.#screen.write(this.#markdown.push(text));
  }

  #reason(text: string): void {
    if (this.#mode === 'text') this.#endSegment();
    if (this.#mode === 'none') this.#screen.status(undefined);
    this.#mode = 'reasoning';
    this.#screen.write(this.#screen.paint('dim', text));
  }

  #endSegment(): void {
    if (this.#mode === 'text') this.#screen.write(this.#markdown.end());
    this.#mode = 'none';
    this.#screen.endLine();
    if (this.busy) this.#screen.status('thinking');
  }

  #showTools(): void {
    this.#screen.status([...this.#tools.values()].join(', ') || 'thinking');
  }

  #toolDone({ tool_id, name, args, is_error, duration_s, result_text }: Extract<ChatEvent, { type: 'tool.complete' }>['payload']): void {
    const { paint } = this.#screen;
    const label = this.#tools.get(tool_id) ?? toolLabel(name, args, this.#screen.columns);
    this.#tools.delete(tool_id);
    const outcome = is_error ? paint('red', '✗ failed') : paint('green', '✓ ok');
    this.#screen.line(`${outcome} ${label} ${paint('dim', formatDuration(duration_s * 1_000))}`);
    if (is_error) this.#screen.line(paint('dim', `  ${result_text.trim().split('\n').slice(-3).join('\n  ')}`));
    this.#showTools();
  }

  #complete({ text, status, error, usage, duration_ms }: Extract<ChatEvent, { type: 'message.complete' }>['payload']): void {
    const { paint } = this.#screen;
    if (this.#mode === 'none' && text && status === 'complete') this.#say(text);
    this.#turn = false;
    this.#endSegment();
    this.#tools.clear();
    if (status === 'interrupted') this.#screen.line(paint('yellow', 'Interrupted.'));
    if (error) this.#screen.line(`${paint('red', 'Failed:')} ${error.message}${error.fix ? ` — ${error.fix}` : ''}`);
    const tokens = usage ? `, ${usage.input} + ${usage.output} tokens` : '';
    this.#screen.line(paint('dim', `${formatDuration(duration_ms)}${tokens}`));
    this.#screen.line();
    this.#screen.status(this.busy ? 'waiting' : undefined);
  }

  #forget(text: string): boolean {
    const at = this.#own.indexOf(text);
    if (at >= 0) this.#own.splice(at, 1);
    return at >= 0;
  }
}

/** `terminal uname -a`: the name and the most telling part of its arguments, cut to the line. */
export function toolLabel(name: string, args: unknown, columns: number): string {
  const values = args && typeof args === 'object' ? Object.values(args) : [args];
  const told =
    values.find((value) => typeof value === 'string' && value !== '') ??
    (args && typeof args === 'object' && values.length ? JSON.stringify(args) : '');
  const text = `${name} ${String(told ?? '')}`.replace(/\s+/g, ' ').trim();
  const room = Math.max(20, columns - 24);
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}
