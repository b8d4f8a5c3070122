/**
 * What the supervisor does beside supervising, all of it on the heartbeat pulse: samples resources, acts on memory
 * limits, and keeps the logs within their budget.
 */
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import type { Config } from '../state/config/schema.ts';
import { listProfiles, type Home } from '../state/home.ts';
import { logBudgetBytes } from '../state/logs.ts';
import { sweepLeftovers } from './leftovers.ts';
import { keepBudget } from './logBudget.ts';
import { ResourceBook } from './resources.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { Sample } from './snapshot.ts';

export interface UpkeepHost {
  home: Home;
  log: Logger;
  slots: ReadonlyMap<string, SlotRunner>;
  config: () => Config;
  command: (action: 'restart', runner: SlotRunner, why: { actor: string; cause: string; drain: boolean }) => Promise<Receipt>;
  /** New samples are there. */
  sampled: () => void;
}

export class Upkeep implements Disposable {
  readonly resources: ResourceBook;
  readonly #host: UpkeepHost;
  #samples = new Map<string, Sample>();
  #budgetAtMs = -Infinity;
  #hasSwept = false;

  constructor(host: UpkeepHost) {
    this.#host = host;
    this.resources = new ResourceBook({
      dir: join(host.home.run.dir, 'history'),
      onFailure: (thrown) => host.log.error('the resource history was not written', errorFields(thrown)),
    });
  }

  [Symbol.dispose](): void {
    this.resources[Symbol.dispose]();
  }

  sample(slot: string): Sample | undefined {
    return this.#samples.get(slot);
  }

  /** A slot that does not run uses nothing. */
  forget(slot: string): void {
    this.#samples.delete(slot);
  }

  /** `nowMs` is monotonic. */
  pulse(nowMs: number): void {
    this.#sampleAll(nowMs).catch((thrown: unknown) => this.#host.log.error('sampling failed', errorFields(thrown)));
    if (!this.#hasSwept) this.#sweep();
    if (nowMs - this.#budgetAtMs < limits.logs.budgetMs) return;
    this.#budgetAtMs = nowMs;
    try {
      this.#keepLogBudget();
    } catch (thrown) {
      // What stands in the way in the home must not end the process that keeps everything else alive.
      this.#host.log.error('the budget of the logs could not be kept', errorFields(thrown));
    }
  }

  /** Once after the start. */
  #sweep(): void {
    this.#hasSwept = true;
    const { home, log } = this.#host;
    sweepLeftovers(home).then(
      (removed) => removed.length > 0 && log.info('files that killed processes had left behind were removed', { removed }),
      (thrown: unknown) => log.warn('files that killed processes left behind could not be removed', errorFields(thrown)),
    );
  }

  async #sampleAll(nowMs: number): Promise<void> {
    const { slots, sampled } = this.#host;
    const running = [...slots.values()].flatMap(({ spec, incarnation }) =>
      incarnation && incarnation.pid > 0 ? [{ slot: spec.slot, pid: incarnation.pid, lagMs: incarnation.lagMs }] : [],
    );
    const samples = await this.resources.onPulse(running, nowMs);
    if (!samples) return;
    this.#samples = samples;
    for (const runner of slots.values()) if (runner.state === 'ready') this.#judgeMemory(runner);
    sampled();
  }

  /** Contract §4, Memory: over the soft limit it is drained and started again, over the hard one killed (lessons 29, 30). */
  #judgeMemory(runner: SlotRunner): void {
    const { slot, memorySoftBytes: softBytes, memoryHardBytes: hardBytes } = runner.spec;
    const verdict = this.resources.judge(slot, { softBytes, hardBytes });
    if (verdict === 'ok') return;
    const usedMb = Math.round((this.#samples.get(slot)?.rssBytes ?? 0) / MB);
    const [word, limit] = verdict === 'kill' ? ['hard', hardBytes] : ['soft', softBytes];
    const why = `used ${usedMb} MB of memory, more than its ${word} limit of ${Math.round((limit ?? 0) / MB)} MB`;
    if (verdict === 'kill') return runner.hung(why);
    this.#host
      .command('restart', runner, { actor: 'supervisor', cause: `${slot} ${why}`, drain: true })
      .catch((thrown: unknown) => this.#host.log.error(`${slot} could not be recycled: ${messageOf(thrown)}`));
  }

  /** `logs/` of every profile and `crash/` (lessons 19). */
  #keepLogBudget(): void {
    const { home, log, config } = this.#host;
    const { removed, failed } = keepBudget({
      logs: [...new Set([home.logs, ...listProfiles(home).map((name) => home.profile(name).logs)])],
      crash: [home.crash],
      budgetBytes: logBudgetBytes(config().logging),
    });
    if (removed.length > 0) log.warn('logs/ and crash/ were over their budget: the oldest files were removed', { removed });
    if (failed.length > 0) log.error('old logs could not be removed', { failed });
  }
}

/** As config.yaml counts them. */
const MB = 1024 * 1024;
