/** The pipes and logs of all slots: which file the output of a slot goes to, and who else writes there. */
import { join } from 'node:path';
import type { Logger } from '../base/log.ts';
import { LogFile } from '../base/logFile.ts';
import type { Redactor } from '../base/redact.ts';
import type { Config } from '../state/config/schema.ts';
import { logSizes } from '../state/logs.ts';
import { debuggerTalk } from './mainStack.ts';
import { OutputDesk, type Output } from './output.ts';
import type { SlotSpec } from './spec.ts';

export interface SlotOutputsParts {
  /** `run/` of the home. */
  dir: string;
  config: () => Config;
  redact: Redactor;
  log: Logger;
}

export class SlotOutputs {
  readonly #parts: SlotOutputsParts;
  readonly #desk = new OutputDesk(debuggerTalk);

  constructor(parts: SlotOutputsParts) {
    this.#parts = parts;
  }

  /** Makes the pipes of all of them at once; none may be opened meanwhile. Errors: HOME_UNUSABLE. */
  prepare(specs: readonly SlotSpec[]): Promise<void> {
    return this.#desk.prepare(specs.map((spec) => this.#path(spec)));
  }

  /** Errors: HOME_UNUSABLE. */
  open(spec: SlotSpec): Output {
    const { config, redact, log } = this.#parts;
    // A worker writes to its log itself too; a sidecar's log has no other writer than us.
    const shared = spec.kind === 'worker';
    const file = new LogFile(spec.logFile, { ...logSizes(config().logging), shared });
    const onFlood = (msg: string, fields: object) => log.warn(msg, { worker: spec.slot, ...fields });
    return this.#desk.open(this.#path(spec), { file, shared, slot: spec.slot, redact, onFlood });
  }

  /** Before the end of this process: see `OutputDesk`. */
  closeLate(): () => void {
    return this.#desk.closeLate();
  }

  #path({ slot }: SlotSpec): string {
    return join(this.#parts.dir, `${slot}.out`);
  }
}
