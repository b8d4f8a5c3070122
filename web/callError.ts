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
