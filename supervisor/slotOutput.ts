/** The pipes and logs of all slots: which file the output of a slot goes to, and who else writes there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../base/log.ts';
import { LogFile } from '../base/logFile.ts';
import type { Redactor } from '../base/redact.ts';
import type { Config } from '../state/config/schema.ts';
import { logSizes } from '../state/logs.ts';
import { KEEPER } from '../state/marks.ts';
import type { ProcessIdentity } from '../state/processIdentity.ts';
import { Keeper } from './keeper.ts';
import { debuggerTalk } from './mainStack.ts';
import { OutputDesk, type Output } from './output.ts';
import type { IncarnationRecord } from './incarnation.ts';
import type { SlotSpec } from './spec.ts';
import type { Trees } from './trees.ts';

export interface SlotOutputsParts {
  /** `run/` of the home. */
  dir: string;
  config: () => Config;
  redact: Redactor;
  log: Logger;
  trees: Trees;
}

interface LeftSlot {
  readonly spec: SlotSpec;
  openOutput(pid: number | undefined): void;
}

export class SlotOutputs {
  readonly #parts: SlotOutputsParts;
  readonly #desk = new OutputDesk(debuggerTalk);
  /** Holds the pipes beside this process. */
  readonly keeper: Keeper;

  constructor(parts: SlotOutputsParts) {
    this.#parts = parts;
    const { trees, log } = parts;
    this.keeper = new Keeper({ environment: () => trees.environment(trees.newMark(KEEPER)), log });
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
    const output = this.#desk.open(this.#path(spec), {
      file,
      shared,
      slot: spec.slot,
      redact,
      onFlood,
      onClose: (fd) => this.keeper.release(fd),
    });
    this.keeper.hold(output.writeFd);
    return output;
  }

  /** Keepers of earlier supervisors held pipes: reads what processes that have `ended` left in them. Errors: HOME_UNUSABLE. */
  adopt(keepers: readonly ProcessIdentity[], runners: Iterable<LeftSlot>, ended: readonly IncarnationRecord[]): void {
    if (keepers.length === 0) return;
    const pids = new Map(ended.map(({ slot, pid }) => [slot, pid]));
    for (const runner of runners) if (existsSync(this.#path(runner.spec))) runner.openOutput(pids.get(runner.spec.slot));
    this.keeper.replace(keepers);
  }

  /** Before the end of this process: see `OutputDesk`. */
  closeLate(): () => void {
    return this.#desk.closeLate();
  }

  #path({ slot }: SlotSpec): string {
    return join(this.#parts.dir, `${slot}.out`);
  }
}
