/** Tables of cron.db. The cron worker is its only writer; times are milliseconds since the epoch. */
import type { Schema } from '../open.ts';

export const cronSchema: Schema = {
  recovery: 'agent recover cron',
  version: 1,
  tables: {
    jobs: {
      columns: {
        id: 'TEXT PRIMARY KEY',
        name: 'TEXT NOT NULL',
        prompt: 'TEXT',
        script: 'TEXT',
        schedule: 'TEXT NOT NULL',
        deliver: "TEXT NOT NULL DEFAULT 'local'",
        enabled: 'INTEGER NOT NULL DEFAULT 1',
        repeat_times: 'INTEGER',
        repeat_completed: 'INTEGER NOT NULL DEFAULT 0',
        next_run_at: 'INTEGER',
        last_run_at: 'INTEGER',
        last_status: 'TEXT',
        last_error: 'TEXT',
        created_at: 'INTEGER NOT NULL',
        created_by: 'TEXT',
      },
      indices: { jobs_due: 'jobs (next_run_at) WHERE enabled = 1 AND next_run_at IS NOT NULL' },
    },
    executions: {
      columns: {
        execution_id: 'TEXT PRIMARY KEY',
        job_id: 'TEXT NOT NULL',
        scheduled_instant: 'INTEGER',
        claim_key: 'TEXT',
        trigger: 'TEXT NOT NULL',
        status: 'TEXT NOT NULL',
        claimed_at: 'INTEGER NOT NULL',
        started_at: 'INTEGER',
        ended_at: 'INTEGER',
        error: 'TEXT',
        output_path: 'TEXT',
        delivery: "TEXT NOT NULL DEFAULT 'none'",
        prompt_text: 'TEXT',
        script_pid: 'INTEGER',
        script_start_time: 'INTEGER',
        script_boot_id: 'TEXT',
      },
      constraints: ['UNIQUE (job_id, scheduled_instant)', 'UNIQUE (job_id, claim_key)'],
      indices: {
        executions_open: "executions (status) WHERE status IN ('claimed', 'running')",
        executions_of: 'executions (job_id, claimed_at)',
        executions_recent: 'executions (claimed_at)',
      },
    },
    deliveries: {
      columns: {
        execution_id: 'TEXT NOT NULL',
        n: 'INTEGER NOT NULL',
        job_id: 'TEXT NOT NULL',
        target: 'TEXT NOT NULL',
        text: 'TEXT NOT NULL',
        tries: 'INTEGER NOT NULL DEFAULT 0',
        next_try_at: 'INTEGER NOT NULL',
        expires_at: 'INTEGER NOT NULL',
      },
      constraints: ['PRIMARY KEY (execution_id, n)'],
      indices: { deliveries_due: 'deliveries (next_try_at)' },
    },
  },
};
