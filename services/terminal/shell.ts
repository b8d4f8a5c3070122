/**
 * One shell on a pseudoterminal: output to its owner with back-pressure, an environment without
 * secrets, and an end that leaves nothing of its session alive.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { filterEnv } from '../../base/envFilter.ts';
import { AgentError } from '../../base/errors.ts';
import { hexId, sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { data, exit } from '../../ipc/contracts/terminal.ts';
import type { Link } from '../../ipc/link.ts';
import { terminalFix } from '../../state/terminalModule.ts';
import { requireProfile } from '../../state/home.ts';
import { commonEnv } from '../manifest.ts';
import type { WorkerContext } from '../worker.ts';
import { signalSession } from './session.ts';

export interface Terminal {
  readonly id: string;
  readonly pid: number;
  readonly shell: string;
  readonly owner: string;
  readonly resumeKey: string;
  /** Who holds it now; null while it waits for its page. */
  readonly link: Link | null;
  /** Resolves when the shell has ended. */
  readonly ended: Promise<void>;
  write(text: string): void;
  resize(cols: number, rows: number): void;
  /** Hangs up, then kills what is left of the session. Answers when the shell is gone. */
  close(): Promise<void>;
  /** Another link holds it from now on; it gets the latest output first. */
  attach(link: Link): void;
}

export interface OpenOptions {
  context: WorkerContext;
  link: Link;
  params: { cols: number; rows: number; profile?: string | undefined; cwd?: string | undefined; owner: string; keep: boolean };
}

/** Errors: UNKNOWN_PROFILE, NOT_FOUND (the working directory), PEER_GONE. */
export async function openTerminal({ context, link: opener, params }: OpenOptions): Promise<Terminal> {
  const profile = requireProfile(context.home, params.profile ?? context.profile);
  const cwd = params.cwd ?? homedir();
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw new AgentError('NOT_FOUND', `there is no directory ${cwd}`);
  const file = findShell();
  // The native module costs memory and is loaded with the first terminal.
  const { spawn } = await loadPty();
  if (!opener.isOpen) throw new AgentError('PEER_GONE', 'the page closed before its terminal was open');
  const pty = spawn(file, [], {
    name: 'xterm-256color',
    cols: params.cols,
    rows: params.rows,
    cwd,
    env: { LANG: 'C.UTF-8', ...filterEnv(process.env, commonEnv), TERM: 'xterm-256color', COLORTERM: 'truecolor', AGENT_HOME: profile.dir },
  });
  const id = sortableId('pty');
  const ended = Promise.withResolvers<void>();
  let alive = true;
  let held = false;
  let link: Link | null = null;
  let forgotten: NodeJS.Timeout | undefined;
  const latest = new LatestOutput();

  pty.onData((text) => {
    latest.add(text);
    context.progress();
    const to = link;
    if (!to) return;
    to.notify(data, { pty_id: id, data: text });
    if (held || to.unsentBytes < limits.terminal.outputPauseBytes) return;
    held = true;
    pty.pause();
    void Promise.race([to.drained(), to.closed]).then(release);
  });
  const release = () => {
    held = false;
    if (alive) pty.resume();
  };
  pty.onExit(({ exitCode, signal }) => {
    alive = false;
    clearTimeout(forgotten);
    link?.notify(exit, { pty_id: id, code: exitCode, signal: signal ?? null });
    // Background jobs of the shell must not outlive the page that started them.
    signalSession(pty.pid, 'SIGKILL');
    context.log.info('terminal closed', { pty_id: id, code: exitCode, signal: signal || undefined });
    ended.resolve();
  });
  const close = async () => {
    if (!alive) return;
    // A held shell could not even read its hang-up.
    pty.resume();
    signalSession(pty.pid, 'SIGHUP');
    await Promise.race([ended.promise, sleep(limits.terminal.hangupMs)]);
    if (alive) signalSession(pty.pid, 'SIGKILL');
    await Promise.race([ended.promise, sleep(limits.worker.killMs)]);
  };
  const attach = (next: Link) => {
    clearTimeout(forgotten);
    const before = link;
    link = next;
    before?.close();
    void next.closed.then(() => {
      if (link !== next) return;
      link = null;
      if (!params.keep) return void close();
      context.log.info('terminal waits for its page', { pty_id: id });
      forgotten = setTimeout(() => void close(), limits.terminal.keepMs);
    });
    const text = latest.text();
    if (text !== '') next.notify(data, { pty_id: id, data: text });
  };
  attach(opener);
  context.log.info('terminal opened', { pty_id: id, child_pid: pty.pid, shell: basename(file), profile: profile.name });
  return {
    id,
    pid: pty.pid,
    shell: basename(file),
    owner: params.owner,
    resumeKey: hexId(32),
    get link() {
      return link;
    },
    attach,
    ended: ended.promise,
    write: (text) => alive && pty.write(text),
    resize: (cols, rows) => alive && pty.resize(cols, rows),
    close,
  };
}

/** The end of what the shell said, for a page that comes back: whole chunks, as many as fit. */
class LatestOutput {
  #chunks: string[] = [];
  #chars = 0;

  add(chunk: string): void {
    this.#chunks.push(chunk);
    this.#chars += chunk.length;
    while (this.#chars > limits.terminal.scrollbackMaxBytes) this.#chars -= this.#chunks.shift()!.length;
  }

  text(): string {
    return this.#chunks.join('');
  }
}

/** The user's shell where it can be run, else the system's. */
function findShell(): string {
  for (const path of [process.env.SHELL, '/bin/bash']) {
    try {
      if (path) {
        accessSync(path, constants.X_OK);
        return path;
      }
    } catch {
      // the next one
    }
  }
  return '/bin/sh';
}

/** npm installs it without building it where there is no compiler. Errors: TERMINAL_UNAVAILABLE. */
async function loadPty(): Promise<typeof import('node-pty')> {
  try {
    return await import('node-pty');
  } catch (cause) {
    throw new AgentError('TERMINAL_UNAVAILABLE', 'no terminal can be opened: the module node-pty is not built', {
      cause,
      fix: terminalFix(),
    });
  }
}
