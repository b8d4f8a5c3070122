/** The error of a call to the agent worker. */

/** A call that did not succeed. `retry`: the service was not there; the same call may be made again. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: string;
  readonly retry: boolean;
  readonly fix: string | undefined;

  constructor(code: string, message: string, { retry = false, fix }: { retry?: boolean; fix?: string | undefined } = {}) {
    super(message);
    this.code = code;
    this.retry = retry;
    this.fix = fix;
  }
}

/** What went wrong, for people. */
export interface Failed {
  code: string;
  message: string;
  fix: string | null;
}

export function failureOf(thrown: unknown): Failed {
  if (thrown instanceof CallError) return { code: thrown.code, message: thrown.message, fix: thrown.fix ?? null };
  return { code: 'INTERNAL', message: thrown instanceof Error ? thrown.message : String(thrown), fix: null };
}
