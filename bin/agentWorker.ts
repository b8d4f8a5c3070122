/** The agent worker for a command that asks it something: started in the background when no service runs, as `agent chat` does. */
import type { Link } from '../ipc/link.ts';
import { openHome } from '../state/home.ts';
import type { Input } from './command.ts';
import { withWorker } from './connect.ts';
import { ensureSupervisor } from './launch.ts';
import { withProgress } from './progress.ts';
import { startInstalled } from './service/startInstalled.ts';
import { slotOf } from './slots.ts';

/** Errors: START_FAILED, SLOT_PARKED, and what `use` throws. */
export async function withAgent<T>(input: Input, use: (link: Link) => Promise<T>): Promise<T> {
  const home = openHome();
  const slot = slotOf('agent', input.profile);
  const start = async () => (await startInstalled(home)) ?? (await ensureSupervisor(home, { only: [slot] }));
  // Held open while we ask: a service that a command started stays as long as it has clients.
  const { link: presence } = await withProgress('starting the agent', start);
  using _presence = presence;
  return await withWorker(home, slot, use);
}
