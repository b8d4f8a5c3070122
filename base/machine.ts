/**
 * State machines as tables: a pure `next(phase, event)` and the one origin of IllegalTransition.
 * A table names for each phase the events it takes; the step function returns the new phase and
 * the effects for a separate runner.
 */

export class IllegalTransition extends Error {
  override readonly name = 'IllegalTransition';
  readonly machine: string;
  readonly phase: string;
  readonly event: string;

  constructor(machine: string, phase: string, event: string) {
    super(`${machine}: no transition from ${phase} on ${event}`);
    this.machine = machine;
    this.phase = phase;
    this.event = event;
  }
}

export interface Step<State, Effect> {
  state: State;
  effects: Effect[];
}

/** One row per phase, one cell per event type; a missing cell is an illegal transition. */
export type Table<State extends { phase: string }, Event extends { type: string }, Effect> = {
  [P in State['phase']]: {
    [E in Event['type']]?: (state: Extract<State, { phase: P }>, event: Extract<Event, { type: E }>) => Step<State, Effect>;
  };
};

export function machine<State extends { phase: string }, Event extends { type: string }, Effect>(
  name: string,
  table: Table<State, Event, Effect>,
): (state: State, event: Event) => Step<State, Effect> {
  return (state, event) => {
    // Own cells only: a phase or an event named like a method of Object is as illegal as any other.
    const rows = table as unknown as Record<string, Record<string, (state: State, event: Event) => Step<State, Effect>>>;
    const row = Object.hasOwn(rows, state.phase) ? rows[state.phase]! : {};
    if (!Object.hasOwn(row, event.type)) throw new IllegalTransition(name, state.phase, event.type);
    return row[event.type]!(state, event);
  };
}
