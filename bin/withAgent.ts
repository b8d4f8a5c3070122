/** A command that asks the agent worker and needs no running service: it starts one, which leaves by itself. */
import type { Link } from '../ipc/link.ts';
import { openHome } from '../state/home.ts';
import type { Input } from './command.ts';
import { dialWorker } from './connect.ts';
import { ensureSupervisor } from './launch.ts';
import { withProgress } from './progress.ts';
import { startInstalled } from './service/startInstalled.ts';
import { slotOf } from './slots.ts';

/** Errors: START_FAILED, SLOT_PARKED, and what `use` throws. */
export async function withAgent<T>(input: Input, use: (link: Link) => Promise<T>): Promise<T> {
  const home = openHome();
  const slot = slotOf('agent', input.profile);
  const start = async () => (await startInstalled(home)) ?? (await ensureSupervisor(home, { only: [slot] }));
  const { link: presence } = await withProgress('starting the agent', start);
  try {
    using link = await dialWorker(home, slot);
    return await use(link);
  } finally {
    presence.destroy();
  }
}
