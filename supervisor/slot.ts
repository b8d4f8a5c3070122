/**
 * The slot table: every phase, every event, what happens. Pure; `slotRunner.ts` carries the effects out.
 * Invariants (`test/unit/simulator.test.ts`): one incarnation serves at a time, and a new one starts only
 * after the old group is proved gone, except in a planned hand-over (ADR 0019), where the successor is
 * loaded while the old one still serves; nothing is spawned that is not wanted; every end leads to a decision.
 */
import { machine, type Step } from '../base/machine.ts';
import type { Shortage, SlotState } from '../ipc/contracts/supervisor.ts';
import { decideRestart, emptyHistory, isOverdue, type End, type History } from './backoff.ts';
import { defaultPolicy, type Handover, type RestartPolicy, type RestartRule } from './spec.ts';

export interface Shared {
  /** What the operator wants now. `demand` = up once asked, down again when it leaves by itself. */
  desired: 'up' | 'down' | 'demand';
  history: History;
  policy: RestartPolicy;
  /** How a planned restart replaces it. */
  handover: Handover;
  rule: RestartRule;
}

export type Slot = Shared &
  (
    | { phase: 'down' }
    | { phase: 'starting'; sinceMs: number }
    | { phase: 'ready'; sinceMs: number }
    /** A planned restart: this one serves on while its successor starts. `again`: once more after that. */
    | { phase: 'relieving'; sinceMs: number; again: boolean }
    /** The successor serves (it is the incarnation now), the former one still drains. */
    | { phase: 'retiring'; sinceMs: number; again: boolean }
    /** A planned stop is under way; the process may still live. `takeover`: the successor is loaded and waits. */
    | { phase: 'draining'; then: 'down' | 'start' | 'takeover' }
    /** It ended without being asked; its group is being proved gone. */
    | { phase: 'ending'; end: End }
    /** `waits`: for the end of a shortage, and since when; `untilMs` is the next check then. */
    | { phase: 'backoff'; untilMs: number; waits?: Waits | undefined }
    | { phase: 'parked'; untilMs: number; why: string }
  );

export interface Waits {
  shortage: Shortage;
  sinceMs: number;
}

/** The phase as `status` shows it. */
export const visibleState: Record<Slot['phase'], SlotState> = {
  down: 'down',
  starting: 'starting',
  ready: 'ready',
  relieving: 'ready',
  retiring: 'ready',
  draining: 'draining',
  ending: 'backoff',
  backoff: 'backoff',
  parked: 'parked',
};

export type SlotEvent =
  /** Boot, `start`, or first demand. */
  | { type: 'start'; atMs: number; desired?: 'up' | 'demand' }
  | { type: 'stop'; drain: boolean }
  | { type: 'restart'; drain: boolean; atMs: number }
  /** The worker said over its socket that it serves. */
  | { type: 'attached'; atMs: number }
  /** A worker of an earlier supervisor was found alive. */
  | { type: 'found'; atMs: number }
  /** The main process ended (or could not be started). */
  | { type: 'ended'; end: End }
  /** No process of the slot lives any more, except a successor that waits to take over. */
  | { type: 'gone'; atMs: number }
  /** Start-up budget used up, or no sign of life. */
  | { type: 'hung' }
  /** The delay of backoff or parking is over. */
  | { type: 'due'; atMs: number }
  /** The shortage that it waits for still lasts. */
  | { type: 'stillShort'; atMs: number }
  /** The successor serves (overlap), or is loaded and waits (standby). */
  | { type: 'successorReady'; atMs: number }
  /** The successor ended, or did not come up in time. */
  | { type: 'successorFailed' }
  /** No process of a dropped successor lives any more. */
  | { type: 'successorGone' }
  /** No process of the relieved incarnation lives any more. */
  | { type: 'formerGone' };

