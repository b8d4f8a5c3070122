/** Output files of runs, `cron/output/<job id>/<time>-<execution id>.md`: written whole, the newest kept. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../base/limits.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import type { ProfilePaths } from '../../state/home.ts';
import type { JobRow, RunRow } from './store.ts';

export interface Output {
  run: RunRow;
  job: JobRow;
  endedMs: number;
  status: string;
  error: string | null;
  text: string;
}

/** Answers the path. Errors: DISK_FULL, HOME_UNUSABLE. */
export function writeOutput(paths: ProfilePaths, { run, job, endedMs, status, error, text }: Output): string {
  const dir = join(paths.cronOutput, job.id);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const stamp = new Date(endedMs).toISOString().replace(/[:.]/g, '-');
  const path = join(dir, `${stamp}-${run.execution_id}.md`);
  const instant = run.scheduled_instant === null ? 'none' : new Date(run.scheduled_instant).toISOString();
  const head = [
    `# ${job.name}`,
    '',
    `- execution: ${run.execution_id} (${run.trigger})`,
    `- scheduled: ${instant}`,
    `- ended: ${new Date(endedMs).toISOString()}, ${status}`,
    ...(error === null ? [] : [`- error: ${error}`]),
  ];
  writeFileAtomic(path, `${head.join('\n')}\n\n${text.trimEnd()}\n`);
  for (const old of readdirSync(dir).toSorted().slice(0, -limits.cron.outputFilesMax)) rmSync(join(dir, old), { force: true });
  return path;
}

/** Removes the files of jobs that are no more. */
export function pruneOutput(paths: ProfilePaths, isJob: (id: string) => boolean): void {
  if (!existsSync(paths.cronOutput)) return;
  for (const name of readdirSync(paths.cronOutput)) {
    if (!isJob(name)) rmSync(join(paths.cronOutput, name), { recursive: true, force: true });
  }
}
