/** One server: how it is, its tools, and what one can do with it. Names and descriptions of tools are a stranger's text. */
import { useMutation } from '@tanstack/react-query';
import { FlaskConical, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import type { McpServer } from '../../ipc/contracts/http/mcp.ts';
import { request } from '../api.ts';
import { duration, sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Toggle } from '../ui/field.tsx';
import { Badge, Notice, WithCode, type Tone } from '../ui/notice.tsx';
import { Card } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { useEnable, useRefresh, useTest } from './mcpData.ts';

const looks: Record<McpServer['state'], { tone: Tone; text: string; busy?: boolean }> = {
  connected: { tone: 'good', text: 'connected' },
  connecting: { tone: 'neutral', text: 'connecting', busy: true },
  retrying: { tone: 'warn', text: 'tries again', busy: true },
  failed: { tone: 'bad', text: 'failed' },
  idle: { tone: 'neutral', text: 'not used yet' },
  disabled: { tone: 'neutral', text: 'off' },
  unknown: { tone: 'neutral', text: 'not known' },
};

export function ServerCard({ server }: { server: McpServer }) {
  const { name, state, enabled, error, fix, needs_sign_in } = server;
  const [removing, setRemoving] = useState(false);
  const enable = useEnable();
  const test = useTest();
  const look = needs_sign_in ? { tone: 'warn' as const, text: 'needs sign-in' } : looks[state];
  return (
    <Card className="grid gap-3">
      <div data-server={name} data-state={state} className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="font-semibold [overflow-wrap:anywhere]">{name}</h2>
        <Badge tone={look.tone} busy={'busy' in look && look.busy}>
          {look.text}
        </Badge>
        <span className="ml-auto flex items-center gap-2">
          <Button
            icon={<FlaskConical size={15} />}
            disabled={test.isPending || !enabled}
            aria-label={`Test ${name}`}
            onClick={() => test.mutate(name)}
          >
            {test.isPending ? 'Testing…' : 'Test'}
          </Button>
          <IconButton label={`Remove ${name}`} onClick={() => setRemoving(true)}>
            <Trash2 size={16} />
          </IconButton>
          <Toggle
            label={`${name} is on`}
            checked={enabled}
            disabled={enable.isPending}
            onChange={(on) => enable.mutate({ name, enabled: on })}
          />
        </span>
      </div>
      <Source server={server} />
      {error && enabled && (
        <Notice tone={needs_sign_in ? 'warn' : 'bad'} title={needs_sign_in ? 'This server asks for a sign-in' : error}>
          {fix && (
            <p>
              <WithCode text={sentence(fix)} />.
            </p>
          )}
        </Notice>
      )}
      {enable.error && <Problem thrown={enable.error} />}
      <div aria-live="polite" className="empty:hidden">
        {test.error && !test.isPending && <Problem thrown={test.error} />}
        {test.data && !test.isPending && <TestResult answer={test.data} />}
      </div>
      {server.tools && server.tools.length > 0 && <Tools tools={server.tools} count={server.tool_count} />}
      {removing && <Remove name={name} onClose={() => setRemoving(false)} />}
    </Card>
  );
}

function Source({ server: { command, args, url, env, headers, pid } }: { server: McpServer }) {
  const more = [...Object.entries(env), ...Object.entries(headers)];
  return (
    <div className="grid gap-1 text-sm text-soft">
      <p className="font-mono text-xs [overflow-wrap:anywhere]">{url ?? [command, ...args].join(' ')}</p>
      {more.length > 0 && (
        <p className="font-mono text-xs [overflow-wrap:anywhere]">{more.map(([key, value]) => `${key}=${value}`).join('  ')}</p>
      )}
      {pid !== null && <p className="text-xs">process {pid}</p>}
    </div>
  );
}

function TestResult({
  answer: { ok, error, fix, ms, tools },
}: {
  answer: { ok: boolean; error: string | null; fix: string | null; ms: number; tools: unknown[] };
}) {
  if (!ok) {
    return (
      <Notice tone="bad" title={`Failed after ${duration(ms)}`}>
        <p className="[overflow-wrap:anywhere]">
          <WithCode text={sentence(error ?? 'it does not work')} />.
        </p>
        {fix && (
          <p>
            <WithCode text={sentence(fix)} />.
          </p>
        )}
      </Notice>
    );
  }
  return (
    <Notice tone="good">
      It answers after {duration(ms)} with {tools.length} {tools.length === 1 ? 'tool' : 'tools'}.
    </Notice>
  );
}

function Tools({ tools, count }: { tools: { name: string; description: string }[]; count: number }) {
  return (
    <details className="text-sm">
      <summary className="w-fit text-soft hover:text-ink">
        {count} {count === 1 ? 'tool' : 'tools'}
      </summary>
      <ul className="mt-2 grid gap-2">
        {tools.map(({ name, description }) => (
          <li key={name} className="grid gap-0.5">
            <span className="font-mono text-xs [overflow-wrap:anywhere]">{visibleText(name)}</span>
            <span className="line-clamp-3 text-soft [overflow-wrap:anywhere]">{description}</span>
          </li>
        ))}
        {count > tools.length && <li className="text-soft">and {count - tools.length} more</li>}
      </ul>
    </details>
  );
}

function Remove({ name, onClose }: { name: string; onClose: () => void }) {
  const profile = useProfile();
  const refresh = useRefresh();
  const remove = useMutation({
    mutationFn: () => request('DELETE /api/mcp/servers/:name', { params: { name }, query: { profile } }),
    onSuccess: () => {
      toast(`${name} is removed.`);
      onClose();
    },
    onSettled: refresh,
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Remove ${name}?`}
      verb="Remove"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      It is disconnected and taken out of config.yaml, and the secrets that were stored for it go from .env.
    </ConfirmDialog>
  );
}
