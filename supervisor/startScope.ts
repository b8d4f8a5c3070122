/** How the service was started, and what of that the next supervisor continues. */
import type { DashboardPlace, Joining, ServiceStart } from '../ipc/contracts/supervisor.ts';
import type { FoundProcesses } from './records.ts';

export interface StartScopeOptions {
  /** Only these slots are wanted; undefined = the full service. */
  only?: readonly string[] | undefined;
  demo: boolean;
  place: DashboardPlace;
  join: (asked: Joining) => void;
}

export class StartScope {
  /** Undefined: the full service. */
  only: ReadonlySet<string> | undefined;
  /** The rehearsal model is on offer. */
  demo: boolean;
  #place: DashboardPlace;
  readonly #tell: (asked: Joining) => void;

  constructor({ only, demo, place, join }: StartScopeOptions) {
    this.only = only && new Set(only);
    this.demo = demo;
    this.#place = place;
    this.#tell = join;
  }

  get isFull(): boolean {
    return this.only === undefined;
  }

  /** For `run/slots.json`. */
  get record(): ServiceStart {
    return { full: this.isFull, demo: this.demo, ...this.#place };
  }

  join({ demo, host, port, insecure }: Joining): void {
    this.demo ||= demo ?? false;
    this.#place = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }), ...(insecure ? { insecure } : {}) };
    this.#tell({ ...this.#place, demo: this.demo });
  }

  /** A supervisor that adopts the workers of a full service supervises the full service, as it was started. */
  continue({ start, alive }: FoundProcesses): void {
    if (start) this.join({ ...start, ...this.#place });
    const isFull = start?.full ?? alive.some(({ slot }) => !this.only?.has(slot));
    if (isFull) this.only = undefined;
  }
}
