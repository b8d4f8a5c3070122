/** Records as the workers send them, whole; a test names only what it is about. */
import type { Tool } from '../../agent/tools/registry.ts';
import type { Message, SessionInfo, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';

export const sessionInfo: SessionInfo = {
  model: 'rehearsal',
  provider: 'demo',
  reasoning_effort: null,
  reasoning_effort_wire: null,
  service_tier: null,
  fast: false,
  approval_mode: 'manual',
  safe_mode: false,
  context_max: null,
  context_used: null,
  usage: { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0, model_calls: 0, cost_usd: null },
  scripted: true,
  cwd: '/',
  tools: [],
  running: false,
  title: null,
  version: '0',
  credential_warning: null,
};

/** An empty session at rest. */
export const sessionSnapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  session_id: 's',
  messages: [],
  asides: [],
  status: 'idle',
  inflight: null,
  queued: [],
  plan: { todos: [], revision: 0 },
  open_requests: [],
  pending_connection: null,
  info: sessionInfo,
  latest_seq: 0,
  epoch: 'e',
  ...more,
});

export const message = (id: number, role: Message['role'], content: string, more: Partial<Message> = {}): Message => ({
  id,
  role,
  content,
  tool_calls: null,
  tool_call_id: null,
  tool_name: null,
  reasoning: null,
  finish_reason: role === 'assistant' ? 'stop' : null,
  is_error: false,
  error: null,
  duration_ms: null,
  attachments: null,
  kind: 'plain',
  in_context: true,
  timestamp: '2026-01-01T00:00:00Z',
  ...more,
});

type Row = Status['workers'][number];

export const workerRow = (slot: string, more: Partial<Row> = {}): Row => ({
  slot,
  profile: 'default',
  kind: 'worker',
  desired: 'up',
  state: 'ready',
  pid: 100,
  since: '2026-01-01T00:00:00Z',
  ready_ms: 100,
  restarts: 0,
  code: 'source',
  rss_bytes: 1,
  cpu_percent: 0,
  lag_ms: 0,
  fds: 20,
  leak_bytes_per_hour: null,
  liveness: 'ok',
  adopted: false,
  reason: null,
  next_start_at: null,
  last_exit: null,
  ...more,
});

/** A tool that does nothing. */
export const idleTool = (name: string, toolset: string): Tool => ({
  name,
  toolset,
  description: '',
  parameters: {},
  run: async () => ({ text: '', isError: false }),
});
