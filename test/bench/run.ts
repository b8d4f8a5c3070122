/**
 * `npm run bench [-- service|supervisors|engine|agentStore|dashboard|page|sandbox] [--quick] [--rounds N] [--json]`: the figures of docs/BENCHMARKS.md.
 * `service`: the whole service; `supervisors`: its supervisor beside others on the same machine;
 * `engine`: the conversation engine; `agentStore`: its stores; `dashboard`: HTTP, sockets and restarts;
 * `page`: what a person waits for in a browser; `sandbox`: what it adds to a command. Default: all.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const parts = ['service', 'supervisors', 'engine', 'agentStore', 'dashboard', 'page', 'sandbox'] as const;
const words = process.argv.slice(2);
const chosen = parts.filter((part) => words.includes(part));
const options = words.filter((word) => !(parts as readonly string[]).includes(word));
for (const part of chosen.length > 0 ? chosen : parts) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${part}.ts`), ...options], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
