/** What every prompt costs before anybody has said a word. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { DataTable } from '../ui/dataTable.tsx';
import { SelectField } from '../ui/field.tsx';
import { Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';

const platforms = ['cli', 'tui', 'desktop', 'api', 'cron'].map((value) => ({ value, label: value }));

export function PromptSize({ profile }: { profile: string | undefined }) {
  const [platform, setPlatform] = useState('cli');
  const { data, error, refetch } = useQuery({
    queryKey: ['promptSize', platform, profile],
    queryFn: ({ signal }) => request('GET /api/ops/prompt-size', { query: { platform, profile }, signal }),
    placeholderData: (before) => before,
  });
  return (
    <Section title="Size of the prompt" lead="Instructions, memory, skills, context files and tools that go with every first message.">
      <div className="max-w-48">
        <SelectField label="Platform" choices={platforms} value={platform} onChange={(event) => setPlatform(event.target.value)} />
      </div>
      {error && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={14} />}
      {data && (
        <>
          <DataTable
            label="Parts of the prompt"
            rows={[...data.categories, { id: 'total', label: 'Total', bytes: data.total_bytes, tokens: data.total_tokens }]}
            keyOf={({ id }) => id}
            columns={[
              { name: 'Part', cell: ({ id, label }) => <span className={id === 'total' ? 'font-semibold' : ''}>{label}</span> },
              { name: 'Bytes', figures: true, cell: ({ bytes }) => count(bytes) },
              { name: 'Tokens', figures: true, cell: ({ tokens }) => `~${count(tokens)}` },
            ]}
          />
          <details className="text-sm">
            <summary className="text-soft">{data.tools.length} tools, the largest first</summary>
            <div className="mt-2">
              <DataTable
                label="Tools of the prompt"
                rows={data.tools.toSorted((a, b) => b.tokens - a.tokens)}
                keyOf={({ name }) => name}
                columns={[
                  { name: 'Tool', cell: ({ name }) => <span className="font-mono break-all">{name}</span> },
                  { name: 'Toolset', cell: ({ toolset }) => toolset },
                  { name: 'Tokens', figures: true, cell: ({ tokens }) => `~${count(tokens)}` },
                ]}
              />
            </div>
          </details>
        </>
      )}
    </Section>
  );
}

const count = (value: number): string => value.toLocaleString('en');