export type Effect =
  | { type: 'spawn' }
  | { type: 'armStartup' }
  | { type: 'armAdoption' }
  | { type: 'disarm' }
  | { type: 'armDue'; ms: number }
  /** Drain, SIGTERM, SIGKILL of the group, each with its limit; reports `gone`. */
  | { type: 'stopProcess'; drain: boolean }
  /** SIGKILL of the whole group now; the process's own end follows as `ended`. */
  | { type: 'killProcess' }
  /** The drain under way is not waited for any more: the ladder goes on. */
  | { type: 'skipDrain' }
  /** Prove the rest of the group gone; reports `gone`. */
  | { type: 'proveGone' }
  /** Start the process that will replace the running one. */
  | { type: 'spawnSuccessor' }
  /** The successor's start-up budget; reports `successorFailed`. */
  | { type: 'armSuccessor' }
  /** SIGKILL of a successor that is not wanted (any more); reports `successorGone`; `gone` waits for it too. */
  | { type: 'dropSuccessor' }
  /** Overlap: the successor is the incarnation from now on; the former one goes down the ladder and reports `formerGone`. */
  | { type: 'promote' }
  /** Standby: the waiting successor is the incarnation from now on and is told to serve. */
  | { type: 'activate' }
  /** No more waiting for the former one: SIGKILL. */
  | { type: 'killFormer' };

type Out = Step<Slot, Effect>;

const to = (state: Slot, ...effects: Effect[]): Out => ({ state, effects });
const shared = ({ desired, history, policy, handover, rule }: Shared): Shared => ({ desired, history, policy, handover, rule });

export interface SlotRules {
  policy?: RestartPolicy;
  handover?: Handover;
  rule?: RestartRule;
}

export const newSlot = (
  desired: Shared['desired'],
  { policy = defaultPolicy, handover = 'none', rule = 'always' }: SlotRules = {},
): Slot => ({ phase: 'down', desired, history: emptyHistory, policy, handover, rule });

const spawn = (slot: Shared, atMs: number): Out =>
  to({ ...shared(slot), phase: 'starting', sinceMs: atMs }, { type: 'disarm' }, { type: 'spawn' }, { type: 'armStartup' });

const wanted = (slot: Shared, desired: 'up' | 'demand' = 'up'): Shared => ({ ...shared(slot), desired });
const unwanted = (slot: Shared): Shared => ({ ...shared(slot), desired: slot.desired === 'demand' ? 'demand' : 'down' });

/** An operator who starts a slot by hand gives it a clean slate (contract §4: `agent start` unparks). */
const cleanSlate = (slot: Shared, event: { desired?: 'up' | 'demand' }): Shared => ({
  ...wanted(slot, event.desired),
  history: emptyHistory,
});

const stopNow = (slot: Shared): Out => to({ ...unwanted(slot), phase: 'down' }, { type: 'disarm' });
const drainTo = (slot: Shared, then: 'down' | 'start' | 'takeover', drain: boolean): Out =>
  to({ ...shared(slot), phase: 'draining', then }, { type: 'disarm' }, { type: 'stopProcess', drain });

const endedUnasked = (slot: Shared, end: End, ...effects: Effect[]): Out =>
  to({ ...shared(slot), phase: 'ending', end }, { type: 'disarm' }, ...effects, { type: 'proveGone' });

/** A planned restart: the successor comes up while this one serves on. */
const relieve = (slot: Shared, sinceMs: number): Out =>
  to(
    { ...shared(slot), phase: 'relieving', sinceMs, again: false },
    { type: 'disarm' },
    { type: 'spawnSuccessor' },
    { type: 'armSuccessor' },
  );

/** In good order where the slot knows how to hand over; one after the other when time matters more. */
const replace = (slot: Shared & { sinceMs: number }, drain: boolean): Out =>
  slot.handover === 'none' || !drain ? drainTo(wanted(slot), 'start', drain) : relieve(wanted(slot), slot.sinceMs);

