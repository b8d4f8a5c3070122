/** `GET /metrics` over real HTTP: who may read it, what stands in it, and that a slot that is gone leaves no sample. */
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { writeJsonAtomic } from '../../state/atomicFile.ts';
import { engagePause } from '../../state/pause.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { slotRow, snapshot } from '../harness/snapshot.ts';
import { until } from '../harness/until.ts';

const row = (slot: string, more: Partial<Status['workers'][number]> = {}): Status['workers'][number] => ({ ...slotRow, slot, ...more });

t.test('metrics: the token in either header, one sample per slot and number, nothing secret, nothing stale', async (t) => {
  using home = testHome();
  const write = (workers: Status['workers']) => writeJsonAtomic(home.run.status, { ...snapshot, workers } satisfies Status);
  write([row('agent'), row('cron', { state: 'backoff', pid: null, rss_bytes: null, cpu_percent: null })]);
  await using dashboard = await startDashboard(home);

  for (const headers of [{}, { Authorization: 'Bearer wrong' }, { 'X-Agent-Session-Token': 'wrong' }])
    t.match(await dashboard.ask('/metrics', { token: false, headers }), { status: 401, headers: { 'content-type': /problem\+json/ } });
  const bearer = await dashboard.ask('/metrics', { token: false, headers: { Authorization: `Bearer ${dashboard.token}` } });
  t.match(bearer, { status: 200, headers: { 'content-type': /^text\/plain.*version=0\.0\.4/, 'cache-control': 'no-store' } });

  const { text } = await dashboard.ask('/metrics');
  for (const line of [
    'agent_supervisor_up 0',
    'agent_supervisor_adopted 2',
    'agent_problems 1',
    'agent_paused 0',
    'agent_slot_up{slot="agent"} 1',
    'agent_slot_up{slot="cron"} 0',
    'agent_slot_state{slot="cron",state="backoff"} 1',
    'agent_slot_state{slot="cron",state="ready"} 0',
    'agent_slot_restarts{slot="agent"} 3',
    'agent_slot_resident_memory_bytes{slot="agent"} 1000000',
    'agent_slot_cpu_percent{slot="agent"} 0.5',
    'agent_slot_loop_lag_milliseconds{slot="agent"} 4',
    'agent_slot_open_fds{slot="agent"} 21',
    'agent_slot_memory_growth_bytes_per_hour{slot="agent"} 5000',
    'agent_slot_log_lines_dropped{slot="agent"} 7',
  ])
    t.ok(text.includes(`\n${line}\n`), line);
  t.match(text, /\nagent_build_info\{version="[^"]+",code="[^"]+",node="v\d+[^"]*"\} 1\n/);
  t.match(text, /\nagent_dashboard_resident_memory_bytes \d+/);
  t.notMatch(text, /resident_memory_bytes\{slot="cron"\}|hunter2|never-shown/);
  t.notOk(text.includes(dashboard.token));

  engagePause(home.estop, { reason: 'r', scope: [] });
  write([row('agent')]);
  await until('the next scrape', async () => {
    const { text: next } = await dashboard.ask('/metrics');
    return !next.includes('slot="cron"') && next.includes('\nagent_paused 1\n');
  });
  t.same(malformed(text), []);
});

/** Lines that are not samples of a family announced with TYPE, as the text format wants them. */
function malformed(text: string): string[] {
  const families = new Set([...text.matchAll(/^# TYPE (\S+) (?:gauge|counter|histogram|summary)$/gm)].map(([, name]) => name!));
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .filter((line) => {
      const name = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (?:[-+.\deE]+|NaN|[+-]Inf)$/.exec(
        line,
      )?.[1];
      return name === undefined || !(families.has(name) || families.has(name.replace(/_(?:bucket|sum|count)$/, '')));
    });
}
