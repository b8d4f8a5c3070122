/** Skills of a profile: which are offered, their texts, and new ones. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import type { listSkills } from '../../ipc/contracts/http/skills.ts';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { TextField, Toggle } from '../ui/field.tsx';
import { Command, Notice, WithCode } from '../ui/notice.tsx';
import { Empty, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { NewSkill, SkillDialog } from './skillDialog.tsx';

type Row = AnswerOf<typeof listSkills>['skills'][number];

/** A filter is worth its place above this many. */
const FILTER_FROM = 8;

export function SkillsTab({ profile }: { profile: string }) {
  const queries = useQueryClient();
  const [reading, setReading] = useState<string | null>(null);
  const [making, setMaking] = useState(false);
  const [filter, setFilter] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: ['skills', profile],
    queryFn: ({ signal }) => request('GET /api/skills', { query: { profile }, signal }),
  });
  const toggle = useMutation({
    mutationFn: (body: { name: string; enabled: boolean }) => request('PUT /api/skills/toggle', { query: { profile }, body }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['skills', profile] }),
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={6} />;
  const { skills, problems } = data;
  const wanted = filter.trim().toLowerCase();
  const shown = skills.filter(({ name, description, category }) => `${category} ${name} ${description}`.toLowerCase().includes(wanted));
  const make = <Button onClick={() => setMaking(true)}>New skill</Button>;
  return (
    <div className="grid gap-4">
      {problems.length > 0 && (
        <Notice tone="warn" title={problems.length === 1 ? 'A skill cannot be used' : `${problems.length} things are wrong with skills`}>
          <ul className="grid gap-1">
            {problems.map(({ path, message }) => (
              <li key={path + message} className="break-words">
                <span className="font-mono text-xs break-all">{path}</span>: <WithCode text={message} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {skills.length === 0 ? (
        <Empty title="No skills yet" actions={make}>
          A skill is a written method that the agent reads when it needs it: a folder with a SKILL.md. Make one here, or with{' '}
          <Command>{`agent${profile === 'default' ? '' : ` -p ${profile}`} skills save <name> --create`}</Command>
        </Empty>
      ) : (
        <>
          <div className="flex flex-wrap items-end gap-3">
            <div className="min-w-0 flex-1">
              {skills.length >= FILTER_FROM && (
                <TextField label="Filter" value={filter} onChange={(event) => setFilter(event.target.value)} />
              )}
            </div>
            {make}
          </div>
          {toggle.error && <Problem thrown={toggle.error} />}
          <ul aria-label="Skills" className="grid divide-y divide-line rounded-xl border border-line bg-surface">
            {shown.map((skill) => (
              <SkillLine
                key={skill.name}
                skill={skill}
                busy={toggle.isPending && toggle.variables.name === skill.name}
                onRead={() => setReading(skill.name)}
                onToggle={(enabled) => toggle.mutate({ name: skill.name, enabled })}
              />
            ))}
          </ul>
          {shown.length === 0 && <p className="text-sm text-soft">No skill has that in its name or description.</p>}
        </>
      )}
      {reading !== null && <SkillDialog profile={profile} name={reading} onClose={() => setReading(null)} />}
      {making && <NewSkill profile={profile} onClose={() => setMaking(false)} />}
    </div>
  );
}

interface LineProps {
  skill: Row;
  busy: boolean;
  onRead: () => void;
  onToggle: (enabled: boolean) => void;
}

function SkillLine({ skill: { name, description, category, enabled, hidden_because }, busy, onRead, onToggle }: LineProps) {
  // Nobody can read or offer what cannot be parsed; the notice above names the line.
  if (hidden_because?.startsWith('broken')) return null;
  return (
    <li className="flex items-start gap-4 p-3">
      <button type="button" onClick={onRead} className="min-w-0 flex-1 rounded-lg text-left">
        <span className="block text-sm font-medium break-all text-accent hover:underline">{name}</span>
        <span className="block text-sm break-words text-soft">{description}</span>
        <span className="block text-xs text-faint">
          {category}
          {hidden_because !== null && enabled ? ` · not offered here: ${sentence(hidden_because)}` : ''}
        </span>
      </button>
      <Toggle label={`Offer ${name}`} checked={enabled} disabled={busy} onChange={onToggle} />
    </li>
  );
}
