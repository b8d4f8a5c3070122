/** What the supervisor writes to run/status.json, for tests that need no supervisor. */
import type { Status } from '../../ipc/contracts/supervisor.ts';

/** A ready slot; `slot` and what differs are added by the test. */
export const slotRow: Omit<Status['workers'][number], 'slot'> = {
  profile: 'default',
  kind: 'worker',
  desired: 'up',
  state: 'ready',
  pid: 1,
  since: '2026-01-01T00:00:00.000Z',
  ready_ms: 120,
  restarts: 3,
  code: 'source',
  rss_bytes: 1_000_000,
  cpu_percent: 0.5,
  lag_ms: 4,
  fds: 21,
  leak_bytes_per_hour: 5_000,
  liveness: 'ok',
  log_lines_dropped: 7,
  adopted: false,
  reason: 'the password: hunter2hunter2',
  next_start_at: null,
  last_exit: null,
};

export const snapshot: Status = {
  supervisor: {
    pid: 1,
    version: '1',
    code: 'c',
    started_at: '2026-01-01T00:00:00.000Z',
    home: '/',
    managed_by: 'none',
    adopted: 2,
    start_time: 1,
    boot_id: 'b',
    dashboard: 'http://127.0.0.1:1/?token=never-shown',
    demo: false,
  },
  paused: null,
  problems: [{ what: 'w', fix: 'f' }],
  workers: [],
  at: '2026-01-01T00:00:00.000Z',
};
