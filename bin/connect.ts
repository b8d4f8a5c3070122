/**
 * Reaching the processes of the running service: the supervisor, or a worker (started through the
 * supervisor when it is an on-demand one). A command dials, asks, and hangs up.
 */
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { ensureSlot } from '../ipc/contracts/supervisor.ts';
import { dial, type DialOptions } from '../ipc/dial.ts';
import type { Link } from '../ipc/link.ts';
import { readToken, type Home } from '../state/home.ts';
import { lockHolder } from '../state/lock.ts';
import { release } from '../state/release.ts';

export type DialExtras = Pick<DialOptions, 'handlers' | 'notices' | 'startingMs' | 'signal'>;

/** Errors: NO_SUPERVISOR, and what `use` throws. */
export async function withSupervisor<T>(home: Home, use: (link: Link) => Promise<T>): Promise<T> {
  using link = await dialSupervisor(home);
  return await use(link);
}

/** Errors: NO_SUPERVISOR, START_FAILED, SLOT_PARKED, and what `use` throws. */
export async function withWorker<T>(home: Home, slot: string, use: (link: Link) => Promise<T>, extras: DialExtras = {}): Promise<T> {
  using link = await dialWorker(home, slot, extras);
  return await use(link);
}

/** Errors: NO_SUPERVISOR, NOT_RESPONDING. */
export async function dialSupervisor(home: Home, extras: DialExtras = {}): Promise<Link> {
  try {
    return await dial(home.run.supervisorSocket, optionsFor(home, extras));
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'TIMEOUT') throw notResponding(home, thrown);
    throw unreachable(thrown) ? noSupervisor(home) : thrown;
  }
}

/** Errors: NO_SUPERVISOR, START_FAILED, SLOT_PARKED. */
export async function dialWorker(home: Home, slot: string, extras: DialExtras = {}): Promise<Link> {
  try {
    return await dial(home.run.socket(slot), optionsFor(home, { ...extras, startingMs: 0 }));
  } catch (thrown) {
    // One that stands still may go on, or is replaced by its supervisor.
    if (!unreachable(thrown) && !(isAgentError(thrown) && thrown.code === 'TIMEOUT')) throw thrown;
  }
  await withSupervisor(home, (supervisor) => supervisor.call(ensureSlot, { slot }, { signal: extras.signal }));
  return dial(home.run.socket(slot), optionsFor(home, { startingMs: limits.ipc.startingMs, ...extras }));
}

export function noSupervisor(home: Home): AgentError {
  return new AgentError('NO_SUPERVISOR', `no supervisor runs on ${home.root}`, { fix: 'start it with `agent up`' });
}

export function notResponding(home: Home, cause?: unknown): AgentError {
  const pid = lockHolder(home.run.supervisorLock)?.pid;
  return new AgentError(
    'NOT_RESPONDING',
    `the supervisor${pid === undefined ? '' : ` (process ${pid})`} of ${home.root} does not respond`,
    {
      cause,
      fix: 'end it with `agent down`, then `agent up`; the workers run on until then',
    },
  );
}

function optionsFor(home: Home, extras: DialExtras): DialOptions {
  return { token: () => readToken(home) ?? '', slot: 'cli', code: release().code, ...extras };
}

const unreachable = (thrown: unknown): boolean =>
  isAgentError(thrown) && (thrown.code === 'PEER_UNREACHABLE' || thrown.code === 'PEER_GONE');
