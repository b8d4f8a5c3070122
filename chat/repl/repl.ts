/**
 * The classic REPL, top to bottom: open the conversation, greet, then prompt → submit → draw, until the
 * user leaves. Turns run in the agent worker; leaving does not stop them.
 */
import { isAgentError, messageOf } from '../../base/errors.ts';
import { Conversation, type ChatEvent, type ConversationHost } from '../conversation.ts';
import { PromptInput } from './input.ts';
import { Screen } from './screen.ts';
import { completeSlash, findSlash, type SlashHost } from './slash.ts';
import { TurnView } from './turnView.ts';

/** A second ctrl-C within this time leaves. */
const LEAVE_MS = 2_000;
const SESSIONS_LISTED = 20;

export interface ReplOptions {
  session?: string | undefined;
  model?: string | undefined;
  /** Earlier prompts, oldest first, and where a new one goes. */
  history: { load(): string[]; add(text: string): void };
  /** The service in a few lines, for /status. */
  serviceStatus(): string;
}

/** Answers the exit code. Errors: those of opening the conversation. */
export async function runRepl(host: ConversationHost, options: ReplOptions): Promise<number> {
  using screen = new Screen(process.stdout);
  screen.status('connecting');
  const { conversation, snapshot } = await Conversation.open(host, { session: options.session, model: options.model, surface: 'cli' });
  using open = conversation;
  screen.status(undefined);
  const repl = new Repl(open, screen, options);
  repl.greet();
  if (snapshot) repl.view.recall(snapshot);
  return await repl.run();
}

class Repl implements SlashHost {
  readonly view: TurnView;
  readonly #conversation: Conversation;
  readonly #screen: Screen;
  readonly #options: ReplOptions;
  readonly #input: PromptInput;
  readonly #left = Promise.withResolvers<number>();
  #interruptedAtMs = Number.NEGATIVE_INFINITY;

  constructor(conversation: Conversation, screen: Screen, options: ReplOptions) {
    this.#conversation = conversation;
    this.#screen = screen;
    this.#options = options;
    this.view = new TurnView(screen);
    const { paint } = screen;
    this.#input = new PromptInput({
      stdin: process.stdin,
      stdout: process.stdout,
      prompt: `${paint('cyan', '›')} `,
      more: `${paint('dim', '…')} `,
      history: options.history.load(),
      complete: completeSlash,
      onPrompt: (text, shown) => void this.#take(text, shown),
      onInterrupt: (hasText) => this.#interrupt(hasText),
      onEnd: () => this.quit(),
    });
    conversation.listen((event) => this.#onEvent(event));
  }

  greet(): void {
    const { info, sessionId } = this.#conversation;
    const { paint } = this.#screen;
    const model = info.model ? `${info.model}${info.scripted ? ' (scripted rehearsal, no real model)' : ''}` : 'no model';
    this.#screen.line(`${paint('bold', 'agent')} ${info.version} · ${model} ${paint('dim', `· ${sessionId} · /help`)}`);
    if (info.credential_warning) this.#screen.line(paint('yellow', info.credential_warning));
  }

  async run(): Promise<number> {
    this.#refresh();
    const code = await this.#left.promise;
    this.#input[Symbol.dispose]();
    if (this.view.busy) this.#screen.line(this.#screen.paint('dim', 'The turn goes on; `agent chat --session latest` comes back to it.'));
    return code;
  }

  // --- what a user does ---

  async #take(text: string, shown: boolean): Promise<void> {
    this.#input.hide();
    const trimmed = text.trim();
    // What was typed ahead has not been seen yet.
    if (!shown && trimmed) this.#screen.line(`${this.#screen.paint('cyan', '›')} ${text}`);
    try {
      if (trimmed.startsWith('/') && !trimmed.includes('\n')) await this.#slash(trimmed);
      else if (trimmed) await this.#submit(text);
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#refresh();
  }

  async #submit(text: string): Promise<void> {
    const wasBusy = this.view.busy;
    this.#options.history.add(text);
    this.view.submitting(text);
    try {
      const { status } = await this.#conversation.submit(text);
      if (status === 'queued' && wasBusy) this.#screen.line(this.#screen.paint('dim', 'Queued behind the running turn.'));
    } catch (thrown) {
      this.view.refused(text);
      throw thrown;
    }
  }

  async #slash(text: string): Promise<void> {
    const [word = '', ...rest] = text.slice(1).split(/\s+/);
    this.#options.history.add(text);
    await findSlash(word).run(this, rest.join(' '));
  }

  /** The turn first, then the line, then the REPL. */
  #interrupt(hasText: boolean): boolean {
    if (this.view.busy) {
      void this.stop();
      return false;
    }
    if (hasText) return true;
    const nowMs = performance.now();
    if (nowMs - this.#interruptedAtMs < LEAVE_MS) {
      this.quit();
      return false;
    }
    this.#interruptedAtMs = nowMs;
    this.#input.hide();
    this.#screen.line(this.#screen.paint('dim', 'ctrl-C again leaves.'));
    this.#refresh();
    return false;
  }

  // --- what the service says ---

  #onEvent(event: ChatEvent): void {
    this.#input.hide();
    this.view.draw(event);
    if (event.type === 'connection.failed') {
      this.#fail(event.error);
      return this.#left.resolve(1);
    }
    this.#refresh();
  }

  // --- SlashHost ---

  say(text: string): void {
    this.#screen.line(text);
  }

  async startNew(): Promise<void> {
    await this.#conversation.startNew();
    this.greet();
  }

  async resume(session: string): Promise<void> {
    const snapshot = await this.#conversation.resume(session);
    this.greet();
    this.view.recall(snapshot);
  }

  list() {
    return this.#conversation.list(SESSIONS_LISTED);
  }

  async stop(): Promise<void> {
    try {
      if (!(await this.#conversation.interrupt())) this.#screen.line(this.#screen.paint('dim', 'No turn runs.'));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  status(): string {
    const { info, sessionId } = this.#conversation;
    return [
      `session ${sessionId}${info.title ? ` "${info.title}"` : ''}`,
      `model ${info.model ?? 'none'}${info.provider ? ` of ${info.provider}` : ''}${info.scripted ? ' (scripted)' : ''}, ${info.tools.length} tools, in ${info.cwd}`,
      '',
      this.#options.serviceStatus(),
    ].join('\n');
  }

  quit(): void {
    this.#left.resolve(0);
  }

  /** The prompt stands below everything when nothing runs, and away while something does. */
  #refresh(): void {
    if (this.view.busy) this.#input.hide();
    else this.#input.show();
  }

  #fail(thrown: unknown): void {
    const fix = isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : '';
    this.#screen.line(`${this.#screen.paint('red', 'agent:')} ${messageOf(thrown)}${fix}`);
  }
}
