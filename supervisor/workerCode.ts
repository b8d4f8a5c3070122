/** The code that workers are started from, kept apart from a package that may be replaced while they run. */
import { messageOf } from '../base/errors.ts';
import type { Problems } from './problems.ts';
import type { SlotRunner } from './slotRunner.ts';

/** Whoever starts the supervisor knows where the code comes from. Errors: PACKAGE_INCOMPLETE, DISK_FULL, HOME_UNUSABLE. */
export interface CodeKeeper {
  /** Makes the copy that workers run. */
  keep(): void;
  /** Adopts a release that was installed since; undefined when there is none. */
  renew(): Promise<void> | undefined;
  /** Removes the copies of other releases than these. */
  prune(codes: ReadonlySet<string>): void;
}

export class WorkerCode {
  readonly #keeper: CodeKeeper | undefined;
  readonly #problems: Problems;

  constructor(keeper: CodeKeeper | undefined, problems: Problems) {
    this.#keeper = keeper;
    this.#problems = problems;
  }

  keep(): void {
    this.#try('run from the package itself', 'restart the service after the package was replaced', () => this.#keeper?.keep());
  }

  /** A planned start runs the installed release; while that is incomplete, the one that ran before. Undefined when there is nothing to adopt. */
  renew(adopted: () => void): Promise<void> | undefined {
    const [consequence, fix] = ['are started from the release that ran before', 'install the package again'];
    return this.#try(consequence, fix, () => this.#keeper?.renew()?.then(adopted, (thrown) => this.#failed(consequence, fix, thrown)));
  }

  prune(slots: Iterable<SlotRunner>, ownCode: string): void {
    const codes = [...slots].flatMap(({ incarnation }) => incarnation?.record.code ?? []);
    this.#keeper?.prune(new Set([...codes, ownCode]));
  }

  #try<T>(consequence: string, fix: string, work: () => T): T | undefined {
    try {
      const result = work();
      this.#problems.delete('code');
      return result;
    } catch (thrown) {
      this.#failed(consequence, fix, thrown);
      return undefined;
    }
  }

  #failed(consequence: string, fix: string, thrown: unknown): void {
    this.#problems.set('code', `workers ${consequence}: ${messageOf(thrown)}`, fix);
  }
}
