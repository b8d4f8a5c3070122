/**
 * cron.db: jobs, executions and deliveries that wait for the gateway. A claim is one transaction
 * (execution row and next instant together), unique on `(job_id, scheduled_instant)`, so an
 * occurrence runs at most once whoever asks. Only the cron worker writes here.
 */
import { openStore, type Db } from '../../state/db/open.ts';
import { cronSchema } from '../../state/db/schemas/cron.ts';
import { limits } from '../../base/limits.ts';
import type { Schedule } from './schedule.ts';

export type RunStatus = 'claimed' | 'running' | 'ok' | 'error' | 'skipped' | 'unknown';
export type Trigger = 'on_time' | 'late' | 'catch_up' | 'manual' | 'fire';
export type LastStatus = 'ok' | 'error' | 'delivery_failed' | 'blocked_config';

export interface JobRow {
  id: string;
  name: string;
  prompt: string | null;
  script: string | null;
  schedule: Schedule;
  deliver: string;
  enabled: boolean;
  repeatTimes: number | null;
  repeatCompleted: number;
  nextRunMs: number | null;
  lastRunMs: number | null;
  lastStatus: LastStatus | null;
  lastError: string | null;
  createdMs: number;
  /** Encoded principal of the chat it was made from; null = the owner. */
  createdBy: string | null;
}

export interface RunRow {
  execution_id: string;
  job_id: string;
  /** Null for runs that are no occurrence of the schedule. */
  scheduled_instant: number | null;
  claim_key: string | null;
  trigger: Trigger;
  status: RunStatus;
  claimed_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** Of an open run: what it waits for. */
  error: string | null;
  output_path: string | null;
  delivery: 'none' | 'queued' | 'accepted' | 'failed';
  /** What the model is asked: kept so that a run joined after a crash asks the same. */
  prompt_text: string | null;
  /** The script's process, so that a crash leaves no stray behind. */
  script_pid: number | null;
  script_start_time: number | null;
  script_boot_id: string | null;
}

export interface DeliveryRow {
  execution_id: string;
  n: number;
  job_id: string;
  target: string;
  text: string;
  tries: number;
  next_try_at: number;
  expires_at: number;
}

export const openCronStore = (path: string): CronStore => new CronStore(openStore(path, cronSchema));

export class CronStore implements Disposable {
  readonly db: Db;

  constructor(db: Db) {
    this.db = db;
  }

  /** Runs `work` as one immediate transaction. */
  transact<T>(work: () => T): T {
    return this.db.transaction(work).immediate();
  }

  [Symbol.dispose](): void {
    this.db.close();
  }

  // --- jobs ---

  insertJob(job: JobRow): void {
    this.db
      .prepare(
        `INSERT INTO jobs (id, name, prompt, script, schedule, deliver, enabled, repeat_times, next_run_at, created_at, created_by)
         VALUES (@id, @name, @prompt, @script, @schedule, @deliver, 1, @repeatTimes, @nextRunMs, @createdMs, @createdBy)`,
      )
      .run({ ...job, enabled: 1, schedule: JSON.stringify(job.schedule) });
  }

  /** Everything but its history; also its next run. */
  updateJob(job: JobRow): void {
    this.db
      .prepare(
        `UPDATE jobs SET name = @name, prompt = @prompt, script = @script, schedule = @schedule, deliver = @deliver, enabled = @enabled,
                repeat_times = @repeatTimes, repeat_completed = @repeatCompleted, next_run_at = @nextRunMs WHERE id = @id`,
      )
      .run({ ...job, enabled: job.enabled ? 1 : 0, schedule: JSON.stringify(job.schedule) });
  }

  countJobsOf(createdBy: string): number {
    return (this.db.prepare('SELECT COUNT(*) AS n FROM jobs WHERE created_by = ?').get(createdBy) as { n: number }).n;
  }

  countJobs(): number {
    return (this.db.prepare('SELECT COUNT(*) AS n FROM jobs').get() as { n: number }).n;
  }

  job(id: string): JobRow | undefined {
    const row = this.db.prepare('SELECT * FROM jobs WHERE id = ?').get(id) as RawJob | undefined;
    return row && jobOf(row);
  }

  /** Jobs whose id begins with, or whose name is, `text`, of this principal (null = all). At most three: one is the answer, more is ambiguous. */
  findJobs(text: string, createdBy: string | null): JobRow[] {
    const rows = this.db
      .prepare(
        "SELECT * FROM jobs WHERE (@createdBy IS NULL OR created_by = @createdBy) AND (name = @text OR id = @text OR id LIKE @beginning ESCAPE '\\') ORDER BY id = @text DESC, name = @text DESC, created_at LIMIT 3",
      )
      .all({ text, createdBy, beginning: `${text.replace(/[\\%_]/g, '\\$&')}%` }) as RawJob[];
    return rows.map(jobOf);
  }

  jobs(all: boolean): JobRow[] {
    const where = all ? '' : 'WHERE enabled = 1';
    return (this.db.prepare(`SELECT * FROM jobs ${where} ORDER BY created_at, rowid`).all() as RawJob[]).map(jobOf);
  }

