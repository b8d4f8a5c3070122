/**
 * The classic REPL, top to bottom: open the conversation, greet, then prompt → submit → draw, until the
 * user leaves. Turns run in the agent worker; leaving does not stop them. Commands are the worker's as well.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { commandDispatch, completePath, completeSlash } from '../../ipc/contracts/rpcCommands.ts';
import { configGet } from '../../ipc/contracts/rpcSettings.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { Conversation, type ChatEvent, type ConversationHost, type NewSession } from '../conversation.ts';
import { cutToCells } from '../width.ts';
import { Card } from './card.ts';
import { Composer } from './composer.ts';
import { lineInput, rawInput, type Input } from './input.ts';
import type { Key } from './keys.ts';
import { attach, imagePath, localCommands, type LocalHost } from './localCommands.ts';
import { editText, runShell } from './outside.ts';
import { requestCard } from './requestCards.ts';
import { Screen, type Footer } from './screen.ts';
import { accents, type DisplaySettings } from './settings.ts';
import { statusLine } from './statusLine.ts';
import { TurnView, verbosities, type Verbosity } from './turnView.ts';

/** A second ctrl-C within this time leaves. */
const LEAVE_MS = 2_000;

export interface ReplOptions {
  session?: string | undefined;
  fresh?: NewSession | undefined;
  /** The first prompt, sent by itself. */
  seed?: { text: string; attachments: string[] } | undefined;
  /** What the command line says; absent = `display.interface`. */
  interface?: 'cli' | 'tui' | undefined;
  /** Earlier prompts, oldest first, and where a new one goes. */
  history: { load(): string[]; add(text: string): boolean };
  /** The service in a few lines, for /status. */
  serviceStatus(): string;
}

type Dispatched = ResultOf<typeof commandDispatch>;

/** Answers the exit code. Errors: those of opening the conversation. */
export async function runRepl(host: ConversationHost, options: ReplOptions): Promise<number> {
  using screen = new Screen(process.stdout, { live: process.stdin.isTTY });
  screen.status('connecting');
  const { session, fresh } = options;
  const { conversation, snapshot } = await Conversation.open(host, { session, fresh, surface: 'cli', answers: true });
  using open = conversation;
  const settings = await displaySettings(open);
  screen.status(undefined);
  const repl = new Repl(open, screen, { ...options, settings });
  repl.greet();
  if ((options.interface ?? settings.interface) === 'tui')
    repl.tell('The full-screen interface is not part of this release yet; this is the classic one.');
  if (snapshot) {
    repl.host.view.recall(snapshot);
    for (const request of snapshot.open_requests) repl.onEvent({ type: 'request.open', ...request });
  }
  return await repl.run();
}

async function displaySettings(conversation: Conversation): Promise<DisplaySettings> {
  const found = await conversation.call(configGet, { key: 'display' }).catch(() => undefined);
  return found?.value ?? {};
}

class Repl {
  readonly host: LocalHost;
  readonly #conversation: Conversation;
  readonly #screen: Screen;
  readonly #options: ReplOptions;
  readonly #composer: Composer;
  readonly #input: Input;
  readonly #left = Promise.withResolvers<number>();
  /** Cards by request id, oldest first; the first is shown. */
  #cards = new Map<string, Card>();
  #interruptedAtMs = Number.NEGATIVE_INFINITY;
  /** Lines of a prompt that goes on, where the terminal cannot draw. */
  #parts: string[] = [];
  #outside = false;

