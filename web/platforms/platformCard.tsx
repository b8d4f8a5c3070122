/** One platform: its state, what is wrong and what to do, a switch, a trial, and the form that sets it up. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Settings2 } from 'lucide-react';
import { useState } from 'react';
import type { PlatformRow } from '../../ipc/contracts/http/platforms.ts';
import { request } from '../api.ts';
import { age, duration, sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { Toggle } from '../ui/field.tsx';
import { Badge, Notice, WithCode, type Tone } from '../ui/notice.tsx';
import { Card } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { PlatformForm } from './platformForm.tsx';

interface Words {
  tone: Tone;
  word: string;
  /** What it means for people, where the word alone does not say it. */
  says?: string;
}

const words: Record<PlatformRow['state'], Words> = {
  connected: { tone: 'good', word: 'Connected' },
  disabled: { tone: 'neutral', word: 'Off', says: 'It is switched off. Its settings are kept.' },
  not_configured: { tone: 'neutral', word: 'Not set up' },
  pending_restart: { tone: 'warn', word: 'Restart needed', says: 'The gateway runs with other settings. Restart it to use these.' },
  gateway_stopped: { tone: 'neutral', word: 'Gateway stopped', says: 'It is set up. Start the gateway to connect it.' },
  startup_failed: { tone: 'bad', word: 'Gateway failed' },
  disconnected: { tone: 'warn', word: 'Not connected' },
  fatal: { tone: 'bad', word: 'Cannot connect' },
};

export function PlatformCard({ platform, envPath }: { platform: PlatformRow; envPath: string }) {
  const profile = useProfile();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const { id, name, configured, enabled, state } = platform;
  const connecting = state === 'disconnected' && platform.error_message === null;
  const { tone, word, says } = connecting ? { tone: 'neutral' as const, word: 'Connecting…', says: undefined } : words[state];
  const again = () => queries.invalidateQueries({ queryKey: ['platforms'] });
  const flip = useMutation({
    mutationFn: (on: boolean) => request('PUT /api/messaging/platforms/:id', { params: { id }, query: { profile }, body: { enabled: on } }),
    onSettled: again,
  });
  const trial = useMutation({
    mutationFn: () => request('POST /api/messaging/platforms/:id/test', { params: { id }, query: { profile }, body: {} }),
    onSettled: again,
  });

  return (
    <Card className="grid gap-3" data-platform={id}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <h3 className="flex flex-wrap items-center gap-2 font-semibold">
            {name}
            <Badge tone={tone} busy={connecting}>
              {word}
            </Badge>
          </h3>
          <p className="mt-1 text-sm text-soft">{platform.description}</p>
        </div>
        {configured && <Toggle label={`${name} is on`} checked={enabled} disabled={flip.isPending} onChange={(on) => flip.mutate(on)} />}
      </div>
      {says && <p className="text-sm text-soft">{says}</p>}
      {platform.error_message && (
        <Notice tone={tone} title={state === 'fatal' ? 'It cannot work with these settings' : 'What the gateway says'}>
          <WithCode text={sentence(platform.error_message)} />
        </Notice>
      )}
      {state === 'connected' && platform.updated_at && (
        <p className="text-sm text-soft">
          Since {age(platform.updated_at) === 'now' ? 'a moment ago' : age(platform.updated_at)}
          {platform.home_channel ? `; its home is ${platform.home_channel}` : ''}.
        </p>
      )}
      {flip.error && <Problem thrown={flip.error} />}
      <div className="flex flex-wrap gap-2">
        <Button
          weight={configured || open ? 'plain' : 'strong'}
          icon={<Settings2 size={15} aria-hidden="true" />}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {configured ? 'Settings' : 'Set up'}
        </Button>
        {configured && (
          <Button disabled={trial.isPending} onClick={() => trial.mutate()}>
            {trial.isPending ? 'Testing…' : 'Test'}
          </Button>
        )}
      </div>
      <div aria-live="polite" className="empty:hidden">
        {trial.error && <Problem thrown={trial.error} />}
        {trial.data && !trial.isPending && <Outcome {...trial.data} />}
      </div>
      {open && <PlatformForm platform={platform} envPath={envPath} onDone={() => setOpen(false)} />}
    </Card>
  );
}

function Outcome({ ok, message, fix, took_ms }: { ok: boolean; message: string; fix: string | null; took_ms: number }) {
  return (
    <Notice tone={ok ? 'good' : 'bad'} title={ok ? `It works${took_ms > 0 ? ` (${duration(took_ms)})` : ''}` : 'It did not connect'}>
      <p>
        <WithCode text={sentence(message)} />.
      </p>
      {fix && (
        <p>
          <WithCode text={sentence(fix)} />.
        </p>
      )}
    </Notice>
  );
}
