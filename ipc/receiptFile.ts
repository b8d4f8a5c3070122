/** The receipts on disk, which the supervisor writes and `agent why` reads with everything down (contract §4). */
import { existsSync } from 'node:fs';
import { readRegularText } from '../base/regularFile.ts';
import { limits } from '../base/limits.ts';
import type { Receipt } from './contracts/supervisor.ts';

/** `path` and the older file beside it; the last thousand, oldest first. */
export const readReceipts = (path: string): Receipt[] => [`${path}.1`, path].flatMap(receiptsIn).slice(-limits.supervisor.receiptsMax);

function receiptsIn(path: string): Receipt[] {
  if (!existsSync(path)) return [];
  return readRegularText(path)
    .split('\n')
    .flatMap((line) => {
      try {
        return line ? [JSON.parse(line) as Receipt] : [];
      } catch {
        // a torn last line of a killed supervisor
        return [];
      }
    });
}
