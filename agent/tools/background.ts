/**
 * Commands that go on after their call: held by the worker, owned by a session, ended with either. Their
 * recent output stays readable here after their end, all of it in a file.
 */
import { AgentError } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isoTime, sleep } from '../../base/time.ts';
import { shellLine, startCommand, type CommandEnd, type CommandHost, type CommandSandbox, type RunningCommand } from './command.ts';
import { plainText } from './runToEnd.ts';

const { backgroundKeepMax, backgroundMax, backgroundPerSessionMax, backgroundTailChars, treeMs } = limits.tools;

export interface BackgroundRow {
  process_id: string;
  session_id: string;
  command: string;
  state: 'running' | 'ended';
  exit_code: number | null;
  signal: string | null;
  started_at: string;
  output_tail: string;
}

export interface BackgroundRequest {
  sessionId: string;
  command: string;
  cwd: string;
  pty?: boolean | undefined;
  /** Of its session. */
  sandbox?: CommandSandbox | undefined;
}

/** Hears of commands, so that their end is told even when nobody asks. */
export interface BackgroundWatch {
  /** It is about to start. Errors: DISK_FULL, STORE_BUSY; then it does not. */
  started(row: Pick<BackgroundRow, 'process_id' | 'session_id' | 'command'>): void;
  /** By itself. Throws nothing. */
  ended(row: BackgroundRow): void;
  /** It was stopped, did not start, or its end has been read: nothing is left to tell. Throws nothing. */
  settled(processId: string): void;
}

interface Held {
  id: string;
  sessionId: string;
  commandLine: string;
  cwd: string;
  /** Lines written so far that needed no approval, and the line that is not finished. */
  passed: string;
  unfinished: string;
  startedAt: number;
  pty: boolean;
  /** Undefined while it starts. */
  command: RunningCommand | undefined;
  end: CommandEnd | undefined;
  /** Somebody asked for its end. */
  stopped: boolean;
  recent: RecentText;
}

/** Characters that a list shows of each. */
const LIST_TAIL_CHARS = 400;

export class BackgroundProcesses {
  #host: CommandHost;
  #watch: BackgroundWatch | undefined;
  #all = new Map<string, Held>();

  constructor(host: CommandHost, watch?: BackgroundWatch) {
    this.#host = host;
    this.#watch = watch;
  }

