/** `cronjob`: scheduled prompts, made, listed and removed through the cron worker. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import type { CronJobRow, CronJobs } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const Args = z.object({
  action: z.enum(['create', 'list', 'remove']),
  schedule: z.string().optional().describe('`every 30m`, `2h` (once, from now), five cron fields, or an ISO instant (create).'),
  prompt: z.string().optional().describe('What to do each time (create). The run sees nothing of this conversation.'),
  name: z.string().max(100).optional(),
  deliver: z.string().optional().describe('`local`, `origin` (this chat), `<platform>` or `<platform>:<chat>` (create).'),
  repeat: z.number().int().min(1).optional().describe('End after this many runs (create).'),
  job_id: z.string().optional().describe('Id or name of the job (remove).'),
});

/**
 * `origin`: delivery target of the chat the session belongs to; null on surfaces that are not a chat. `originOnly`: no
 * job may deliver elsewhere.
 */
export function cronjobTool(jobs: CronJobs, origin: string | null, originOnly = false): Tool {
  return defineTool({
    name: 'cronjob',
    toolset: 'cronjob',
    description: 'Schedules a prompt, lists the scheduled jobs, or removes one.',
    args: Args,
    async run({ action, schedule, prompt, name, deliver, repeat, job_id }, { signal }) {
      switch (action) {
        case 'create': {
          if (!schedule || !prompt) throw new AgentError('BAD_REQUEST', 'create needs schedule and prompt');
          const job = await jobs.create({ schedule, prompt, name, deliver: target(deliver, { origin, originOnly }), repeat }, signal);
          return { text: `Created: ${line(job)}`, data: { job }, isError: false };
        }
        case 'list': {
          const rows = await jobs.list(signal);
          return { text: rows.length ? rows.map(line).join('\n') : 'There are no jobs.', data: { jobs: rows }, isError: false };
        }
        case 'remove': {
          if (!job_id) throw new AgentError('BAD_REQUEST', 'remove needs job_id', { fix: 'list shows the ids' });
          const job = await jobs.remove(job_id, signal);
          return { text: `Removed: ${line(job)}`, data: { job }, isError: false };
        }
      }
    },
  });
}

function target(asked: string | undefined, { origin, originOnly }: { origin: string | null; originOnly: boolean }): string {
  if (asked === undefined || asked === 'origin') return origin ?? 'local';
  if (!originOnly || asked === origin) return asked;
  throw new AgentError('NOT_PERMITTED', `a job made here delivers to this chat alone, not to ${asked}`, { fix: 'leave deliver out' });
}

const line = (job: CronJobRow): string =>
  `${job.id} "${job.name}" ${job.schedule}, delivers to ${job.deliver}, ${job.next_run_at ? `next ${job.next_run_at}` : job.state}`;
