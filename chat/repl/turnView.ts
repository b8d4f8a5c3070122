/** Draws the events of a conversation: streaming text, dim reasoning, lines of tools, what happens beside it, how it ended. */
import { formatDuration } from '../../base/time.ts';
import { spokenLines } from '../../base/spokenText.ts';
import type { Aside, Message, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import { withAsides } from '../asides.ts';
import type { ChatEvent } from '../conversation.ts';
import { markdownStream } from '../markdown.ts';
import { cutToCells } from '../width.ts';
import type { Screen } from './screen.ts';

/** Messages shown when a conversation is resumed. */
const RECALL_MAX = 6;
/** Lines of a prompt that are shown again. */
const ECHO_LINES = 8;
const VERBOSE_LINES = 12;
const ANSWERS_KEPT = 20;

export const verbosities = ['off', 'new', 'all', 'verbose'] as const;
export type Verbosity = (typeof verbosities)[number];

type Event<T> = Extract<ChatEvent, { type: T }>;
type Payload<T> = Event<T> extends { payload: infer P } ? P : never;

export class TurnView {
  verbosity: Verbosity = 'all';
  showReasoning = true;
  /** Finished answers, newest last, for `/copy`. */
  readonly answers: string[] = [];
  queued = 0;
  readonly #screen: Screen;
  #markdown;
  #mode: 'none' | 'reasoning' | 'text' = 'none';
  #tools = new Map<string, string>();
  #lastTool = '';
  #turn = false;
  #waitsForOwn = 0;
  /** The terminal has echoed what was typed: our own prompts stand there already. */
  readonly #echoed: boolean;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#echoed = !screen.isLive;
    this.#markdown = markdownStream(screen.hasColour);
  }

  /** A turn runs, or a prompt of ours is on its way. */
  get busy(): boolean {
    return this.#turn || this.#waitsForOwn > 0;
  }

  submitting(): void {
    this.#waitsForOwn++;
    this.#screen.status('waiting');
  }

  /** `prompt.submit` has answered, or was refused. */
  submitted(): void {
    this.#waitsForOwn--;
    if (!this.busy) this.#screen.status(undefined);
  }

  draw(said: ChatEvent): void {
    const event = spoken(said);
    const { paint } = this.#screen;
    switch (event.type) {
      case 'prompt.accepted':
        return this.#accepted(event.payload);
      case 'message.start':
        this.#turn = true;
        return this.#screen.status('thinking');
      case 'reasoning.delta':
        return this.#reason(event.payload.text);
      case 'message.delta':
        return this.#say(event.payload.text);
      case 'message.interim':
        return this.#endSegment();
      case 'tool.generating':
        return this.#screen.status(`writing a call of ${event.payload.name}`);
      case 'tool.start':
        this.#endSegment();
        this.#tools.set(event.payload.tool_id, toolLabel(event.payload.name, event.payload.args, this.#screen.columns));
        return this.#showTools();
      case 'tool.progress': {
        const label = this.#tools.get(event.payload.tool_id) ?? event.payload.name;
        return this.#screen.status(`${label}  ${event.payload.preview.split('\n').at(-1)!}`);
      }
      case 'tool.complete':
        return this.#toolDone(event.payload);
      case 'todo.updated':
        return this.#todos(event.payload.todos);
      case 'message.complete':
        return this.#complete(event.payload);
      case 'queue.updated':
        this.queued = event.payload.queued.length;
        return this.#screen.refresh();
      case 'status.update':
        return this.#phase(event.payload);
      case 'session.changed':
        return this.#aside(
          {
            compressed: 'Earlier messages were replaced by a summary.',
            undone: 'Messages were taken back.',
            imported: 'Messages were imported.',
          }[event.payload.reason],
        );
      case 'btw.complete':
        return this.#box(`btw: ${event.payload.question}`, event.payload.error ?? event.payload.text, event.payload.error !== null);
      case 'background.complete':
        return this.#box(
          `background ${event.payload.session_id}`,
          event.payload.text || `(${event.payload.status})`,
          event.payload.status === 'error',
        );
      case 'subagent.start':
        return this.#aside(
          `⤷ ${event.payload.task_count > 1 ? `${event.payload.task_index + 1}/${event.payload.task_count} ` : ''}${event.payload.goal}`,
        );
      case 'subagent.progress':
        return this.#screen.status(`⤷ ${event.payload.tool_name ?? event.payload.text}`);
      case 'subagent.complete':
        return this.#aside(
          `⤷ ${event.payload.status}: ${event.payload.summary.split('\n')[0]} (${formatDuration(event.payload.duration_s * 1_000)})`,
        );
      case 'notice':
        this.#endSegment();
        return this.#screen.line(
          paint(event.payload.level === 'info' ? 'dim' : event.payload.level === 'warn' ? 'yellow' : 'red', event.payload.text),
        );
      case 'error':
        this.#endSegment();
        return this.#screen.line(`${paint('red', 'agent:')} ${event.payload.message}`);
      case 'connection.lost':
        this.#endSegment();
        this.#screen.line(paint('yellow', 'The agent worker is gone; waiting for its successor …'));
        return this.#screen.status('reconnecting');
      case 'connection.absent':
        return this.#screen.line(
          paint(
            'yellow',
            `No service runs any more; waiting ${formatDuration(event.waitMs)} for it to come back (\`agent up\` starts it, ctrl-C twice leaves).`,
          ),
        );
      case 'connection.back': {
        const missed = event.missed ? `, ${event.missed} missed event${event.missed === 1 ? '' : 's'} replayed` : '';
        this.#screen.line(paint('green', `Connected again${missed}.`));
        return this.#screen.status(this.busy ? 'waiting' : undefined);
      }
      case 'connection.snapshot':
        return this.recall(event.snapshot);
      default:
    }
  }

  /** The state of a conversation that was entered in the middle. */
  recall(snapshot: Snapshot): void {
    const { messages, asides, status, inflight, queued } = spoken(snapshot);
    this.#endSegment();
    const talk = messages.filter(({ role, content, kind }) => kind === 'summary' || (role !== 'tool' && content));
    const shown = talk.slice(-RECALL_MAX);
    if (talk.length > shown.length)
      this.#screen.line(this.#screen.paint('dim', `… ${talk.length - shown.length} earlier messages (/history shows them)`));
    for (const one of withAsides(shown, asides, shown.length === talk.length)) {
      if ('message' in one) this.#recallOne(one.message);
      else if (one.aside.status !== 'running') this.#recallAside(one.aside);
    }
    this.queued = queued.length;
    this.#tools.clear();
    // Hidden work may ask in a session at rest.
    this.#turn = status === 'working' || inflight !== null;
    if (!this.#turn) return this.#screen.status(undefined);
    for (const { tool_id, name, args } of inflight?.tools ?? []) this.#tools.set(tool_id, toolLabel(name, args, this.#screen.columns));
    this.#screen.status('thinking');
    if (inflight?.text) this.#say(inflight.text);
  }

  #recallAside({ kind, question, text, error, status, task_id }: Aside): void {
    const title = kind === 'btw' ? `btw: ${question}` : `background ${task_id}`;
    this.#box(title, error ?? (text || `(${status})`), status === 'error');
  }

  #recallOne({ role, content, kind }: Message): void {
    if (kind === 'summary') return this.#screen.line(this.#screen.paint('dim', '(a summary stands for what was before)'));
    if (role === 'user') return this.#echo(content);
    if (role === 'system') return this.#screen.line(this.#screen.paint('dim', content.split('\n')[0]!));
    const markdown = markdownStream(this.#screen.hasColour);
    this.#screen.line(markdown.push(content) + markdown.end());
    this.#screen.line();
  }

  #accepted({ text, surface, steered }: Payload<'prompt.accepted'>): void {
    this.#turn = true;
    if (this.#echoed && surface === 'cli') return;
    this.#endSegment();
    this.#echo(text, surface === 'cli' ? '' : `${surface}: `);
    if (steered) this.#screen.line(this.#screen.paint('dim', '  (joins the running turn)'));
    this.#screen.restartClock();
    this.#screen.status('waiting');
  }

  #echo(text: string, from = ''): void {
    const { paint } = this.#screen;
    const lines = text.split('\n');
    const shown =
      lines.length > ECHO_LINES
        ? [...lines.slice(0, ECHO_LINES - 1), paint('dim', `… ${lines.length - ECHO_LINES + 1} more lines`)]
        : lines;
    this.#screen.line(
      shown
        .map((line, i) => `${i === 0 ? `${paint('cyan', '›')} ${from ? paint('magenta', from) : ''}` : `${paint('dim', '…')} `}${line}`)
        .join('\n'),
    );
  }

  #say(text: string): void {
    if (this.#mode === 'reasoning') this.#endSegment();
    this.#mode = 'text';
    this.#screen.status('writing');
    this.#screen.write(this.#markdown.push(text));
  }

  #reason(text: string): void {
    if (!this.showReasoning) return this.#screen.status('thinking');
    if (this.#mode === 'text') this.#endSegment();
    this.#mode = 'reasoning';
    this.#screen.write(
      text
        .split('\n')
        .map((line) => (line ? this.#screen.paint('dim', line) : ''))
        .join('\n'),
    );
  }

  #endSegment(): void {
    if (this.#mode === 'text') this.#screen.write(this.#markdown.end());
    this.#mode = 'none';
    this.#screen.endLine();
  }

  #showTools(): void {
    this.#screen.status([...this.#tools.values()].join(', ') || 'thinking');
  }

  #toolDone({ tool_id, name, args, is_error, duration_s, result_text }: Payload<'tool.complete'>): void {
    const { paint } = this.#screen;
    const label = this.#tools.get(tool_id) ?? toolLabel(name, args, this.#screen.columns);
    this.#tools.delete(tool_id);
    this.#showTools();
    const repeated = this.verbosity === 'new' && name === this.#lastTool;
    this.#lastTool = name;
    // A failure is always worth a line.
    if ((this.verbosity === 'off' || repeated) && !is_error) return;
    const outcome = is_error ? paint('red', '✗ failed') : paint('green', '✓ ok');
    this.#screen.line(`${outcome} ${label} ${paint('dim', formatDuration(duration_s * 1_000))}`);
    const lines = result_text
      .trim()
      .split('\n')
      .filter((line) => line.trim());
    const shown = is_error ? lines.slice(-3) : this.verbosity === 'verbose' ? lines.slice(0, VERBOSE_LINES) : lines.slice(0, 1);
    const more = lines.length - shown.length;
    for (const [i, line] of shown.entries()) {
      const end = !is_error && more > 0 && i === shown.length - 1 ? ` … ${more} more line${more === 1 ? '' : 's'}` : '';
      this.#screen.line(paint('dim', cutToCells(`  ${line}${end}`, this.#screen.columns)));
    }
  }

  #todos(todos: Payload<'todo.updated'>['todos']): void {
    const marks = { pending: '☐', in_progress: '▶', completed: '☑', cancelled: '☒' };
    this.#endSegment();
    for (const { status, content, parent } of todos) {
      const line = `${parent ? '    ' : '  '}${marks[status]} ${content}`;
      this.#screen.line(status === 'in_progress' ? this.#screen.paint('cyan', line) : this.#screen.paint('dim', line));
    }
  }

  /** Retries, fallbacks and compression are said, not only spun. */
  #phase({ kind, text, phase }: Payload<'status.update'>): void {
    if (phase === 'end') return this.#screen.status(this.busy ? 'thinking' : undefined);
    if (kind === 'retry' || kind === 'fallback') {
      this.#endSegment();
      this.#screen.line(this.#screen.paint('yellow', text));
    }
    this.#screen.status(text || kind);
  }

  #aside(text: string): void {
    this.#endSegment();
    this.#screen.line(this.#screen.paint('dim', text));
  }

  #box(title: string, text: string, failed: boolean): void {
    const { paint } = this.#screen;
    this.#endSegment();
    const tone = failed ? 'red' : 'magenta';
    this.#screen.line(`${paint(tone, '┌')} ${paint('bold', title.replaceAll(/\s+/g, ' '))}`);
    for (const line of text.trim().split('\n')) this.#screen.line(`${paint(tone, '│')} ${line}`);
    this.#screen.line(paint(tone, '└'));
  }

  #complete({ text, status, error, usage, duration_ms }: Payload<'message.complete'>): void {
    const { paint } = this.#screen;
    if (this.#mode === 'none' && text && status === 'complete' && this.answers.at(-1) !== text && !this.#turn) this.#say(text);
    this.#turn = false;
    this.#endSegment();
    this.#tools.clear();
    this.#lastTool = '';
    if (text) this.answers.push(text);
    if (this.answers.length > ANSWERS_KEPT) this.answers.shift();
    if (status === 'interrupted') this.#screen.line(paint('yellow', 'Interrupted.'));
    if (error) this.#screen.line(`${paint('red', 'Failed:')} ${error.message}${error.fix ? ` — ${error.fix}` : ''}`);
    const tokens = usage ? `, ${usage.input} + ${usage.output} tokens` : '';
    this.#screen.line(paint('dim', `${formatDuration(duration_ms)}${tokens}`));
    this.#screen.line();
    this.#screen.status(this.busy ? 'waiting' : undefined);
  }
}

/** The same with every text in it as it may stand on a terminal. */
function spoken<T>(value: T): T {
  if (typeof value === 'string') return spokenLines(value) as T;
  if (Array.isArray(value)) return value.map(spoken) as T;
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, spoken(inner as unknown)])) as T;
}

/** `terminal uname -a`: the name and the most telling part of its arguments, cut to the line. */
export function toolLabel(name: string, args: unknown, columns: number): string {
  const values = args && typeof args === 'object' ? Object.values(args) : [args];
  const told =
    values.find((value) => typeof value === 'string' && value !== '') ??
    (args && typeof args === 'object' && values.length ? JSON.stringify(args) : '');
  const text = `${name} ${String(told ?? '')}`.replace(/\s+/g, ' ').trim();
  return cutToCells(text, Math.max(20, columns - 24));
}