  constructor(conversation: Conversation, screen: Screen, options: ReplOptions & { settings: DisplaySettings }) {
    this.#conversation = conversation;
    this.#screen = screen;
    this.#options = options;
    const view = new TurnView(screen);
    this.host = { conversation, screen, view, attachments: [], quit: () => this.#left.resolve(0) };
    this.#apply(options.settings);
    this.#composer = new Composer({
      history: options.history.load(),
      vim: options.settings.vim_mode === true,
      complete: (text) => this.#complete(text),
      onSubmit: (text) => void this.#take(text),
      onChange: () => screen.refresh(),
      onPaste: (text) => this.#attachPasted(text),
    });
    if (screen.isLive) screen.setFooter((columns) => this.#footer(columns));
    this.#input = screen.isLive
      ? rawInput(process.stdin, process.stdout, { onKey: (key) => this.#onKey(key), onEnd: this.host.quit })
      : lineInput(process.stdin, {
          onLine: (line) => this.#onLine(line),
          onInterrupt: () => this.#interrupt(),
          onEnd: this.host.quit,
        });
    conversation.listen((event) => this.onEvent(event));
  }

  greet(): void {
    const { info, sessionId } = this.#conversation;
    const { paint } = this.#screen;
    const model = info.model ? `${info.model}${info.scripted ? ' (scripted rehearsal, no real model)' : ''}` : 'no model';
    this.#screen.line(`${paint('bold', 'agent')} ${info.version} · ${model} ${paint('dim', `· ${sessionId} · /help`)}`);
    if (info.credential_warning) this.#screen.line(paint('yellow', info.credential_warning));
  }

  tell(text: string): void {
    this.#screen.line(this.#screen.paint('dim', text));
  }

  async run(): Promise<number> {
    const { seed } = this.#options;
    if (seed) {
      this.host.attachments.push(...seed.attachments);
      void this.#guarded(() => this.#submit(seed.text));
    }
    this.#plainPrompt();
    const code = await this.#left.promise;
    this.#screen.setFooter(undefined);
    if (this.host.view.busy) this.tell('The turn goes on; `agent chat --continue` comes back to it.');
    this.#screen.status(undefined);
    this.#screen.flush();
    this.#input[Symbol.dispose]();
    return code;
  }

  // --- what a user does ---

  #onKey(key: Key): void {
    if (this.#outside) return;
    if (key.ctrl && key.name === 'c') return this.#interrupt();
    if (key.ctrl && key.name === 'd' && this.#composer.isEmpty) return this.host.quit();
    if (key.ctrl && key.name === 'l') return this.#screen.clear();
    if (key.ctrl && key.name === 'g') return void this.#guarded(() => this.#edit());
    if (key.ctrl && key.name === 'z') return this.#stopJob();
    const written = this.#composer.value;
    if (this.#card?.take(key, written)) {
      if (key.name === 'enter') this.#composer.set('');
      return this.#screen.refresh();
    }
    if (key.ctrl && key.name === 'd') return this.#composer.take({ ...key, name: 'delete', ctrl: false });
    this.#composer.take(key);
  }

  /** A line of a terminal that cannot draw. */
  #onLine(line: string): void {
    if (this.#card) {
      if (!this.#card.answer(line)) this.#screen.line(this.#card.plain());
      return;
    }
    this.#parts.push(line.endsWith('\\') ? line.slice(0, -1) : line);
    if (!line.endsWith('\\')) void this.#take(this.#parts.splice(0).join('\n'));
  }

  async #take(text: string): Promise<void> {
    const trimmed = text.trim();
    if (trimmed === '' && this.host.attachments.length === 0) return this.#plainPrompt();
    if (trimmed) {
      this.#composer.remember(text);
      this.#options.history.add(text);
    }
    await this.#guarded(() => this.#perform(text, trimmed));
    this.#plainPrompt();
  }

  async #perform(text: string, trimmed: string): Promise<void> {
    if (/^![^!\n]/.test(trimmed)) return this.#shell(trimmed.slice(1).trim());
    // A path at the start is something to talk about; a command stands on one line, a long prompt of one may follow.
    if (/^\/[a-z?][\w-]*(?:\s|$)/i.test(trimmed)) return this.#dispatch(trimmed);
    return this.#submit(text || 'Look at what is attached.');
  }

  async #submit(text: string): Promise<void> {
    const { view, attachments } = this.host;
    const files = attachments.splice(0);
    view.submitting();
    try {
      const { status } = await this.#conversation.submit(text, files.length ? { attachments: files.map((path) => ({ path })) } : {});
      if (status === 'queued') this.tell('It runs after the current turn; /queue lists the waiting prompts.');
    } catch (thrown) {
      // Nothing was taken: it stands there again.
      attachments.push(...files);
      if (this.#composer.isEmpty) this.#composer.set(text);
      throw thrown;
    } finally {
      view.submitted();
    }
  }

  async #dispatch(line: string): Promise<void> {
    const { view } = this.host;
    if (this.#screen.isLive) this.#screen.line(`${this.#screen.paint('cyan', '›')} ${line.split('\n')[0]}`);
    if (!view.busy) this.#screen.status(line.split(/\s/)[0]);
    try {
      const params = { session_id: this.#conversation.sessionId, line, surface: 'cli' as const };
      await this.#done(await this.#conversation.call(commandDispatch, params));
    } finally {
      if (!view.busy) this.#screen.status(undefined);
    }
  }

  async #done(done: Dispatched): Promise<void> {
    const { name, kind, text, args, data } = done;
    switch (kind) {
      case 'local': {
        const local = localCommands[name];
        if (!local) throw new AgentError('UNKNOWN_COMMAND', `/${name} does nothing in this terminal`);
        return await local(this.host, args);
      }
      case 'session':
        if (text) this.#screen.line(text);
        return this.#enter(done.session_id!);
      case 'choice':
        return this.#choose(done);
      case 'prompt':
        return text ? this.tell(text) : undefined;
      case 'text':
        if (text) this.#screen.line(text);
        if (name === 'status') this.#screen.line(`\n${this.#options.serviceStatus()}`);
        if (name === 'undo' && typeof (data as { text?: unknown } | null)?.text === 'string')
          this.#composer.set((data as { text: string }).text);
        return this.#apply(data ?? {});
    }
  }

  async #enter(session: string): Promise<void> {
    this.#cards.clear();
    const snapshot = await this.#conversation.resume(session);
    this.greet();
    this.host.view.recall(snapshot);
  }