  /** Errors: TOO_MANY_PROCESSES, and those of startCommand. */
  async start(request: BackgroundRequest): Promise<BackgroundRow> {
    const { sessionId, command, cwd, pty = false, sandbox } = request;
    this.#refuseTooMany(sessionId);
    const held: Held = {
      id: `proc_${hexId(6)}`,
      sessionId,
      commandLine: command,
      cwd,
      passed: '',
      unfinished: '',
      startedAt: Date.now(),
      pty,
      command: undefined,
      end: undefined,
      stopped: false,
      recent: new RecentText(backgroundTailChars),
    };
    this.#watch?.started({ process_id: held.id, session_id: sessionId, command });
    this.#all.set(held.id, held);
    try {
      const spec = { ...shellLine(command), cwd, name: held.id, pty, input: true };
      held.command = await startCommand({ ...spec, onText: (text) => held.recent.push(text) }, { ...this.#host, sandbox });
    } catch (thrown) {
      this.#all.delete(held.id);
      this.#watch?.settled(held.id);
      throw thrown;
    }
    void held.command.ended.then((end) => {
      held.end = end;
      if (!held.stopped && this.#all.has(held.id)) this.#watch?.ended(rowOf(held));
      this.#forgetOldest(sessionId);
    });
    // Its session, or the worker, may have gone while it started.
    if (!this.#all.has(held.id)) held.command.stop();
    return rowOf(held);
  }

  list(sessionId?: string): BackgroundRow[] {
    return [...this.#all.values()].filter((held) => sessionId === undefined || held.sessionId === sessionId).map(rowOf);
  }

  /** New output since the last look of the model, and the state. Errors: UNKNOWN_PROCESS. */
  poll(id: string, sessionId: string): BackgroundRow & { output: string; missed: number; output_file: string | null } {
    const held = this.#held(id, sessionId);
    const { text, missed } = held.recent.take();
    if (held.end) this.#watch?.settled(id);
    return { ...rowOf(held), output: shown(held, text), missed, output_file: held.command?.output.path ?? null };
  }

  /** Everything that is still held, seen or not. Errors: UNKNOWN_PROCESS. */
  log(id: string, sessionId: string): BackgroundRow & { output: string; output_file: string | null } {
    const held = this.#held(id, sessionId);
    if (held.end) this.#watch?.settled(id);
    return { ...rowOf(held), output: shown(held, held.recent.toString()), output_file: held.command?.output.path ?? null };
  }

  /** What its shell would have read in all after `text`, and where it was started; undefined = it is unknown. */
  inputWith(id: string, sessionId: string, text: string): { script: string; cwd: string } | undefined {
    const held = this.#all.get(id);
    if (held?.sessionId !== sessionId) return undefined;
    return { script: held.passed + held.unfinished + text, cwd: held.cwd };
  }

  /** `passed`: it needed no approval, so later writes are judged together with it. Errors: UNKNOWN_PROCESS, BAD_REQUEST when it takes no input any more. */
  write(id: string, sessionId: string, input: { text: string; close: boolean; passed: boolean }): void {
    const held = this.#held(id, sessionId);
    if (held.end || !held.command?.write(input.text)) {
      throw new AgentError('BAD_REQUEST', `${id} takes no input: ${held.end ? 'it has ended' : 'its input is closed'}`);
    }
    const whole = held.unfinished + input.text;
    const end = whole.lastIndexOf('\n') + 1;
    held.unfinished = whole.slice(end);
    if (input.passed) held.passed += whole.slice(0, end);
    if (input.close) held.command.closeInput();
  }

  /** Waits for its end, at most so long. Errors: UNKNOWN_PROCESS, the signal's reason. */
  async wait(id: string, sessionId: string, { ms, signal }: { ms: number; signal: AbortSignal }): Promise<void> {
    const held = this.#held(id, sessionId);
    if (held.end || !held.command) return;
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    try {
      await Promise.race([held.command.ended, sleep(ms, both)]);
    } finally {
      over.abort();
    }
  }

  /** False when it had ended already. Answers when nothing of it lives. Errors: UNKNOWN_PROCESS. */
  async stop(id: string, sessionId?: string): Promise<boolean> {
    const held = this.#held(id, sessionId);
    if (held.end || !held.command) return false;
    held.stopped = true;
    this.#watch?.settled(id);
    await stopped([held]);
    return true;
  }

  /** With all that is known of them. */
  async endSession(sessionId: string): Promise<void> {
    const own = [...this.#all.values()].filter((held) => held.sessionId === sessionId);
    for (const { id } of own) this.#watch?.settled(id);
    await this.#end(own);
  }

  async close(): Promise<void> {
    await this.#end([...this.#all.values()]);
  }

  get running(): number {
    return [...this.#all.values()].filter((held) => !held.end).length;
  }

  async #end(all: Held[]): Promise<void> {
    for (const held of all) this.#all.delete(held.id);
    await stopped(all.filter((held) => !held.end));
  }

  #held(id: string, sessionId?: string): Held {
    const held = this.#all.get(id);
    if (held && (sessionId === undefined || held.sessionId === sessionId)) return held;
    const known = this.list(sessionId).map((row) => row.process_id);
    throw new AgentError('UNKNOWN_PROCESS', `there is no background command ${id} here; those of an earlier worker ended with it`, {
      fix: known.length ? `known: ${known.join(', ')}` : 'start one with terminal and background',
    });
  }

  #refuseTooMany(sessionId: string): void {
    const running = [...this.#all.values()].filter((held) => !held.end);
    const own = running.filter((held) => held.sessionId === sessionId);
    if (own.length < backgroundPerSessionMax && running.length < backgroundMax) return;
    throw new AgentError('TOO_MANY_PROCESSES', `${own.length} background commands run in this session, ${running.length} in all`, {
      fix: `end one first: process kill ${own[0]?.id ?? ''}`.trim(),
    });
  }

  #forgetOldest(sessionId: string): void {
    const ended = [...this.#all.values()].filter((held) => held.end && held.sessionId === sessionId);
    for (const held of ended.slice(0, -backgroundKeepMax)) this.#all.delete(held.id);
  }
}

async function stopped(all: Held[]): Promise<void> {
  for (const { command } of all) command?.stop();
  const patience = new AbortController();
  const over = sleep(limits.tools.terminalTermMs + 2 * treeMs, patience.signal).catch(() => {});
  await Promise.race([Promise.all(all.flatMap(({ command }) => (command ? [command.ended] : []))), over]);
  patience.abort();
}

function rowOf(held: Held): BackgroundRow {
  const { id, sessionId, commandLine, startedAt, end, recent } = held;
  return {
    process_id: id,
    session_id: sessionId,
    command: commandLine,
    state: end ? 'ended' : 'running',
    exit_code: end?.code ?? null,
    signal: end?.signal ?? null,
    started_at: isoTime(startedAt),
    output_tail: shown(held, recent.toString().slice(-LIST_TAIL_CHARS)),
  };
}

const shown = ({ pty }: Held, text: string): string => (pty ? plainText(text) : text);

/** A ring of text that remembers how far it was read. */
class RecentText {
  #text = '';
  #dropped = 0;
  #seen = 0;
  #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  push(text: string): void {
    this.#text += text;
    if (this.#text.length > 2 * this.#max) this.#trim();
  }

  /** What came since the last call, and how much of it is no longer held. */
  take(): { text: string; missed: number } {
    this.#trim();
    const from = Math.max(this.#seen, this.#dropped);
    const missed = from - this.#seen;
    const text = this.#text.slice(from - this.#dropped);
    this.#seen = this.#dropped + this.#text.length;
    return { text, missed };
  }

  toString(): string {
    this.#trim();
    return this.#text;
  }

  #trim(): void {
    const over = this.#text.length - this.#max;
    if (over <= 0) return;
    this.#dropped += over;
    this.#text = this.#text.slice(over);
  }
}
