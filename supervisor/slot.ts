/**
 * The slot table: every phase, every event, what happens. Pure; `slotRunner.ts` carries the effects out.
 * Invariants: at most one incarnation; a new one only after the old group is proved gone; nothing is
 * spawned that is not wanted; every end leads to a decision.
 */
import { machine, type Step } from '../base/machine.ts';
import { decideRestart, emptyHistory, type End, type History } from './backoff.ts';
import { defaultPolicy, type RestartPolicy } from './spec.ts';

export interface Shared {
  /** What the operator wants now. `demand` = up once asked, down again when it leaves by itself. */
  desired: 'up' | 'down' | 'demand';
  history: History;
  policy: RestartPolicy;
}

export type Slot = Shared &
  (
    | { phase: 'down' }
    | { phase: 'starting'; sinceMs: number }
    | { phase: 'ready'; sinceMs: number }
    /** A planned stop is under way; the process may still live. */
    | { phase: 'draining'; then: 'down' | 'start' }
    /** It ended without being asked; its group is being proved gone. */
    | { phase: 'ending'; end: End }
    | { phase: 'backoff'; untilMs: number }
    | { phase: 'parked'; untilMs: number; why: string }
  );

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
  /** No process of the incarnation's group lives any more. */
  | { type: 'gone'; atMs: number }
  /** Start-up budget used up, or no sign of life. */
  | { type: 'hung' }
  /** The delay of backoff or parking is over. */
  | { type: 'due'; atMs: number };

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
  /** Prove the rest of the group gone; reports `gone`. */
  | { type: 'proveGone' };

type Out = Step<Slot, Effect>;

const to = (state: Slot, ...effects: Effect[]): Out => ({ state, effects });
const shared = ({ desired, history, policy }: Shared): Shared => ({ desired, history, policy });

export const newSlot = (desired: Shared['desired'], policy: RestartPolicy = defaultPolicy): Slot => ({
  phase: 'down',
  desired,
  history: emptyHistory,
  policy,
});

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
const drainTo = (slot: Shared, then: 'down' | 'start', drain: boolean): Out =>
  to({ ...slot, phase: 'draining', then }, { type: 'disarm' }, { type: 'stopProcess', drain });

const endedUnasked = (slot: Shared, end: End): Out =>
  to({ ...shared(slot), phase: 'ending', end }, { type: 'disarm' }, { type: 'proveGone' });

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
    restart: (slot, { drain }) => drainTo(wanted(slot), 'start', drain),
    // The same incarnation again, after it lost its connection to us.
    attached: (slot) => to(slot),
    ended: (slot, { end }) =>
      slot.desired === 'demand' && end.code === 0
        ? to({ ...shared(slot), phase: 'draining', then: 'down' }, { type: 'disarm' }, { type: 'proveGone' })
        : endedUnasked(slot, end),
    hung: (slot) => to(slot, { type: 'killProcess' }),
  },
  draining: {
    start: (slot, event) => to({ ...slot, ...wanted(slot, event.desired), then: 'start' }),
    stop: (slot) => to({ ...slot, ...unwanted(slot), then: 'down' }),
    restart: (slot) => to({ ...slot, ...wanted(slot), then: 'start' }),
    attached: (slot) => to(slot),
    ended: (slot) => to(slot),
    hung: (slot) => to(slot),
    gone: (slot, { atMs }) => (slot.then === 'start' ? spawn(slot, atMs) : to({ ...shared(slot), phase: 'down' }, { type: 'disarm' })),
  },
  ending: {
    start: (slot, event) => to({ ...slot, ...cleanSlate(slot, event) }),
    stop: (slot) => to({ ...shared(slot), ...unwanted(slot), phase: 'draining', then: 'down' }),
    restart: (slot) => to({ ...shared(slot), ...wanted(slot), phase: 'draining', then: 'start' }),
    attached: (slot) => to(slot),
    ended: (slot) => to(slot),
    hung: (slot) => to(slot),
    gone: (slot, { atMs }) => afterEnd(slot, slot.end, atMs),
  },
  backoff: {
    start: (slot, event) => spawn(cleanSlate(slot, event), event.atMs),
    stop: (slot) => stopNow(slot),
    restart: (slot, { atMs }) => spawn(cleanSlate(slot, {}), atMs),
    due: (slot, { atMs }) => spawn(slot, atMs),
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

/** The group is gone after an end nobody asked for: start at once, later, or park. */
function afterEnd(slot: Slot, end: End, atMs: number): Out {
  const { decision, history } = decideRestart(slot.history, end, slot.policy);
  const next: Shared = { ...shared(slot), history };
  switch (decision.kind) {
    case 'now':
      return spawn(next, atMs);
    case 'delay':
      return to({ ...next, phase: 'backoff', untilMs: atMs + decision.ms }, { type: 'armDue', ms: decision.ms });
    case 'park':
      return to({ ...next, phase: 'parked', untilMs: atMs + decision.ms, why: decision.why }, { type: 'armDue', ms: decision.ms });
  }
}
