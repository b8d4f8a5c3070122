/** Jobs and previews as text: times are those of the job, to the second where seconds count. */
import t from 'tap';
import { jobTable, previewLines } from '../../bin/cronViews.ts';
import type { Job } from '../../ipc/contracts/cron.ts';
import { parseSchedule } from '../../services/cron/schedule.ts';
import { previewView } from '../../services/cron/views.ts';

const nowMs = Date.UTC(2026, 2, 10, 8, 0);
const viewOf = (text: string, zone: string) => previewView(parseSchedule(text, { nowMs, zone }), nowMs);

t.test('a preview of an interval shows seconds, one of a pattern minutes', async (t) => {
  t.match(previewLines(viewOf('every 10s', 'UTC')), /08:00:10, 2026-03-10 08:00:20, 2026-03-10 08:00:30$/);
  t.match(previewLines(viewOf('0 9 * * *', 'UTC')), /2026-03-10 09:00, 2026-03-11 09:00/);
});

t.test('the list shows the time of a job in its zone, and names it', async (t) => {
  const zone = 'Pacific/Kiritimati';
  const { schedule, next } = viewOf('0 9 * * *', zone);
  const job = {
    id: 'a',
    name: 'a',
    schedule,
    state: 'scheduled',
    next_run_at: next[0],
    last_run_at: null,
    last_status: null,
    deliver: 'local',
  };
  t.match(jobTable([job as Job]), /2026-03-11 09:00:00 Pacific\/Kiritimati/);
});
