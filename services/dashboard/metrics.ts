/**
 * `GET /metrics` for Prometheus (contract §9): the state of every slot as the supervisor sees it, and this process.
 * Labels are names of slots and their states alone: neither secrets nor words without bound.
 */
import type { Gauge } from 'prom-client';
import { slotStates, type WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import type { Seen } from './overview.ts';

export interface Metrics {
  contentType: string;
  /** The text of one scrape; `seen` is undefined when there is not even a snapshot. */
  text(seen: Seen | undefined, facts: { version: string; code: string; paused: boolean }): Promise<string>;
}

/** One gauge per number of a slot's row; a slot that has none right now has no sample. */
const SLOT_GAUGES: { name: string; help: string; value: (row: WorkerStatus) => number | null }[] = [
  { name: 'agent_slot_up', help: 'Whether the slot is ready', value: ({ state }) => Number(state === 'ready') },
  { name: 'agent_slot_wanted', help: 'Whether the slot is meant to run', value: ({ desired }) => Number(desired === 'up') },
  {
    name: 'agent_slot_suspect',
    help: 'Whether its signs of life are not as they should be',
    value: ({ liveness }) => (liveness === null ? null : Number(liveness !== 'ok')),
  },
  { name: 'agent_slot_restarts', help: 'Unplanned restarts since the supervisor started', value: ({ restarts }) => restarts },
  { name: 'agent_slot_resident_memory_bytes', help: 'Resident memory', value: ({ rss_bytes: rss }) => rss },
  { name: 'agent_slot_cpu_percent', help: 'CPU time of one core at the last sample', value: ({ cpu_percent: cpu }) => cpu },
  { name: 'agent_slot_loop_lag_milliseconds', help: 'Delay of the main loop at the last heartbeat', value: ({ lag_ms: lag }) => lag },
  { name: 'agent_slot_open_fds', help: 'Open file descriptors', value: ({ fds }) => fds },
  {
    name: 'agent_slot_memory_growth_bytes_per_hour',
    help: 'Growth of resident memory over the last hours',
    value: ({ leak_bytes_per_hour: leak }) => leak,
  },
  {
    name: 'agent_slot_log_lines_dropped',
    help: 'Lines of floods of its output that were not kept',
    value: ({ log_lines_dropped: dropped = 0 }) => dropped,
  },
  { name: 'agent_slot_ready_milliseconds', help: 'From the start of the process to ready', value: ({ ready_ms: ms }) => ms },
  {
    name: 'agent_slot_since_seconds',
    help: 'When the slot came into its state, Unix time',
    value: ({ since }) => Date.parse(since) / 1_000,
  },
];

/** This process. Not the library's default set: its loop-lag histogram would wake an idle process a hundred times a second. */
const OWN_GAUGES: { name: string; help: string; value: () => number }[] = [
  { name: 'agent_dashboard_resident_memory_bytes', help: 'Resident memory of the dashboard', value: () => process.memoryUsage.rss() },
  { name: 'agent_dashboard_heap_used_bytes', help: 'JavaScript heap in use', value: () => process.memoryUsage().heapUsed },
  { name: 'agent_dashboard_cpu_seconds', help: 'CPU time since its start', value: () => cpuSeconds() },
  { name: 'agent_dashboard_start_time_seconds', help: 'Its start, Unix time', value: () => performance.timeOrigin / 1_000 },
  {
    name: 'agent_dashboard_loop_utilization',
    help: 'Share of its life in which the main loop was busy',
    value: () => performance.eventLoopUtilization().utilization,
  },
];

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Loads the client library: only when somebody scrapes. */
export async function createMetrics(): Promise<Metrics> {
  const { Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  const own = OWN_GAUGES.map(({ name, help, value }) => ({ value, gauge: gauge(name, help, []) }));
  const build = gauge('agent_build_info', 'Version and content id of the code, always 1', ['version', 'code', 'node']);
  const supervisorUp = gauge('agent_supervisor_up', 'Whether a supervisor answers', []);
  const startedAt = gauge('agent_supervisor_start_time_seconds', 'Start of the supervisor, Unix time', []);
  const adopted = gauge('agent_supervisor_adopted', 'Workers taken over from an earlier supervisor', []);
  const problems = gauge('agent_problems', 'Things the operator should know', []);
  const paused = gauge('agent_paused', 'Whether automation is paused', []);
  const state = gauge('agent_slot_state', 'The state of the slot is 1, all others are 0', ['slot', 'state']);
  const gauges = SLOT_GAUGES.map(({ name, help, value }) => ({ value, gauge: gauge(name, help, ['slot']) }));

  return {
    contentType: registry.contentType,
    text(seen, facts) {
      const { workers = [], supervisor, problems: known = [] } = seen?.status ?? {};
      for (const { gauge: one, value } of own) one.set(value());
      build.reset();
      build.set({ version: facts.version, code: facts.code, node: process.version }, 1);
      supervisorUp.set(Number(seen?.live ?? false));
      startedAt.set(supervisor ? Date.parse(supervisor.started_at) / 1_000 : 0);
      adopted.set(supervisor?.adopted ?? 0);
      problems.set(known.length);
      paused.set(Number(facts.paused));
      // A slot that is gone since the last scrape must not stay.
      state.reset();
      for (const { gauge: one } of gauges) one.reset();
      for (const row of workers) {
        for (const word of slotStates) state.set({ slot: row.slot, state: word }, Number(row.state === word));
        for (const { value, gauge: one } of gauges) {
          const number = value(row);
          if (number !== null) one.set({ slot: row.slot }, number);
        }
      }
      return registry.metrics();
    },
  };
}
