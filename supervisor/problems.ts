/** What the operator should know and mend, one entry a cause; `agent status` shows them. */
import type { Logger } from '../base/log.ts';
import type { Status } from '../ipc/contracts/supervisor.ts';

export class Problems {
  #found = new Map<string, Status['problems'][number]>();
  #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Said in the log when it is new. */
  set(key: string, what: string, fix: string): void {
    if (this.#found.get(key)?.what !== what) this.#log.warn(what, { fix });
    this.#found.set(key, { what, fix });
  }

  /** True when it stood there. */
  delete(key: string): boolean {
    return this.#found.delete(key);
  }

  list(): Status['problems'] {
    return [...this.#found.values()];
  }
}
