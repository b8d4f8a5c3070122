/** Toolsets of a profile: what each holds, and a switch that takes it away everywhere. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { Toggle } from '../ui/field.tsx';
import { Command, WithCode } from '../ui/notice.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';

export function ToolsetsTab({ profile }: { profile: string }) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['toolsets', profile],
    queryFn: ({ signal }) => request('GET /api/tools/toolsets', { query: { profile }, signal }),
  });
  const flip = useMutation({
    mutationFn: ({ name, enabled }: { name: string; enabled: boolean }) =>
      request('PUT /api/tools/toolsets/:name', { params: { name }, query: { profile }, body: { enabled } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['toolsets', profile] }),
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  return (
    <div className="grid gap-4">
      <p className="text-sm text-soft">
        A switch takes a toolset away everywhere, from the next turn on. What single places may use is decided by{' '}
        <Command>platform_toolsets</Command> in the settings.
      </p>
      {flip.error && <Problem thrown={flip.error} />}
      <ul aria-label="Toolsets" className="grid divide-y divide-line rounded-xl border border-line bg-surface">
        {data.toolsets.map(({ name, description, refused, switched_off, tools }) => (
          <li key={name} className="flex items-start gap-4 p-3">
            <div className="min-w-0 flex-1">
              <p className="text-sm font-medium break-all">{name}</p>
              <p className="text-sm break-words text-soft">{description}</p>
              {refused && !switched_off && (
                <p className="text-xs break-words text-warn">
                  <WithCode text={sentence(refused)} />
                </p>
              )}
              <details className="mt-1 text-xs text-soft">
                <summary className="cursor-pointer">
                  {tools.length} {tools.length === 1 ? 'tool' : 'tools'}
                </summary>
                <ul className="mt-1 grid gap-1">
                  {tools.map((tool) => (
                    <li key={tool.name} className="break-words">
                      <code className="font-mono text-ink">{tool.name}</code> {tool.description.split('\n')[0]}
                    </li>
                  ))}
                </ul>
              </details>
            </div>
            <Toggle
              label={`Toolset ${name}`}
              checked={!switched_off}
              disabled={flip.isPending && flip.variables.name === name}
              onChange={(enabled) => flip.mutate({ name, enabled })}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
