/**
 * The workers of the house, as data. `bin/agentd.ts` hands this to the supervisor, which knows no
 * service by itself. Adding a worker = a folder with `main.ts` and a row here.
 */
import { limits } from '../base/limits.ts';

export interface WorkerManifest {
  slot: string;
  /** Entry module below the code root, without extension. */
  entry: string;
  /** `boot`: always wanted. `gatewayState`: as gateway_state.json says. `mcpServers`: wanted when servers are configured. `demand`: when asked for. */
  start: 'boot' | 'gatewayState' | 'mcpServers' | 'demand';
  /** One per profile is possible (`agent@work`). */
  perProfile: boolean;
  /** Variables (or prefixes ending in `*`) it gets beyond the common ones, sealed; secrets included. */
  env: string[];
  startupMs: number;
  drainMs: number;
  /** How a planned restart replaces it: one after the other only where two cannot even be loaded at once. */
  handover: 'none' | 'standby' | 'overlap';
  /** Stopped in descending order: a worker is stopped before the ones it works with. */
  tier: number;
}

const worker = (slot: string, start: WorkerManifest['start'], more: Partial<WorkerManifest> = {}): WorkerManifest => ({
  slot,
  entry: `services/${slot}/main`,
  start,
  perProfile: false,
  env: [],
  startupMs: limits.worker.startupMs,
  drainMs: limits.worker.drainMs,
  handover: 'standby',
  tier: 2,
  ...more,
});

/** In start order: what others dial first. */
export const manifest: readonly WorkerManifest[] = [
  worker('agent', 'boot', {
    perProfile: true,
    tier: 1,
    drainMs: limits.worker.drainBusyMs,
    env: ['*_API_KEY', 'AGENT_EXTRA_WELCOME_HOSTS', 'AGENT_GUEST_ONBOARDING', 'AGENT_SAFE_MODE'],
  }),
  // Nothing durable is written by it: two may serve at once.
  worker('dashboard', 'boot', { handover: 'overlap', env: ['AGENT_DASHBOARD_*', 'AGENT_CRON_FIRE_SECRET'] }),
  worker('cron', 'boot', { env: ['AGENT_CRON_*'] }),
  worker('mcp', 'mcpServers', { tier: 0 }),
  worker('gateway', 'gatewayState', {
    perProfile: true,
    env: ['GATEWAY_*', 'IRC_*', 'WEBHOOK_*', 'TELEGRAM_*', 'DISCORD_*', 'SLACK_*', 'MATRIX_*', 'API_SERVER_*', 'AGENT_GUEST_ONBOARDING'],
  }),
  worker('terminal', 'demand', { handover: 'none' }),
];

/** Variables every worker and tool child may see: how to run, nothing secret. */
export const commonEnv: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TZ',
  'TMPDIR',
  'TERM',
  'XDG_*',
  'NODE_EXTRA_CA_CERTS',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NO_COLOR',
];
