/**
 * What the supervisor does beside supervising, all of it on the heartbeat pulse: samples resources, acts on memory
 * limits, and keeps the logs within their budget.
 */
import { freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import { formatDuration } from '../base/time.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import type { Config } from '../state/config/schema.ts';
import { recordClocks } from '../state/confirmedTime.ts';
import { listProfiles, type Home } from '../state/home.ts';
import { logBudgetBytes } from '../state/logs.ts';
import { sweepLeftovers } from './leftovers.ts';
import type { MemoryAtEnd } from './causes.ts';
import type { ExitFacts, Incarnation } from './incarnation.ts';
import { KernelKills } from './kernelKills.ts';
import { keepBudget } from './logBudget.ts';
import { ResourceBook } from './resources.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { Sample } from './snapshot.ts';
import type { SlotSpec } from './spec.ts';
import { UsageReader } from './usage.ts';

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
  #clockAtMs = -Infinity;
  #isClockAhead = false;
  #hasSwept = false;
  readonly #limited = new UsageReader();
  readonly #kernelKills = new KernelKills();
  /** Looks at what has a hard limit: none runs while nothing has one. */
  #looking: NodeJS.Timeout | undefined;

  constructor(host: UpkeepHost) {
    this.#host = host;
    this.resources = new ResourceBook({
      dir: join(host.home.run.dir, 'history'),
      onFailure: (thrown) => host.log.error('the resource history was not written', errorFields(thrown)),
    });
  }

  [Symbol.dispose](): void {
    this.#recordClocks(performance.now());
    clearInterval(this.#looking);
    this.#limited[Symbol.dispose]();
    this.resources[Symbol.dispose]();
  }

  sample(slot: string): Sample | undefined {
    return this.#samples.get(slot);
  }

  /** A slot that does not run uses nothing. */
  forget(slot: string): void {
    this.#samples.delete(slot);
  }

  memoryAtEnd({ slot, memoryHardBytes: hardBytes }: SlotSpec, { pid, oomKills }: Incarnation, { signal }: ExitFacts): MemoryAtEnd {
    const kernel = signal === 'SIGKILL' ? this.#kernelKills.of(pid) : undefined;
    const rssBytes = this.resources.recent(slot).at(-1)?.rss_bytes;
    return { oomKills, hardBytes, kernel, rssBytes, freeBytes: freemem(), totalBytes: totalmem() };
  }

  /** `nowMs` is monotonic. */
  pulse(nowMs: number): void {
    this.#sampleAll(nowMs).catch((thrown: unknown) => this.#host.log.error('sampling failed', errorFields(thrown)));
    if (!this.#hasSwept) this.#sweep();
    this.#lookAtLimits();
    this.#kernelKills.mark();
    if (nowMs - this.#clockAtMs >= limits.state.clockRecordMs) this.#recordClocks(nowMs);
    if (nowMs - this.#budgetAtMs < limits.logs.budgetMs) return;
    this.#budgetAtMs = nowMs;
    try {
      this.#keepLogBudget();
    } catch (thrown) {
      // What stands in the way in the home must not end the process that keeps everything else alive.
      this.#host.log.error('the budget of the logs could not be kept', errorFields(thrown));
    }
  }

  /** Also at the end: the next start measures from here. */
  #recordClocks(nowMs: number): void {
    this.#clockAtMs = nowMs;
    const { home, log } = this.#host;
    try {
      const aheadMs = recordClocks(home);
      const isAhead = aheadMs > limits.state.clockAheadMs;
      if (isAhead && !this.#isClockAhead)
        log.warn(
          `the clock is ${formatDuration(aheadMs)} ahead of the time that is known to have passed: nothing is deleted and no message expires by that time until the service has seen it in 13 hours`,
        );
      this.#isClockAhead = isAhead;
    } catch (thrown) {
      log.error('the clocks could not be noted', errorFields(thrown));
    }
  }

  /** Once after the start. */
  #sweep(): void {
    this.#hasSwept = true;
    const { home, log, slots } = this.#host;
    sweepLeftovers(home, new Set(slots.keys())).then(
      (removed) => removed.length > 0 && log.info('files that killed processes had left behind were removed', { removed }),
      (thrown: unknown) => log.warn('files that killed processes left behind could not be removed', errorFields(thrown)),
    );
  }

  /** A leak fills a machine between two samples: hard limits are looked at every second. */
  #lookAtLimits(): void {
    const isLimited = [...this.#host.slots.values()].some(({ spec, incarnation }) => incarnation && spec.memoryHardBytes !== undefined);
    if (!isLimited) clearInterval(this.#looking);
    this.#looking = isLimited
      ? (this.#looking ?? setInterval(() => this.#checkLimits(), limits.supervisor.memoryLookMs).unref())
      : undefined;
  }

  #checkLimits(): void {
    for (const runner of this.#host.slots.values()) {
      const { memoryHardBytes } = runner.spec;
      if (memoryHardBytes === undefined || !runner.incarnation?.pid) continue;
      const rssBytes = this.#limited.rssBytes(runner.incarnation.pid) ?? 0;
      if (rssBytes > memoryHardBytes) runner.hung(overLimit(rssBytes, 'hard', memoryHardBytes));
    }
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
    const [word, limit] = verdict === 'kill' ? (['hard', hardBytes] as const) : (['soft', softBytes] as const);
    const why = overLimit(this.#samples.get(slot)?.rssBytes ?? 0, word, limit ?? 0);
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

const overLimit = (usedBytes: number, word: string, limitBytes: number): string =>
  `used ${Math.round(usedBytes / MB)} MB of memory, more than its ${word} limit of ${Math.round(limitBytes / MB)} MB`;
