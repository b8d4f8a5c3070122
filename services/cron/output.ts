/** Output files of runs, `cron/output/<job id>/<time>-<execution id>.md`: written whole, the newest kept. */
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
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

/** The beginning of a run's file. Errors: NOT_FOUND when it wrote none, or it was removed. */
export function readOutput(paths: ProfilePaths, run: RunRow): { text: string; truncated: boolean } {
  const missing = (why: string, cause?: unknown) => new AgentError('NOT_FOUND', `the run ${run.execution_id} ${why}`, { cause });
  if (run.output_path === null) throw missing(run.ended_at === null ? 'has not ended yet' : 'has written nothing down');
  // The name alone is taken from the row: a home that was moved keeps its outputs.
  const path = join(paths.cronOutput, run.job_id, basename(run.output_path));
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const size = fstatSync(fd).size;
    const bytes = Buffer.alloc(Math.min(size, limits.cron.outputShownMaxBytes));
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    return { text: bytes.toString('utf8', 0, read), truncated: size > read };
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') throw missing(`has lost its file ${path}: the newest ${limits.cron.outputFilesMax} are kept`, thrown);
    throw thrown;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Removes the files of jobs that are no more. */
export function pruneOutput(paths: ProfilePaths, isJob: (id: string) => boolean): void {
  if (!existsSync(paths.cronOutput)) return;
  for (const name of readdirSync(paths.cronOutput)) {
    if (!isJob(name)) rmSync(join(paths.cronOutput, name), { recursive: true, force: true });
  }
}