export const nextSlot = machine<Slot, SlotEvent, Effect>('slot', {
  down: {
    start: (slot, event) => spawn(cleanSlate(slot, event), event.atMs),
    stop: (slot) => stopNow(slot),
    restart: (slot, { atMs }) => spawn(cleanSlate(slot, {}), atMs),
    found: (slot, { atMs }) => to({ ...shared(slot), phase: 'starting', sinceMs: atMs }, { type: 'armAdoption' }),
    due: (slot) => to(slot),
    hung: (slot) => to(slot),
  },
  starting: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired) }),
    stop: (slot, { drain }) => drainTo(unwanted(slot), 'down', drain),
    restart: (slot, { drain }) => drainTo(wanted(slot), 'start', drain),
    attached: (slot, { atMs }) => to({ ...shared(slot), phase: 'ready', sinceMs: atMs }, { type: 'disarm' }),
    ended: (slot, { end }) => endedUnasked(slot, end),
    hung: (slot) => to(slot, { type: 'killProcess' }),
  },
  ready: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired) }),
    stop: (slot, { drain }) => drainTo(unwanted(slot), 'down', drain),
    restart: (slot, { drain }) => replace(slot, drain),
    // The same incarnation again, after it lost its connection to us.
    attached: (slot) => to(slot),
    ended: (slot, { end }) =>
      slot.desired === 'demand' && end.code === 0
        ? to({ ...shared(slot), phase: 'draining', then: 'down' }, { type: 'disarm' }, { type: 'proveGone' })
        : endedUnasked(slot, end),
    hung: (slot) => to(slot, { type: 'killProcess' }),
  },
  relieving: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired) }),
    stop: (slot, { drain }) => withEffect(drainTo(unwanted(slot), 'down', drain), { type: 'dropSuccessor' }),
    // What is starting may already be out of date: begin anew.
    restart: (slot, { drain }) =>
      drain
        ? to({ ...slot, ...wanted(slot), again: true }, { type: 'disarm' }, { type: 'dropSuccessor' })
        : withEffect(drainTo(wanted(slot), 'start', false), { type: 'dropSuccessor' }),
    attached: (slot) => to(slot),
    ended: (slot, { end }) => endedUnasked(slot, end, { type: 'dropSuccessor' }),
    hung: (slot) => to(slot, { type: 'killProcess' }),
    successorReady: (slot, { atMs }) => {
      if (slot.again) return to(slot);
      return slot.handover === 'overlap'
        ? to({ ...shared(slot), phase: 'retiring', sinceMs: atMs, again: false }, { type: 'disarm' }, { type: 'promote' })
        : drainTo(slot, 'takeover', true);
    },
    // The old one serves on.
    successorFailed: (slot) => to(slot, { type: 'disarm' }, { type: 'dropSuccessor' }),
    successorGone: (slot) =>
      slot.again ? relieve(slot, slot.sinceMs) : to({ ...shared(slot), phase: 'ready', sinceMs: slot.sinceMs }, { type: 'disarm' }),
  },
  retiring: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired) }),
    stop: (slot, { drain }) => withEffect(drainTo(unwanted(slot), 'down', drain), { type: 'killFormer' }),
    restart: (slot, { drain }) =>
      drain ? to({ ...slot, ...wanted(slot), again: true }) : withEffect(drainTo(wanted(slot), 'start', false), { type: 'killFormer' }),
    attached: (slot) => to(slot),
    ended: (slot, { end }) => endedUnasked(slot, end, { type: 'killFormer' }),
    hung: (slot) => to(slot, { type: 'killProcess' }),
    formerGone: (slot) => (slot.again ? relieve(slot, slot.sinceMs) : to({ ...shared(slot), phase: 'ready', sinceMs: slot.sinceMs })),
    successorFailed: (slot) => to(slot),
  },
  draining: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired), then: slot.then === 'takeover' ? 'takeover' : 'start' }),
    stop: (slot, { drain }) =>
      to(
        { ...slot, ...unwanted(slot), then: 'down' },
        ...(drain ? [] : [{ type: 'skipDrain' } as const]),
        ...(slot.then === 'takeover' ? [{ type: 'dropSuccessor' } as const] : []),
      ),
    restart: (slot, { drain }) =>
      to(
        { ...slot, ...wanted(slot), then: slot.then === 'takeover' ? 'takeover' : 'start' },
        ...(drain ? [] : [{ type: 'skipDrain' } as const]),
      ),
    attached: (slot) => to(slot),
    ended: (slot) => to(slot),
    hung: (slot) => to(slot),
    gone: (slot, { atMs }) => {
      if (slot.then === 'start') return spawn(slot, atMs);
      if (slot.then === 'down') return to({ ...shared(slot), phase: 'down' }, { type: 'disarm' });
      return to({ ...shared(slot), phase: 'starting', sinceMs: atMs }, { type: 'disarm' }, { type: 'activate' }, { type: 'armStartup' });
    },
    successorReady: (slot) => to(slot),
    successorFailed: (slot) => (slot.then === 'takeover' ? to({ ...slot, then: 'start' }, { type: 'dropSuccessor' }) : to(slot)),
    successorGone: (slot) => to(slot),
    formerGone: (slot) => to(slot),
  },
  ending: {
    start: (slot, event) => to({ ...slot, ...cleanSlate(slot, event) }),
    stop: (slot) => to({ ...shared(slot), ...unwanted(slot), phase: 'draining', then: 'down' }),
    restart: (slot) => to({ ...shared(slot), ...wanted(slot), phase: 'draining', then: 'start' }),
    attached: (slot) => to(slot),
    ended: (slot) => to(slot),
    hung: (slot) => to(slot),
    gone: (slot, { atMs }) => afterEnd(slot, slot.end, atMs),
    successorReady: (slot) => to(slot),
    successorFailed: (slot) => to(slot),
    successorGone: (slot) => to(slot),
    formerGone: (slot) => to(slot),
  },
  backoff: {
    start: (slot, event) => spawn(cleanSlate(slot, event), event.atMs),
    stop: (slot) => stopNow(slot),
    restart: (slot, { atMs }) => spawn(cleanSlate(slot, {}), atMs),
    due: (slot, { atMs }) => spawn(slot, atMs),
    stillShort: (slot, { atMs }) =>
      // A start that fails then says what is missing, and parks.
      !slot.waits || isOverdue(slot.waits.shortage, atMs - slot.waits.sinceMs, slot.policy)
        ? spawn(slot, atMs)
        : waitFor(slot, slot.waits, atMs, slot.policy.shortageCheckMs),
    hung: (slot) => to(slot),
  },
  parked: {
    start: (slot, event) => spawn(cleanSlate(slot, event), event.atMs),
    stop: (slot) => stopNow(slot),
    restart: (slot, { atMs }) => spawn(cleanSlate(slot, {}), atMs),
    due: (slot, { atMs }) => spawn(slot, atMs),
    hung: (slot) => to(slot),
  },
});

