/** What an earlier supervisor left: its living workers are adopted, what is on no record is ended. */
import type { Logger } from '../base/log.ts';
import { sweepTree } from './incarnation.ts';
import type { FoundProcesses } from './records.ts';
import type { SlotOutputs } from './slotOutput.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { Trees } from './trees.ts';

export interface TakeOverHost {
  slots: ReadonlyMap<string, SlotRunner>;
  wanted: readonly SlotRunner[];
  log: Logger;
  trees: Trees;
  outputs: SlotOutputs;
  /** The pipes of the wanted slots are open. */
  pipes: Promise<void>;
}

/** Adopts what is proved ours; what is not wanted any more is stopped in good order. Answers how many were adopted. */
export async function takeOver(found: FoundProcesses, host: TakeOverHost): Promise<number> {
  const { slots, wanted, log, trees, pipes } = host;
  await Promise.all(found.leftovers.map((record) => sweepTree(record, trees)));
  await sweepUnknown(found, host);
  if (found.alive.length > 0) await pipes;
  let adopted = 0;
  for (const record of found.alive) {
    const runner = slots.get(record.slot);
    if (!runner) {
      log.warn(`process ${record.pid} of the unknown slot ${record.slot} is ended`);
      void sweepTree(record, trees);
      continue;
    }
    runner.adopt(record);
    adopted++;
    if (runner.spec.start === 'demand' || wanted.includes(runner)) runner.bootStart();
    else void runner.stop('supervisor', 'not wanted any more', true).catch(() => {});
  }
  return adopted;
}

/** What carries a mark of this home but is on no record: its supervisor was killed before it could write it down. */
async function sweepUnknown({ alive, ended }: FoundProcesses, { trees, log, outputs, pipes, slots }: TakeOverHost): Promise<void> {
  const { marks, keepers } = await trees.sweepHome(new Set(alive.flatMap(({ mark }) => mark ?? [])));
  if (marks.length) log.warn('processes of an earlier supervisor that it had not recorded were ended', { marks });
  if (keepers.length > 0) await pipes;
  outputs.adopt(keepers, slots.values(), ended);
}