  dueJobs(nowMs: number): JobRow[] {
    return (
      this.db
        .prepare('SELECT * FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= ? ORDER BY next_run_at LIMIT ?')
        .all(nowMs, limits.cron.claimBatchMax) as RawJob[]
    ).map(jobOf);
  }

  countDue(nowMs: number): number {
    const sql = 'SELECT COUNT(*) AS n FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= ?';
    return (this.db.prepare(sql).get(nowMs) as { n: number }).n;
  }

  earliestDueMs(): number | undefined {
    const sql = 'SELECT MIN(next_run_at) AS at FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL';
    return (this.db.prepare(sql).get() as { at: number | null }).at ?? undefined;
  }

  setNextRun(id: string, nextRunMs: number | null): void {
    this.db.prepare('UPDATE jobs SET next_run_at = ? WHERE id = ?').run(nextRunMs, id);
  }

  setEnabled(id: string, enabled: boolean, nextRunMs: number | null): void {
    this.db.prepare('UPDATE jobs SET enabled = ?, next_run_at = ? WHERE id = ?').run(enabled ? 1 : 0, nextRunMs, id);
  }

  countRepeat(id: string): void {
    this.db.prepare('UPDATE jobs SET repeat_completed = repeat_completed + 1 WHERE id = ?').run(id);
  }

  setResult(id: string, result: { atMs: number; status: LastStatus; error: string | null }): void {
    this.db
      .prepare('UPDATE jobs SET last_run_at = @atMs, last_status = @status, last_error = @error WHERE id = @id')
      .run({ id, ...result });
  }

  setLastStatus(id: string, status: LastStatus, error: string): void {
    this.db.prepare('UPDATE jobs SET last_status = ?, last_error = ? WHERE id = ?').run(status, error, id);
  }

  /** Removes the job and its closed runs; a run that is under way stays until it has ended. */
  removeJob(id: string): void {
    this.db.prepare('DELETE FROM jobs WHERE id = ?').run(id);
    this.db.prepare("DELETE FROM executions WHERE job_id = ? AND status NOT IN ('claimed', 'running')").run(id);
  }

  // --- executions ---

  /** False when this occurrence, or this key, has been claimed before. */
  insertRun(
    run: Pick<RunRow, 'execution_id' | 'job_id' | 'scheduled_instant' | 'claim_key' | 'trigger' | 'status' | 'claimed_at' | 'error'>,
  ): boolean {
    const { changes } = this.db
      .prepare(
        `INSERT INTO executions (execution_id, job_id, scheduled_instant, claim_key, trigger, status, claimed_at, ended_at, error)
         VALUES (@execution_id, @job_id, @scheduled_instant, @claim_key, @trigger, @status, @claimed_at,
                 CASE WHEN @status = 'skipped' THEN @claimed_at END, @error) ON CONFLICT DO NOTHING`,
      )
      .run(run);
    return changes === 1;
  }

  run(executionId: string): RunRow | undefined {
    return this.db.prepare('SELECT * FROM executions WHERE execution_id = ?').get(executionId) as RunRow | undefined;
  }

  runAt(jobId: string, instantMs: number): RunRow | undefined {
    return this.db.prepare('SELECT * FROM executions WHERE job_id = ? AND scheduled_instant = ?').get(jobId, instantMs) as
      | RunRow
      | undefined;
  }

  runByKey(jobId: string, key: string): RunRow | undefined {
    return this.db.prepare('SELECT * FROM executions WHERE job_id = ? AND claim_key = ?').get(jobId, key) as RunRow | undefined;
  }

  /** Instants of a schedule that lie in the future again can be claimed again. The runs stay on record; an instant that was named from outside stays taken. */
  releaseInstants(jobId: string, nowMs: number): void {
    this.db
      .prepare("UPDATE executions SET scheduled_instant = NULL WHERE job_id = ? AND scheduled_instant > ? AND trigger <> 'fire'")
      .run(jobId, nowMs);
  }

  releaseInstant(executionId: string): void {
    this.db.prepare('UPDATE executions SET scheduled_instant = NULL WHERE execution_id = ?').run(executionId);
  }

  /** What the clock showed when the newest record of the job was made. */
  lastClaimMs(jobId: string): number | undefined {
    const sql = 'SELECT claimed_at AS at FROM executions WHERE job_id = ? ORDER BY rowid DESC LIMIT 1';
    return (this.db.prepare(sql).get(jobId) as { at: number } | undefined)?.at;
  }

  runs({ jobId, limit }: { jobId?: string | undefined; limit: number }): RunRow[] {
    const where = jobId === undefined ? '' : 'WHERE job_id = @jobId';
    return this.db
      .prepare(`SELECT * FROM executions ${where} ORDER BY rowid DESC LIMIT @limit`)
      .all({ jobId: jobId ?? null, limit }) as RunRow[];
  }

  openRuns(): RunRow[] {
    return this.db.prepare("SELECT * FROM executions WHERE status IN ('claimed', 'running') ORDER BY claimed_at, rowid").all() as RunRow[];
  }

