/** A sign-in at a provider: a code to type elsewhere, or an address for the browser; waits until it is done. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { useAskAgain, type Answer, type SignInProvider } from './queries.ts';

type Started = Answer<'POST /api/providers/oauth/:id/start'>;

const LOOK_MS = 1_500;

export function SignInDialog({ provider, onClose }: { provider: SignInProvider; onClose: () => void }) {
  const profile = useProfile();
  const again = useAskAgain();
  const start = useMutation({
    mutationFn: () => request('POST /api/providers/oauth/:id/start', { params: { id: provider.id }, query: { profile }, body: {} }),
  });
  const begin = start.mutate;
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    begin();
  }, [begin]);
  const session = start.data?.session_id;
  const { data: state, error } = useQuery({
    queryKey: ['signIn', session],
    enabled: session !== undefined,
    queryFn: ({ signal }) =>
      request('GET /api/providers/oauth/:id/poll/:session', { params: { id: provider.id, session: session! }, query: { profile }, signal }),
    refetchInterval: ({ state: { data } }) => (data && data.status !== 'pending' ? false : LOOK_MS),
  });
  const status = state?.status ?? 'pending';
  useEffect(() => {
    if (status !== 'approved') return;
    toast(`Signed in at ${provider.name}`);
    void again();
    onClose();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once, when it is approved
  }, [status]);
  const leave = () => {
    if (session && status === 'pending') {
      void request('DELETE /api/providers/oauth/sessions/:session', { params: { session }, query: { profile } }).catch(() => {});
    }
    onClose();
  };
  return (
    <Dialog open onClose={leave} title={`Sign in at ${provider.name}`} actions={<Button onClick={leave}>Cancel</Button>}>
      {start.error && <Problem thrown={start.error} onRetry={() => start.mutate()} />}
      {error && <Problem thrown={error} />}
      {!start.data && !start.error && <Skeleton lines={3} />}
      {start.data && status === 'pending' && <Waiting started={start.data} provider={provider} trouble={state?.error_message ?? null} />}
      {status !== 'pending' && status !== 'approved' && (
        <Notice
          tone="bad"
          title={status === 'denied' ? 'It was refused' : status === 'expired' ? 'It took too long' : 'It failed'}
          actions={<Button onClick={() => start.mutate()}>Begin again</Button>}
        >
          {state?.error_message && sentence(state.error_message)}
        </Notice>
      )}
    </Dialog>
  );
}

function Waiting({ started, provider, trouble }: { started: Started; provider: SignInProvider; trouble: string | null }) {
  return (
    <>
      {started.flow === 'device_code' ? <Device started={started} /> : <Browser started={started} provider={provider} />}
      <p role="status" className="text-sm text-soft">
        <span className="animate-breathe">Waiting for {provider.name}…</span> {trouble && `${sentence(trouble)}; it is tried again.`}
      </p>
    </>
  );
}

const link =
  'inline-flex h-9 items-center justify-center rounded-lg bg-accent px-4 text-sm font-medium text-on-accent hover:bg-accent-strong';

function Device({ started }: { started: Extract<Started, { flow: 'device_code' }> }) {
  return (
    <div className="grid gap-3 text-sm">
      <p>Open the provider’s page on any device and enter this code:</p>
      <p className="flex items-center justify-center gap-2 rounded-xl bg-sunken py-4">
        <span data-testid="user-code" className="font-mono text-2xl tracking-widest">
          {started.user_code}
        </span>
        <CopyButton text={started.user_code} label="Copy the code" />
      </p>
      <a href={started.verification_url_complete ?? started.verification_url} target="_blank" rel="noreferrer noopener" className={link}>
        Open {new URL(started.verification_url).host}
      </a>
    </div>
  );
}

function Browser({ started, provider }: { started: Extract<Started, { flow: 'pkce' }>; provider: SignInProvider }) {
  const profile = useProfile();
  const [code, setCode] = useState('');
  const submit = useMutation({
    mutationFn: () =>
      request('POST /api/providers/oauth/:id/submit', {
        params: { id: provider.id },
        query: { profile },
        body: { session_id: started.session_id, code: code.trim() },
      }),
  });
  return (
    <div className="grid gap-3 text-sm">
      <a href={started.auth_url} target="_blank" rel="noreferrer noopener" className={link}>
        Open {new URL(started.auth_url).host} to sign in
      </a>
      <form
        className="grid gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (code.trim()) submit.mutate();
        }}
      >
        <TextField
          label="Code, or the address where the browser ended"
          hint="Only where the browser shows a code, or ends at an address that does not open because the agent runs on another machine."
          mono
          value={code}
          error={submit.data?.message ?? undefined}
          onChange={(event) => setCode(event.target.value)}
        />
        {submit.error && <Problem thrown={submit.error} />}
        <div>
          <Button type="submit" disabled={code.trim() === '' || submit.isPending}>
            Use it
          </Button>
        </div>
      </form>
    </div>
  );
}
