/** Starting the supervisor in the background: its own session, nothing of this terminal, proved by its socket. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { INCARNATION_VARIABLE } from '../base/envFilter.ts';
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sealedMark, sealVariables } from '../base/sealedVariables.ts';
import { sleep } from '../base/time.ts';
import type { Ending } from '../supervisor/causes.ts';
import type { Link } from '../ipc/link.ts';
import { writeError } from '../state/atomicFile.ts';
import { prepareHome, type Home } from '../state/home.ts';
import { lockHolder, SUPERVISOR, type LockRecord } from '../state/lock.ts';

import { release } from '../state/release.ts';
import { dialSupervisor, notResponding } from './connect.ts';
import { splitEnvironment } from './shownEnvironment.ts';

export interface LaunchOptions {
  demo?: boolean;
  port?: number | undefined;
  host?: string | undefined;
  insecure?: boolean;
  /** Only these slots; the service leaves ten minutes after its last client. */
  only?: string[];
  /** Environment of the supervisor, and so of what its workers inherit; default: of this command. */
  env?: NodeJS.ProcessEnv;
}

/** A link to the supervisor that runs, or to one started now. Errors: START_FAILED with its reason, NOT_RESPONDING, HOME_UNUSABLE. */
export async function ensureSupervisor(home: Home, options: LaunchOptions): Promise<{ link: Link; started: boolean }> {
  for (const sinceMs = performance.now(); ;) {
    const running = await dialSupervisor(home).catch(onlyIfAbsent);
    if (running) return { link: running, started: false };
    const holder = lockHolder(home.run.supervisorLock);
    if (holder) await holderMoves(home, holder, performance.now() - sinceMs);
    else {
      prepareHome(home);
      const launched = await launch(home, options);
      if (launched) return launched;
    }
  }
}

/** A process that owns the home and serves no socket is about to serve it or to end. Errors: NOT_RESPONDING. */
async function holderMoves(home: Home, { holder }: LockRecord, waitedMs: number): Promise<void> {
  const limitMs = holder === SUPERVISOR ? limits.ipc.startingMs : limits.supervisor.endMs;
  if (waitedMs > limitMs) throw notResponding(home);
  await sleep(limits.supervisor.endLookMs);
}

/** Undefined when another supervisor owns the home by now. */
async function launch(home: Home, options: LaunchOptions): Promise<{ link: Link; started: boolean } | undefined> {
  const { codeRoot, built } = release();
  const entry = join(codeRoot, 'bin', `agentd.${built ? 'js' : 'ts'}`);
  const accidents = home.run.supervisorOutput;
  // What the one before printed explains its end.
  if (existsSync(accidents)) renameSync(accidents, `${accidents}.1`);
  const stderr = openSync(accidents, 'w', 0o600);
  reserveBlock(stderr, accidents);
  const { shown, sealed } = splitEnvironment(options.env ?? process.env);
  const stdin = sealVariables(sealed);
  const child = spawn(process.execPath, [entry, ...wordsOf(options)], {
    cwd: home.root,
    detached: true,
    stdio: [stdin, 'ignore', stderr],
    // Started from a tool of a worker, it must not be ended with that worker.
    env: { ...shown, ...sealedMark, AGENT_HOME: home.root, [INCARNATION_VARIABLE]: undefined },
  });
  for (const fd of [stdin, stderr]) closeSync(fd);
  const ended = new AbortController();
  const end: Pick<Ending, 'code' | 'signal' | 'spawnError'> = { code: null, signal: null };
  child.once('error', (cause) => {
    end.spawnError = cause.message;
    ended.abort(cause);
  });
  child.once('exit', (code, signal) => {
    Object.assign(end, { code, signal });
    ended.abort(new Error(`it ended with ${signal ?? `code ${code}`}`));
  });
  try {
    const link = await dialSupervisor(home, { startingMs: limits.ipc.startingMs, signal: ended.signal });
    child.unref();
    return { link, started: link.peer.pid === child.pid };
  } catch (thrown) {
    // Another command was faster: its supervisor serves this one too.
    if (lockHolder(home.run.supervisorLock)) return undefined;
    const { what, fix } = await causeOfEnd(end, readRegularText(accidents).trim().split('\n'));
    throw new AgentError('START_FAILED', `the supervisor did not start: ${what}`, {
      cause: thrown,
      fix: fix ?? `\`agent up --foreground\` shows its output; ${accidents} and \`agent logs supervisor\` keep it`,
    });
  }
}

/** A supervisor that ends because the disk is full must have room to report it. Errors: DISK_FULL. */
function reserveBlock(fd: number, path: string): void {
  try {
    writeSync(fd, '\n');
  } catch (thrown) {
    closeSync(fd);
    throw writeError(path, thrown);
  }
}

/** Its own last line where it ended by a decision; else what its exit and its output show. */
async function causeOfEnd(
  end: Pick<Ending, 'code' | 'signal' | 'spawnError'>,
  tail: readonly string[],
): Promise<{ what: string; fix: string | null | undefined }> {
  const own = /^agent: (.*?)(?: — (.*))?$/.exec(tail.at(-1)!);
  if (own) return { what: own[1]!, fix: own[2] };
  // Only here: a start that succeeds does not need it.
  const { explain } = await import('../supervisor/causes.ts');
  const { cause, fix } = explain({ ...end, tail });
  return { what: `it ${cause}`, fix };
}

function wordsOf({ demo, port, host, insecure, only }: LaunchOptions): string[] {
  return [
    '--background',
    ...(demo ? ['--demo'] : []),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(host === undefined ? [] : ['--host', host]),
    ...(insecure ? ['--insecure'] : []),
    ...(only ? ['--only', only.join(',')] : []),
  ];
}

function onlyIfAbsent(thrown: unknown): undefined {
  if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
  throw thrown;
}
