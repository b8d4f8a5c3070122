/**
 * A changed configuration: only the slots whose settings changed are touched, each in good order; a
 * file that cannot be used changes nothing. The plan is `reconcile.ts`, this carries it out.
 */
import { isAgentError, messageOf, mustWait } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import type { Home } from '../state/home.ts';
import { removeSlotFiles } from './leftovers.ts';
import type { Problems } from './problems.ts';
import { planReload } from './reconcile.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { RestartPolicy, SlotSpec } from './spec.ts';

export interface ReloadHost {
  home: Home;
  slots: Map<string, SlotRunner>;
  log: Logger;
  policy: RestartPolicy;
  problems: Problems;
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
  const enabled = runner.spec.start === 'manual' && spec.start === 'boot';
  const disabled = runner.spec.start === 'boot' && spec.start === 'manual';
  runner.configure(spec, host.policy);
  if (disabled) bringUp(host, runner, 'stop');
  else if (enabled) bringUp(host, runner, 'start');
  else if (runner.isWanted) bringUp(host, runner, 'restart');
}

/** Tried again while something is short, such as room on the disk, unless a newer configuration came. */
function bringUp(host: ReloadHost, runner: SlotRunner, action: 'stop' | 'start' | 'restart'): void {
  const { slots, log, problems } = host;
  const { spec } = runner;
  const key = `settings of ${spec.slot}`;
  const isCurrent = () => slots.get(spec.slot) === runner && runner.spec === spec;
  host.command(action, runner, why).then(
    () => problems.delete(key),
    (thrown: unknown) => {
      // The newer command reads the configuration as it is then.
      if (isAgentError(thrown) && thrown.code === 'SUPERSEDED') return log.info(thrown.message);
      log.warn(`${spec.slot} was not brought up to the new configuration`, errorFields(thrown));
      if (!mustWait(thrown) || !isCurrent()) return;
      problems.set(key, `${spec.slot} still has its old settings: ${messageOf(thrown)}`, 'they are applied once that is over');
      setTimeout(() => isCurrent() && bringUp(host, runner, action), limits.restart.shortageCheckMs).unref();
    },
  );
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
