/**
 * A changed configuration: only the slots whose settings changed are touched, each in good order; a
 * file that cannot be used changes nothing. The plan is `reconcile.ts`, this carries it out.
 */
import { isAgentError } from '../base/errors.ts';
import { errorFields, type Logger } from '../base/log.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import type { Home } from '../state/home.ts';
import { removeSlotFiles } from './leftovers.ts';
import { planReload } from './reconcile.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { RestartPolicy, SlotSpec } from './spec.ts';

export interface ReloadHost {
  home: Home;
  slots: Map<string, SlotRunner>;
  log: Logger;
  policy: RestartPolicy;
  command(action: Receipt['action'], runner: SlotRunner, why: { actor: string; cause: string; drain: boolean }): Promise<Receipt>;
  add(spec: SlotSpec): void;
  /** The slot is gone: what was held for it may go. */
  removed(slot: string): void;
}

const why = { actor: 'supervisor', cause: 'the configuration changed', drain: true };

/** Answers the slots that are new. */
export function carryOutReload(host: ReloadHost, specs: readonly SlotSpec[]): ReadonlySet<string> {
  const { slots, policy } = host;
  const plan = planReload(
    [...slots.values()].map(({ spec }) => spec),
    specs,
  );
  for (const spec of plan.kept) slots.get(spec.slot)!.configure(spec, policy);
  for (const { slot } of plan.removed) void remove(host, slots.get(slot)!);
  for (const spec of plan.added) host.add(spec);
  for (const spec of plan.restarted) reconfigure(host, slots.get(spec.slot)!, spec);
  return new Set(plan.added.map(({ slot }) => slot));
}

function reconfigure(host: ReloadHost, runner: SlotRunner, spec: SlotSpec): void {
  const { slot } = spec;
  const enabled = runner.spec.start === 'manual' && spec.start === 'boot';
  const disabled = runner.spec.start === 'boot' && spec.start === 'manual';
  runner.configure(spec, host.policy);
  const failed = (thrown: unknown) => {
    // The newer command reads the configuration as it is then.
    if (isAgentError(thrown) && thrown.code === 'SUPERSEDED') return host.log.info(thrown.message);
    host.log.warn(`${slot} was not brought up to the new configuration`, errorFields(thrown));
  };
  if (disabled) void host.command('stop', runner, why).catch(failed);
  else if (enabled) void host.command('start', runner, why).catch(failed);
  else if (runner.isWanted) void host.command('restart', runner, why).catch(failed);
}

async function remove(host: ReloadHost, runner: SlotRunner): Promise<void> {
  const { slot } = runner.spec;
  host.log.info(`${slot} is no longer configured`);
  await host.command('stop', runner, why).catch(() => {});
  // It may have come back under the same name while it was stopping.
  if (host.slots.get(slot) !== runner) return;
  runner.release();
  host.slots.delete(slot);
  removeSlotFiles(host.home, slot);
  host.removed(slot);
}
