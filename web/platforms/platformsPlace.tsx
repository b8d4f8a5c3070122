/** Chat platforms of the gateway: how each is, how to set it up, and the messages that were given up. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import type { listPlatforms } from '../../ipc/contracts/http/platforms.ts';
import { request } from '../api.ts';
import { duration } from '../app/format.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { Badge, Command, Notice } from '../ui/notice.tsx';
import { Card, PlaceBody, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { PlatformCard } from './platformCard.tsx';
import { UndeliveredList } from './undeliveredList.tsx';

/** Only while somebody looks: the query pauses with the tab. */
const LOOK_MS = 3_000;

type Listed = AnswerOf<typeof listPlatforms>;

export function PlatformsPlace() {
  const profile = useProfile();
  const { data, error, refetch } = useQuery({
    queryKey: ['platforms', profile],
    queryFn: ({ signal }) => request('GET /api/messaging/platforms', { query: { profile }, signal }),
    refetchInterval: LOOK_MS,
  });
  return (
    <>
      <PlaceHeader title="Chat platforms" />
      <PlaceBody>
        {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
        {!data && !error && <Waiting />}
        {data && <GatewayCard listed={data} />}
        {data && (
          <Section title="Platforms" lead="What is said there reaches the agent, and its answers go back.">
            {data.platforms.map((platform) => (
              <PlatformCard key={platform.id} platform={platform} envPath={data.env_path} />
            ))}
          </Section>
        )}
        <UndeliveredList running={data?.gateway_running ?? false} />
      </PlaceBody>
    </>
  );
}

function Waiting() {
  return (
    <div className="grid gap-6">
      <Skeleton height={5} />
      <Skeleton height={9} />
      <Skeleton height={9} />
    </div>
  );
}

type GatewayAction = 'start' | 'stop' | 'restart';

/** The process that connects all of them. */
function GatewayCard({ listed: { gateway_running, gateway_slot, gateway_start_command, held, platforms } }: { listed: Listed }) {
  const profile = useProfile();
  const queries = useQueryClient();
  const command = useMutation({
    mutationFn: (action: GatewayAction) => request(`POST /api/gateway/${action}`, { query: { profile }, body: {} }),
    onSuccess: (receipt) => {
      if (!receipt.ok) return;
      const parts = receipt.ready_ms === null ? '' : `, ready after ${duration(receipt.ready_ms)}`;
      toast(`The gateway: ${receipt.action} done${parts}.`);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['platforms'] }),
  });
  const changed = platforms.filter(({ state }) => state === 'pending_restart').map(({ name }) => name);
  const refused = command.data && !command.data.ok ? command.data : undefined;
  return (
    <Card className="grid gap-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <h2 className="flex flex-wrap items-center gap-2 font-semibold">
            Gateway
            <Badge tone={gateway_running ? 'good' : 'neutral'} busy={command.isPending}>
              {command.isPending ? working[command.variables] : gateway_running ? 'Running' : 'Stopped'}
            </Badge>
          </h2>
          <p className="mt-1 text-sm text-soft">
            {gateway_running
              ? 'It connects the platforms below. Messages wait while it restarts.'
              : 'It connects the platforms below, and starts with the service once it was started.'}
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          {gateway_running ? (
            <>
              <Button disabled={command.isPending} onClick={() => command.mutate('restart')}>
                Restart
              </Button>
              <Button disabled={command.isPending} onClick={() => command.mutate('stop')}>
                Stop
              </Button>
            </>
          ) : (
            <Button weight="strong" disabled={command.isPending} onClick={() => command.mutate('start')}>
              Start
            </Button>
          )}
        </div>
      </div>
      {changed.length > 0 && (
        <Notice tone="warn">{changed.join(' and ')}: changed since the gateway was started. Restart it to use the new settings.</Notice>
      )}
      {held > 0 && (
        <Notice tone="warn">
          {held} {held === 1 ? 'message is' : 'messages are'} held by the pause and will be answered in order when it ends.
        </Notice>
      )}
      {refused && (
        <Notice tone="bad" title={`${gateway_slot}: ${refused.action} failed`}>
          {refused.error} <Command>{`agent why ${gateway_slot}`}</Command>
        </Notice>
      )}
      {command.error && <Problem thrown={command.error} />}
      {!gateway_running && (
        <p className="text-xs text-soft">
          In a terminal: <Command>{gateway_start_command}</Command>
        </p>
      )}
    </Card>
  );
}

const working: Record<GatewayAction, string> = { start: 'Starting…', stop: 'Stopping…', restart: 'Restarting…' };
