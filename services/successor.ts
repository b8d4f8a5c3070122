/**
 * The new process of a planned restart (ADR 0019). `standby`: its code is loaded, it says so and waits
 * until the one before it is gone; `overlap`: it serves beside the old one, on the same listener.
 */
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { within } from '../base/time.ts';
import { activate, attach } from '../ipc/contracts/supervisor.ts';
import { dial } from '../ipc/dial.ts';
import { onNotice } from '../ipc/link.ts';
import type { WorkerContext } from './worker.ts';

export type Succession = 'standby' | 'overlap' | undefined;

/** Read once, and gone from the environment: no child of a worker is its successor. */
export function takeSuccession(env: NodeJS.ProcessEnv = process.env): Succession {
  const said = env.AGENT_SUCCESSOR;
  delete env.AGENT_SUCCESSOR;
  return said === 'standby' || said === 'overlap' ? said : undefined;
}

/** Resolves when it is this process's turn. Errors: PEER_GONE when the supervisor leaves first, TIMEOUT. */
export async function standBy({ home, token, slot, release }: WorkerContext, nonce: string): Promise<void> {
  const turn = Promise.withResolvers<void>();
  const link = await dial(home.run.supervisorSocket, {
    token,
    slot,
    code: release.code,
    notices: [onNotice(activate, () => turn.resolve())],
  });
  await link.call(attach, { slot, pid: process.pid, nonce, code: release.code, facts: {}, standby: true });
  void link.closed.then(() => turn.reject(new AgentError('PEER_GONE', 'the supervisor is gone; nobody will call this process up')));
  try {
    await within(turn.promise, { ms: limits.worker.drainBusyMs + limits.worker.startupMs, what: 'the turn of this process' });
  } finally {
    link.close();
  }
}
