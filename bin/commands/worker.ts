/** `agent worker <slot> --external-supervisor`: one worker in the foreground, owned by someone else's process manager. */
import { AgentError } from '../../base/errors.ts';
import { hasFlag, jsonErrorsOption, slotArgument, type Command, type Input } from '../command.ts';
import { becomeWorker } from '../runWorker.ts';
import { slotOf } from '../slots.ts';

export const command: Command = {
  name: 'worker',
  summary: 'Run one worker in the foreground, without the supervisor',
  details:
    'For systemd units, containers and Kubernetes: the same exit codes (0 stopped as asked, 75 start me again, 78 configuration), readiness and drain on SIGTERM as under the supervisor.',
  arguments: [{ ...slotArgument, summary: 'agent, dashboard, gateway, cron, mcp, terminal, or <slot>@<profile>' }],
  options: [
    { flags: '--external-supervisor', summary: 'yes, another process manager owns it' },
    { flags: '--demo', summary: 'offer the rehearsal model when no provider is configured' },
    jsonErrorsOption,
  ],
  examples: [
    { line: 'agent worker gateway --external-supervisor', does: 'the gateway as a container of its own' },
    { line: 'agent worker agent@work --external-supervisor', does: 'the worker of another profile' },
  ],
  run,
};

function run(input: Input): Promise<number> {
  const slot = slotOf(input.args[0]!, input.profile);
  if (!hasFlag(input, 'externalSupervisor')) {
    throw new AgentError('USAGE', 'workers are started by the supervisor', {
      fix: `\`agent start ${slot}\` starts it there; --external-supervisor says that your own process manager owns it`,
    });
  }
  return becomeWorker(slot, hasFlag(input, 'demo'));
}