  /** The user picks, and the line behind it is dispatched; an answer of their own goes behind `args`. */
  #choose({ text, choices, args }: Dispatched): void {
    const id = 'choice';
    const [first = '', ...rest] = text.split('\n');
    const close = (line?: string): void => {
      this.#cards.delete(id);
      this.#screen.refresh();
      if (line) void this.#guarded(() => this.#dispatch(line));
    };
    const open = args.startsWith('/');
    if (choices.length === 0 && !open) return this.#screen.line(text);
    for (const line of rest) this.#screen.line(line);
    // The second one leaves everything as it is.
    const isYesOrNo = choices.length === 2 && choices[1]!.line === '';
    this.#show(
      id,
      new Card({
        title: [first],
        options: isYesOrNo ? choices.map(({ label }, index) => ({ label, letter: 'yn'[index]! })) : choices.map(({ label }) => ({ label })),
        free: open ? 'or write an answer' : undefined,
        tone: 'cyan',
        onPick: ([index]) => close(choices[index!]!.line),
        onText: (answer) => close(answer ? `${args}"${answer.replaceAll(/["\\]/g, '\\$&')}" ...` : undefined),
        onCancel: () => close(),
      }),
    );
  }

  /** What waits first: the turn, then the line, then the REPL. */
  #interrupt(): void {
    if (this.host.view.busy) return void this.#guarded(() => this.#stop());
    if (this.#cards.delete('choice') || this.#composer.clear()) return this.#screen.refresh();
    const nowMs = performance.now();
    if (nowMs - this.#interruptedAtMs < LEAVE_MS) return this.host.quit();
    this.#interruptedAtMs = nowMs;
    this.tell('ctrl-C again leaves.');
  }

  async #stop(): Promise<void> {
    if (!(await this.#conversation.interrupt())) this.tell('Nothing can be interrupted now.');
  }

  // --- what the service says ---

  onEvent(event: ChatEvent): void {
    switch (event.type) {
      case 'request.open':
        return this.#ask(event);
      case 'request.cancel':
        return this.#withdrawn(event.payload);
      case 'connection.failed':
        return this.#giveUp(event.error);
      default:
        this.host.view.draw(event);
        this.#screen.refresh();
        if (event.type === 'message.complete') this.#plainPrompt();
    }
  }

  /** Leaves, and keeps what was being written. */
  #giveUp(error: unknown): void {
    this.#fail(error);
    const draft = this.#composer.value;
    if (draft.trim() !== '' && this.#options.history.add(draft)) this.tell('What you were writing is kept: arrow up in the next chat.');
    this.tell(`\`agent chat --resume ${this.#conversation.sessionId}\` goes on with this conversation.`);
    this.#left.resolve(1);
  }

  #ask(request: Extract<ChatEvent, { type: 'request.open' }>): void {
    const { id } = request;
    if (this.#cards.has(id)) return;
    requestCard(
      request,
      (result, said) => {
        this.#cards.delete(id);
        this.tell(said);
        void this.#guarded(async () => {
          if (!(await this.#conversation.answer(id, result))) this.tell('It was no longer open.');
        });
        this.#screen.refresh();
        this.#announceCard();
      },
      (card) => this.#show(id, card),
    );
  }

  #withdrawn({ id, reason }: Extract<ChatEvent, { type: 'request.cancel' }>['payload']): void {
    if (!this.#cards.delete(id)) return;
    const said = {
      timeout: 'ran out of time',
      interrupted: 'went with its turn',
      shutdown: 'went with the worker',
      resolved: 'was answered elsewhere',
      session_closed: 'went with its session',
    };
    this.tell(`The question ${said[reason]}.`);
    this.#screen.refresh();
    this.#announceCard();
  }

  #show(id: string, card: Card): void {
    this.#cards.set(id, card);
    if (!this.#screen.isLive) this.#screen.line(card.plain());
    this.#screen.refresh();
    this.#announceCard();
  }

  /** The clock of a question starts when it is drawn, not while it waits behind another. */
  #announceCard(): void {
    const id = this.#cards.keys().next().value;
    if (id !== undefined && id !== 'choice') void this.#conversation.shown(id);
    const guardMs = this.#card?.shown() ?? 0;
    if (guardMs > 0) setTimeout(() => this.#screen.refresh(), guardMs).unref();
  }

  get #card(): Card | undefined {
    return this.#cards.values().next().value;
  }

  // --- the terminal ---

  #footer(columns: number): Footer {
    const { view, attachments } = this.host;
    const { paint } = this.#screen;
    const card = this.#card;
    const above = [
      ...(card ? card.rows(columns, paint) : []),
      ...(this.#cards.size > 1 ? [paint('dim', `${this.#cards.size - 1} more question(s) wait`)] : []),
      paint(
        'dim',
        cutToCells(
          statusLine(this.#conversation.info, { queued: view.queued, files: attachments.length, vim: this.#composer.vim?.mode }),
          columns,
        ),
      ),
    ];
    const composer = this.#composer.draw(columns, paint);
    return { rows: [...above, ...composer.rows], cursor: { row: above.length + composer.cursor.row, column: composer.cursor.column } };
  }

  /** A terminal that cannot draw gets a prompt it can see. */
  #plainPrompt(): void {
    if (!this.#screen.isLive && !this.host.view.busy && process.stdin.isTTY) this.#screen.write('> ');
  }

  async #complete(text: string) {
    const session_id = this.#conversation.sessionId;
    const path = !text.startsWith('/');
    return path
      ? await this.#conversation.call(completePath, { text, session_id })
      : await this.#conversation.call(completeSlash, { text, session_id, surface: 'cli' });
  }

  #attachPasted(text: string): boolean {
    const path = imagePath(text);
    if (path) attach(this.host, path);
    return path !== undefined;
  }

  async #edit(): Promise<void> {
    const edited = await this.#away(() => editText(this.#composer.value));
    this.#composer.set(edited);
  }

  async #shell(command: string): Promise<void> {
    this.#screen.line(`${this.#screen.paint('cyan', '!')} ${command}`);
    const code = await this.#away(() => runShell(command));
    if (code !== 0) this.tell(`It ended with ${code}.`);
  }

  /** Another program has the terminal meanwhile. */
  async #away<T>(work: () => Promise<T>): Promise<T> {
    this.#outside = true;
    this.#screen.suspend();
    this.#input.suspend();
    try {
      return await work();
    } finally {
      this.#input.resume();
      this.#outside = false;
      this.#screen.resume();
    }
  }

  /** ctrl-Z, as any program in a shell. */
  #stopJob(): void {
    this.#screen.suspend();
    this.#input.suspend();
    process.once('SIGCONT', () => {
      this.#input.resume();
      this.#screen.resume();
    });
    process.kill(process.pid, 'SIGTSTP');
  }

  /** Settings of the display, at the start and when a command changed one. */
  #apply(settings: DisplaySettings): void {
    const { view } = this.host;
    if (settings.show_reasoning !== undefined) view.showReasoning = settings.show_reasoning;
    if (verbosities.includes(settings.tool_progress as Verbosity)) view.verbosity = settings.tool_progress as Verbosity;
    const skin = settings['display.skin'] ?? settings.skin;
    if (skin !== undefined) this.#screen.accent(accents[skin] ?? 'cyan');
    this.#screen.refresh();
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    const fix = isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : '';
    this.#screen.line(`${this.#screen.paint('red', 'agent:')} ${messageOf(thrown)}${fix}`);
  }
}
