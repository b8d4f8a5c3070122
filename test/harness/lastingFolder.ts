/** A folder that is not below one for temporary files, which a sandbox replaces; the checkout itself may be. The caller removes it. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './worker.ts';

export function lastingFolder(prefix: string): string {
  const parent = process.getuid?.() === 0 ? '/srv' : join(projectRoot, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  return realpathSync(mkdtempSync(join(parent, `agent-${prefix}-`)));
}
