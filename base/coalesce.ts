/** Many calls in one turn of the event loop become one. */

export interface Coalesced {
  (): void;
  /** Nothing runs from now on, a pending call included. */
  cancel(): void;
}

export function coalesced(run: () => void): Coalesced {
  let pending: NodeJS.Immediate | undefined;
  let cancelled = false;
  const call = () => {
    if (cancelled) return;
    pending ??= setImmediate(() => {
      pending = undefined;
      run();
    });
  };
  return Object.assign(call, {
    cancel() {
      cancelled = true;
      clearImmediate(pending);
    },
  });
}
