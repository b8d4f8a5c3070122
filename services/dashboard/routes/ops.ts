/** Checks, the cost of a prompt, and how far a command of the page has come. */
import { arch, availableParallelism, hostname, loadavg, release, type, uptime } from 'node:os';
import { actionStatus, getPromptSize, getSystemStats, runDoctor } from '../../../ipc/contracts/http/ops.ts';
import { promptSize } from '../../../ipc/contracts/rpcSessions.ts';
import { DEFAULT_PROFILE } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function opsRoutes(dashboard: Dashboard): HttpHandler[] {
  const { actions, agentOf } = dashboard;
  return [
    on(actionStatus, ({ params: { name }, query: { lines } }) => actions.status(name, lines)),
    on(runDoctor, ({ body: { online, fix }, profile }) =>
      actions.start(doctorOf(profile.name), ['doctor', '--json', ...(online ? ['--online'] : []), ...(fix ? ['--fix'] : [])], profile),
    ),
    on(getPromptSize, ({ query: { platform }, profile, signal }) =>
      agentOf(profile).call(promptSize, platform === undefined ? {} : { platform }, { signal }),
    ),
    on(getSystemStats, () => systemStats(dashboard)),
  ];
}

/** What one profile was told is not shown for another. */
const doctorOf = (profile: string): string => (profile === DEFAULT_PROFILE ? 'doctor' : `doctor-${profile}`);

async function systemStats({ context, overview, host }: Dashboard) {
  const seen = await overview.read().catch(() => undefined);
  const held = (seen?.status.workers ?? []).reduce((sum, { rss_bytes }) => sum + (rss_bytes ?? 0), 0);
  const { memory, disk, sampled_at } = host();
  return {
    version: context.release.version,
    code: context.release.code,
    node: process.version,
    os: `${type()} ${release()} ${arch()}`,
    hostname: hostname(),
    cpus: availableParallelism(),
    load: loadavg().map((value) => Math.round(value * 100) / 100),
    uptime_seconds: Math.round(uptime()),
    memory: { ...memory, service_mb: Math.round(held / 2 ** 20) },
    disk,
    sampled_at,
  };
}
