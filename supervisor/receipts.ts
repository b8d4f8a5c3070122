/** What was commanded and what came of it: the last thousand receipts, also over restarts (contract §4). */
import { limits } from '../base/limits.ts';
import { LogFile } from '../base/logFile.ts';
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import { readReceipts } from '../ipc/receiptFile.ts';

/** A receipt is about 300 bytes; one old file is kept, so at least `receiptsMax` are on disk. */
const FILE_MAX_BYTES = limits.supervisor.receiptsMax * 512;

export class ReceiptBook {
  #file: LogFile;
  #receipts: Receipt[];

  constructor(path: string) {
    this.#file = new LogFile(path, { maxBytes: FILE_MAX_BYTES, keep: 1 });
    this.#receipts = readReceipts(path);
  }

  /** All of them with one write. */
  keep(...receipts: readonly Receipt[]): void {
    if (receipts.length === 0) return;
    this.#receipts.push(...receipts);
    this.#receipts.splice(0, this.#receipts.length - limits.supervisor.receiptsMax);
    this.#file.appendBlock(Buffer.from(receipts.map((receipt) => `${JSON.stringify(receipt)}\n`).join('')));
  }

  /** Newest first. */
  recent(slot: string | undefined, limit: number): Receipt[] {
    return this.#receipts
      .filter((receipt) => !slot || receipt.slot === slot)
      .slice(-limit)
      .toReversed();
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}
