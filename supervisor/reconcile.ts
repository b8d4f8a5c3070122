/**
 * Intent against what there is, without I/O: which slots are wanted, in which order they start, and what
 * a changed configuration touches. The simulator drives it with the slot table.
 */
import type { SlotSpec } from './spec.ts';

export interface Intent {
  /** Only these are wanted: a service that `agent chat` started. */
  only: ReadonlySet<string> | undefined;
  mcpWanted: boolean;
  /** What gateway_state.json says of a gateway slot. */
  gatewayWanted: (slot: string) => boolean;
}

export function isWanted({ slot, start }: SlotSpec, intent: Intent): boolean {
  if (intent.only) return intent.only.has(slot);
  switch (start) {
    case 'boot':
      return true;
    case 'mcpServers':
      return intent.mcpWanted;
    case 'gatewayState':
      return intent.gatewayWanted(slot);
    case 'demand':
    case 'manual':
      return false;
  }
}

export interface Reload {
  added: SlotSpec[];
  removed: SlotSpec[];
  /** Its settings changed: a running one is replaced. */
  restarted: SlotSpec[];
  /** Limits and policy changed, or nothing: no process is touched. */
  kept: SlotSpec[];
}

export function planReload(before: readonly SlotSpec[], after: readonly SlotSpec[]): Reload {
  const old = new Map(before.map((spec) => [spec.slot, spec]));
  const now = new Set(after.map(({ slot }) => slot));
  const changed = (spec: SlotSpec) => {
    const { settings, start } = old.get(spec.slot)!;
    return settings !== spec.settings || start !== spec.start;
  };
  const known = after.filter(({ slot }) => old.has(slot));
  return {
    added: after.filter(({ slot }) => !old.has(slot)),
    removed: before.filter(({ slot }) => !now.has(slot)),
    restarted: known.filter(changed),
    kept: known.filter((spec) => !changed(spec)),
  };
}

/** What `after` gets wrong: names nobody has, and circles. Such an entry is waited for by nobody. */
export function orderProblems(specs: readonly SlotSpec[]): { slot: string; what: string }[] {
  const bySlot = new Map(specs.map((spec) => [spec.slot, spec]));
  const ordered = specs.filter(({ after }) => after.length > 0);
  return ordered.flatMap((spec) => [
    ...spec.after
      .filter((name) => !bySlot.has(name))
      .map((name) => ({ slot: spec.slot, what: `it is to start after "${name}", which does not exist` })),
    ...(reaches(spec.slot, spec.slot, bySlot) ? [{ slot: spec.slot, what: 'it is to start after itself, by way of others' }] : []),
  ]);
}

/** The slots that `spec` really waits for: existing ones that do not wait for it. */
export function waitsFor(spec: SlotSpec, specs: readonly SlotSpec[]): string[] {
  if (spec.after.length === 0) return [];
  const bySlot = new Map(specs.map((other) => [other.slot, other]));
  return spec.after.filter((name) => bySlot.has(name) && name !== spec.slot && !reaches(name, spec.slot, bySlot));
}

/** Does `from` wait for `target`, directly or by way of others? */
function reaches(from: string, target: string, bySlot: ReadonlyMap<string, SlotSpec>, seen = new Set<string>()): boolean {
  if (seen.has(from)) return false;
  seen.add(from);
  const next = bySlot.get(from)?.after ?? [];
  return next.includes(target) || next.some((name) => reaches(name, target, bySlot, seen));
}
