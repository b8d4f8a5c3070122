/** Running a worker's entry inside this very process: for containers and process managers that own it. */
import { pathToFileURL } from 'node:url';
import { AgentError } from '../base/errors.ts';
import { manifest } from '../services/manifest.ts';
import { openHome } from '../state/home.ts';
import { settleProcess } from './init.ts';
import { keptEntry } from './runningCode.ts';
import { unknownName } from './suggest.ts';

/** Never answers: the worker ends the process with the exit codes of contract §4. Errors: UNKNOWN_SLOT. */
export async function becomeWorker(slot: string, demo: boolean): Promise<number> {
  const [kind, profile] = slot.split('@') as [string, string | undefined];
  const worker = manifest.find((row) => row.slot === kind);
  if (!worker)
    throw unknownName(
      'slot',
      kind,
      manifest.map((row) => row.slot),
      'UNKNOWN_SLOT',
    );
  if (profile !== undefined && !worker.perProfile)
    throw new AgentError('UNKNOWN_SLOT', `${kind} serves all profiles`, { fix: `run it as ${kind}` });
  settleProcess();
  const entry = keptEntry(openHome(), worker.entry);
  process.env.AGENT_SLOT = slot;
  if (profile) process.env.AGENT_PROFILE = profile;
  if (demo) process.env.AGENT_DEMO = '1';
  // No nonce: nobody supervises this process.
  delete process.env.AGENT_SLOT_NONCE;
  await import(pathToFileURL(entry).href);
  return new Promise<never>(() => {});
}
