/** A document that is made from the code: `--write` writes it, `--check` says whether it still fits. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** `name` below docs/. Ends the process with 1 when `--check` finds it out of date. */
export function generatedDoc(name: string, text: string, script: string): void {
  const path = join(root, 'docs', name);
  if (process.argv.includes('--write')) {
    writeFileSync(path, text);
    return;
  }
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  process.stderr.write(`docs/${name} does not fit the code: node scripts/${script} --write\n`);
  process.exitCode = 1;
}