  markRunning(executionId: string, atMs: number): void {
    this.db
      .prepare("UPDATE executions SET status = 'running', started_at = COALESCE(started_at, ?) WHERE execution_id = ?")
      .run(atMs, executionId);
  }

  /** What an open run waits for; null = it does not wait. */
  setWaiting(executionId: string, reason: string | null): void {
    this.db.prepare("UPDATE executions SET error = ? WHERE execution_id = ? AND status IN ('claimed', 'running')").run(reason, executionId);
  }

  setScriptProcess(executionId: string, process: { pid: number; start_time: number; boot_id: string }): void {
    this.db
      .prepare(
        'UPDATE executions SET script_pid = @pid, script_start_time = @start_time, script_boot_id = @boot_id WHERE execution_id = @executionId',
      )
      .run({ executionId, ...process });
  }

  /** The script is done; from here on the run is a turn that can be joined again. */
  setPrompt(executionId: string, text: string): void {
    this.db.prepare('UPDATE executions SET prompt_text = ?, script_pid = NULL WHERE execution_id = ?').run(text, executionId);
  }

  endRun(
    executionId: string,
    end: { status: RunStatus; atMs: number; error: string | null; outputPath: string | null; delivery: RunRow['delivery'] },
  ): void {
    this.db
      .prepare(
        `UPDATE executions SET status = @status, ended_at = @atMs, error = @error, output_path = @outputPath, delivery = @delivery,
                prompt_text = NULL, script_pid = NULL WHERE execution_id = @executionId`,
      )
      .run({ executionId, ...end });
  }

  setRunDelivery(executionId: string, delivery: RunRow['delivery']): void {
    this.db.prepare('UPDATE executions SET delivery = ? WHERE execution_id = ?').run(delivery, executionId);
  }

  // --- deliveries ---

  insertDelivery(row: DeliveryRow): void {
    this.db
      .prepare(
        `INSERT INTO deliveries (execution_id, n, job_id, target, text, tries, next_try_at, expires_at)
         VALUES (@execution_id, @n, @job_id, @target, @text, @tries, @next_try_at, @expires_at) ON CONFLICT DO NOTHING`,
      )
      .run(row);
  }

  nextDelivery(): DeliveryRow | undefined {
    return this.db.prepare('SELECT * FROM deliveries ORDER BY next_try_at, rowid LIMIT 1').get() as DeliveryRow | undefined;
  }

  countDeliveries(): number {
    return (this.db.prepare('SELECT COUNT(*) AS n FROM deliveries').get() as { n: number }).n;
  }

  postponeDelivery({ execution_id, n }: DeliveryRow, nextTryMs: number): void {
    this.db
      .prepare('UPDATE deliveries SET tries = tries + 1, next_try_at = ? WHERE execution_id = ? AND n = ?')
      .run(nextTryMs, execution_id, n);
  }

  /** The gateway is back: everything that waits for it is due. */
  dueNow(nowMs: number): void {
    this.db.prepare('UPDATE deliveries SET next_try_at = ? WHERE next_try_at > ?').run(nowMs, nowMs);
  }

  removeDelivery({ execution_id, n }: DeliveryRow): void {
    this.db.prepare('DELETE FROM deliveries WHERE execution_id = ? AND n = ?').run(execution_id, n);
  }

  deliveriesOf(executionId: string): number {
    return (this.db.prepare('SELECT COUNT(*) AS n FROM deliveries WHERE execution_id = ?').get(executionId) as { n: number }).n;
  }

  /** Keeps the newest rows per job and none of removed jobs. */
  prune(): void {
    this.transact(() => {
      this.db
        .prepare(
          `DELETE FROM executions WHERE status NOT IN ('claimed', 'running') AND delivery <> 'queued' AND rowid IN (
             SELECT rowid FROM (SELECT rowid, ROW_NUMBER() OVER (PARTITION BY job_id ORDER BY rowid DESC) AS n FROM executions)
             WHERE n > ?)`,
        )
        .run(limits.cron.runsPerJobMax);
      this.db
        .prepare(
          "DELETE FROM executions WHERE status NOT IN ('claimed', 'running') AND delivery <> 'queued' AND job_id NOT IN (SELECT id FROM jobs)",
        )
        .run();
    });
  }
}

interface RawJob {
  id: string;
  name: string;
  prompt: string | null;
  script: string | null;
  schedule: string;
  deliver: string;
  enabled: number;
  repeat_times: number | null;
  repeat_completed: number;
  next_run_at: number | null;
  last_run_at: number | null;
  last_status: LastStatus | null;
  last_error: string | null;
  created_at: number;
  created_by: string | null;
}

const jobOf = (row: RawJob): JobRow => ({
  id: row.id,
  name: row.name,
  prompt: row.prompt,
  script: row.script,
  schedule: JSON.parse(row.schedule) as Schedule,
  deliver: row.deliver,
  enabled: row.enabled === 1,
  repeatTimes: row.repeat_times,
  repeatCompleted: row.repeat_completed,
  nextRunMs: row.next_run_at,
  lastRunMs: row.last_run_at,
  lastStatus: row.last_status,
  lastError: row.last_error,
  createdMs: row.created_at,
  createdBy: row.created_by,
});
