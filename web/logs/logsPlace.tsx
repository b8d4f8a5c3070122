/** The logs as they are written: one file at a time, from a level on, with whatever a line holds behind a click. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/problem.tsx';
import { componentsOf, useLogLines, type LogLine } from './logLines.ts';
import { LogView } from './logView.tsx';

const FIRST = ['agent', 'gui', 'gateway', 'cron', 'mcp', 'terminal', 'supervisor', 'errors'];
const levels = ['debug', 'info', 'warn', 'error'] as const;

interface LogSearch {
  file?: string;
  level?: string;
  component?: string;
}

export function LogsPlace() {
  const profile = useProfile();
  const {
    file = 'agent',
    level = 'info',
    component = '',
  } = useSearch({ strict: false, select: (search: { profile?: string } & LogSearch): LogSearch => search });
  const navigate = useNavigate();
  const choose = (choice: LogSearch) =>
    void navigate({ to: '/logs', search: ((before: object) => ({ ...before, ...choice })) as never, replace: true });
  const [words, setWords] = useState('');
  const [following, setFollowing] = useState(true);
  const [loading, setLoading] = useState(false);
  const [failed, setFailed] = useState<Error | null>(null);
  const { lines, connected, refused, loadAll, partial } = useLogLines({ file, level, component, profile });
  const wanted = useDeferredValue(words.trim().toLowerCase());
  const shown = useMemo(() => filtered(lines, wanted), [lines, wanted]);
  const components = useMemo(() => componentsOf(lines), [lines]);
  const files = useQuery({
    queryKey: ['logFiles', profile],
    queryFn: ({ signal }) => request('GET /api/logs/files', { query: { profile }, signal }),
  });
  const names = files.data?.files.filter(({ name, size }) => size > 0 || FIRST.includes(name)).map(({ name }) => name) ?? FIRST;

  return (
    <>
      <PlaceHeader title="Logs" />
      <main className="flex min-h-0 flex-1 flex-col">
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 md:px-6">
          <Choice label="File" value={file} options={withOwn(names, file)} onChange={(next) => choose({ file: next, component: '' })} />
          <Choice label="From level" value={level} options={withOwn(levels, level)} onChange={(next) => choose({ level: next })} />
          <Choice
            label="Component"
            value={component}
            options={withOwn(['', ...components], component)}
            onChange={(next) => choose({ component: next })}
          />
          <input
            type="search"
            aria-label="Search in the lines"
            placeholder="Search"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            className="h-8 min-w-32 flex-1 rounded-lg bg-sunken px-3 text-sm placeholder:text-faint"
          />
          <label className="flex h-8 items-center gap-2 px-1 text-sm">
            <input
              type="checkbox"
              checked={following}
              onChange={(event) => setFollowing(event.target.checked)}
              className="size-4 accent-accent"
            />
            Follow
          </label>
        </div>
        <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-1.5 text-xs text-soft md:px-6">
          <span role="status">
            {wanted ? `${count(shown.length)} of ${count(lines.length)} lines` : `${count(lines.length)} lines`}
            {partial && ', the last ones'}
          </span>
          {partial && (
            <Button
              className="h-6! text-xs!"
              disabled={loading}
              onClick={() => {
                setLoading(true);
                setFailed(null);
                loadAll()
                  .catch(setFailed)
                  .finally(() => setLoading(false));
              }}
            >
              {loading ? 'Loading…' : 'Load all that is kept'}
            </Button>
          )}
        </div>
        {failed && (
          <div className="px-4 py-2 md:px-6">
            <Problem thrown={failed} />
          </div>
        )}
        {shown.length > 0 ? (
          <LogView lines={shown} following={following} onFollow={setFollowing} />
        ) : (
          <div className="p-6 text-sm text-soft">
            {refused ? <Problem thrown={refused} /> : <p>{emptyWords(connected, wanted, level)}</p>}
          </div>
        )}
      </main>
    </>
  );
}

const count = (value: number): string => value.toLocaleString('en');

function filtered(lines: readonly LogLine[], wanted: string): readonly LogLine[] {
  return wanted === '' ? lines : lines.filter(({ raw }) => raw.toLowerCase().includes(wanted));
}

function emptyWords(connected: boolean, wanted: string, level: string): string {
  if (!connected) return 'Connecting…';
  if (wanted) return 'No line holds that.';
  return `Nothing has been written here at this level.${level === 'debug' ? '' : ' A lower level shows more.'}`;
}

/** The address may name one that is not in the list. */
const withOwn = (options: readonly string[], own: string): string[] => (options.includes(own) ? [...options] : [...options, own]);

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label className="flex items-center gap-2 text-sm text-soft">
      <span className="max-lg:sr-only">{label}</span>
      <select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="h-8 max-w-36 rounded-lg border border-edge bg-surface px-2 text-ink"
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {option || 'all'}
          </option>
        ))}
      </select>
    </label>
  );
}
