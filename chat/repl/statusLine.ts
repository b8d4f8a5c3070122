/** The line above the composer: model, how full its window is, cost, what waits. */
import type { SessionInfo } from '../../ipc/contracts/rpcRecords.ts';

export function statusLine(info: SessionInfo, { queued, files, vim }: { queued: number; files: number; vim: string | undefined }): string {
  const { model, reasoning_effort_wire, fast, context_max, context_used, usage, approval_mode, safe_mode } = info;
  const cost = usage.cost_usd;
  const parts = [
    ...(vim === undefined ? [] : [vim === 'normal' ? 'NORMAL' : 'INSERT']),
    `${model ?? 'no model'}${reasoning_effort_wire ? ` (${reasoning_effort_wire})` : ''}${fast ? ' fast' : ''}`,
    ...(context_max && context_used !== null ? [`${Math.round((100 * context_used) / context_max)} % of the window`] : []),
    ...(cost === null || cost === 0 ? [] : [`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`]),
    ...(queued ? [`${queued} queued`] : []),
    ...(files ? [`${files} file${files === 1 ? '' : 's'} attached`] : []),
    ...(approval_mode === 'off' ? ['yolo'] : []),
    ...(safe_mode ? ['safe mode'] : []),
  ];
  return parts.join(' · ');
}
