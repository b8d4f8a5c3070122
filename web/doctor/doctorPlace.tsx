/** Checks of the whole installation with the remedy of each, and what every prompt costs before a word is said. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { request } from '../api.ts';
import { duration } from '../app/format.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { SwitchField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, PlaceBody, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { ApiError } from '../api.ts';
import { CheckList, type CheckRow } from './checkList.tsx';
import { PromptSize } from './promptSize.tsx';

const LOOK_MS = 400;

export function DoctorPlace() {
  const profile = useProfile();
  const queries = useQueryClient();
  const [online, setOnline] = useState(false);
  const name = profile === undefined || profile === 'default' ? 'doctor' : `doctor-${profile}`;
  const action = useQuery({
    queryKey: ['action', name],
    queryFn: ({ signal }) => request('GET /api/actions/:name/status', { params: { name }, query: { lines: 50 }, signal }).catch(noneYet),
    refetchInterval: ({ state: { data } }) => (data?.running ? LOOK_MS : false),
  });
  const start = useMutation({
    mutationFn: (fix: boolean) => request('POST /api/ops/doctor', { body: { online, ...(fix ? { fix } : {}), profile } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['action', name] }),
  });
  const { data } = action;
  const running = start.isPending || data?.running === true;
  const rows = (data?.result as { checks?: CheckRow[] } | null)?.checks;
  const repairable = rows?.some(({ fixable, status }) => fixable && (status === 'warn' || status === 'fail')) ?? false;

  return (
    <>
      <PlaceHeader title="Doctor" />
      <PlaceBody>
        <Section
          title="Checks"
          lead="Everything a support person would ask. Nothing is changed unless you ask for it."
          actions={
            <span className="flex flex-wrap gap-2">
              {repairable && (
                <Button disabled={running} onClick={() => start.mutate(true)}>
                  Repair what is safe
                </Button>
              )}
              <Button weight="strong" disabled={running} onClick={() => start.mutate(false)}>
                {running ? 'Checking…' : rows ? 'Check again' : 'Run the checks'}
              </Button>
            </span>
          }
        >
          <SwitchField
            label="Ask providers too"
            hint="Whether each model provider answers; needs the network."
            checked={online}
            disabled={running}
            onChange={setOnline}
          />
          {start.error && <Problem thrown={start.error} />}
          {action.error && <Problem thrown={action.error} onRetry={() => void action.refetch()} />}
          {running && <Progress since={data?.started_at} />}
          {!running && data && !rows && <Failed exitCode={data.exit_code} error={data.error} lines={data.lines} />}
          {!running && rows && data?.ended_at && <CheckList rows={rows} at={data.ended_at} />}
          {!running && data === null && (
            <Empty title="Not checked yet">
              Node and its modules, the home, the service, config.yaml and what it names, the machine. It takes a second or two.
            </Empty>
          )}
        </Section>
        <PromptSize profile={profile} />
      </PlaceBody>
    </>
  );
}

/** Nobody has started it since this dashboard did: no error. */
function noneYet(thrown: unknown): null {
  if (thrown instanceof ApiError && thrown.status === 404) return null;
  throw thrown;
}

function Progress({ since }: { since: string | undefined }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const goneMs = since === undefined ? 0 : Math.max(0, now - Date.parse(since));
  return (
    <div className="grid gap-3">
      <p role="status" className="flex items-center gap-3 text-sm text-soft">
        <progress aria-label="The checks run" className="h-2 w-40 accent-accent" />
        <span className="tabular-nums">{duration(goneMs)}</span>
      </p>
      <Skeleton lines={6} />
    </div>
  );
}

function Failed({ exitCode, error, lines }: { exitCode: number | null; error: string | null; lines: readonly string[] }) {
  return (
    <Notice tone="bad" title="The checks did not end as they should">
      <p>{error ?? `agent doctor ended with ${exitCode ?? 'a signal'}.`}</p>
      {lines.length > 0 && <pre className="mt-2 max-h-40 overflow-auto font-mono text-xs whitespace-pre-wrap">{lines.join('\n')}</pre>}
    </Notice>
  );
}
