/** Said above the composer when the agent worker does not come back by itself, with the way to start it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { request } from '../api.ts';
import { staysAway, useAgentSlot } from '../app/agentSlot.ts';
import { sentence } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Notice, WithCode } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';

export function AgentAway() {
  const queries = useQueryClient();
  const { slot, worker } = useAgentSlot();
  const start = useMutation({
    mutationFn: () => request('POST /api/workers/:slot/start', { params: { slot }, body: {} }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['agentSlot'] }),
  });
  if (!staysAway(worker)) return null;
  const parked = worker.state === 'parked';
  const failed = start.data && 'error' in start.data ? start.data.error : null;
  return (
    <>
      <Notice
        tone="warn"
        title={parked ? 'The agent does not start' : 'The agent is stopped'}
        actions={
          <Button icon={<Play size={14} />} disabled={start.isPending} onClick={() => start.mutate()}>
            {start.isPending ? 'Starting…' : 'Start it'}
          </Button>
        }
      >
        {worker.reason && (
          <p>
            <WithCode text={sentence(worker.reason)} />
          </p>
        )}
        {failed && (
          <p>
            <WithCode text={sentence(failed)} />
          </p>
        )}
        <p className="text-soft">
          What you write waits, and goes out when it runs.{' '}
          <Link to="/workers" className="text-accent underline underline-offset-3">
            See the workers
          </Link>
        </p>
      </Notice>
      {start.error && <Problem thrown={start.error} />}
    </>
  );
}
