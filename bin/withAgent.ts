/** A command that asks the agent worker and needs no running service: it starts one, which ends automatically. */
import { existsSync } from 'node:fs';
import { isAgentError } from '../base/errors.ts';
import type { Link } from '../ipc/link.ts';
import { openHome, type Home } from '../state/home.ts';
import type { Input } from './command.ts';
import { dialWorker } from './connect.ts';
import { ensureSupervisor } from './launch.ts';
import { withProgress } from './progress.ts';
import { startInstalled } from './service/startInstalled.ts';
import { slotOf } from './slots.ts';
import { note } from './terminal.ts';

/** Errors: START_FAILED, SLOT_PARKED, and what `use` throws. */
export async function withAgent<T>(input: Input, use: (link: Link) => Promise<T>): Promise<T> {
  const home = openHome();
  const slot = slotOf('agent', input.profile);
  using _presence = await agentPresence(home, slot);
  using link = await dialWorker(home, slot);
  return await use(link);
}

/**
 * A service that runs the slot, kept while this is held: one that was started for it ends some minutes after its last
 * client. A worker that serves is enough while its supervisor does not respond.
 */
export async function agentPresence(home: Home, slot: string): Promise<Disposable> {
  const start = async () => (await startInstalled(home)) ?? (await ensureSupervisor(home, { only: [slot] }));
  try {
    return (await withProgress('starting the agent', start)).link;
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'NOT_RESPONDING' || !existsSync(home.run.socket(slot))) throw thrown;
    note(`agent: ${thrown.message} — ${thrown.fix}`);
    return { [Symbol.dispose]: () => {} };
  }
}
