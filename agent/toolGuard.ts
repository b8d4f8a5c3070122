/** The deadline guard of one tool call: aborts after its time, not counting what the call spends waiting for a person. */
import { AgentError } from '../base/errors.ts';
import type { Clock } from '../base/time.ts';

export interface ToolGuard {
  signal: AbortSignal;
  /** The clock stands still until `work` has settled. */
  untimed<T>(work: Promise<T>): Promise<T>;
  /** The call is over. */
  end(): void;
}

/** `guardMs` undefined = this tool is not guarded. */
export function startGuard(name: string, guardMs: number | undefined, clock: Clock): ToolGuard {
  const controller = new AbortController();
  let leftMs = guardMs ?? 0;
  let startedAt = 0;
  let waits = 0;
  let cancel = (): void => {};
  let over = guardMs === undefined;
  const arm = (): void => {
    if (over) return;
    startedAt = clock.monotonic();
    cancel = clock.after(leftMs, () =>
      controller.abort(new AgentError('TOOL_TIMEOUT', `${name} took longer than ${guardMs! / 1_000} s and was stopped`)),
    );
  };
  arm();
  return {
    signal: controller.signal,
    async untimed(work) {
      if (waits++ === 0) {
        cancel();
        leftMs = Math.max(1, leftMs - (clock.monotonic() - startedAt));
      }
      try {
        return await work;
      } finally {
        if (--waits === 0) arm();
      }
    },
    end() {
      over = true;
      cancel();
    },
  };
}
