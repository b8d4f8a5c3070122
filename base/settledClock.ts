/** Whether the wall clock can be trusted with deleting by age: not for a day after it jumped against the steady one. */

const JUMP_MS = 3_600_000;
const HOLD_MS = 86_400_000;

export class SettledClock {
  #seen: { wallMs: number; steadyMs: number };
  #heldUntilMs = -Infinity;

  constructor(wallMs: number = Date.now(), steadyMs: number = performance.now()) {
    this.#seen = { wallMs, steadyMs };
  }

  /** Looks at both clocks; call it before each deletion by age. */
  isSettled(wallMs: number = Date.now(), steadyMs: number = performance.now()): boolean {
    const driftMs = wallMs - this.#seen.wallMs - (steadyMs - this.#seen.steadyMs);
    this.#seen = { wallMs, steadyMs };
    if (Math.abs(driftMs) > JUMP_MS) this.#heldUntilMs = steadyMs + HOLD_MS;
    return steadyMs >= this.#heldUntilMs;
  }
}