const withEffect = ({ state, effects }: Out, effect: Effect): Out => ({ state, effects: [effect, ...effects] });

/** New rules of a changed configuration; what runs is not touched. */
export const withRules = (slot: Slot, rules: SlotRules): Slot => ({ ...slot, ...rules });

const waitFor = (slot: Shared, { shortage, sinceMs }: Waits, atMs: number, ms: number): Out =>
  to({ ...shared(slot), phase: 'backoff', untilMs: atMs + ms, waits: { shortage, sinceMs } }, { type: 'armDue', ms });

/** The group is gone after an end nobody asked for: start at once, later, park, or leave it at that. */
function afterEnd(slot: Slot, end: End, atMs: number): Out {
  if (slot.rule === 'never' || (slot.rule === 'on-failure' && end.code === 0)) {
    return to({ ...shared(slot), desired: 'down', phase: 'down' }, { type: 'disarm' });
  }
  const { decision, history } = decideRestart(slot.history, end, slot.policy);
  const next: Shared = { ...shared(slot), history };
  switch (decision.kind) {
    case 'now':
      return spawn(next, atMs);
    case 'delay':
      return to({ ...next, phase: 'backoff', untilMs: atMs + decision.ms }, { type: 'armDue', ms: decision.ms });
    case 'wait':
      return waitFor(next, decision, atMs, decision.ms);
    case 'park':
      return to({ ...next, phase: 'parked', untilMs: atMs + decision.ms, why: decision.why }, { type: 'armDue', ms: decision.ms });
  }
}
