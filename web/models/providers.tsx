/** Providers: whether each can serve and what it lacks, a test, its key or its sign-in. */
import { useMutation } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { request } from '../api.ts';
import { age, sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Badge, WithCode } from '../ui/notice.tsx';
import { Card, Empty, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { AddProvider } from './addProvider.tsx';
import { RefreshButton } from './modelPicker.tsx';
import { useAskAgain, useOptions, useSignIns, type ProviderRow, type SignInProvider } from './queries.ts';
import { SignInDialog } from './signInDialog.tsx';

export function Providers({ onKeys }: { onKeys: () => void }) {
  const { data, error, refetch, isFetching } = useOptions();
  const signIns = useSignIns();
  const [adding, setAdding] = useState(false);
  const signInOf = ({ name }: ProviderRow) => signIns.data?.providers.find(({ id }) => id === name);
  return (
    <Section
      title="Providers"
      lead="Who serves models. One that is named here, or whose key is set, can be chosen."
      actions={
        <div className="flex flex-wrap gap-2">
          <RefreshButton busy={isFetching} />
          <Button weight="strong" icon={<Plus size={16} />} onClick={() => setAdding(true)}>
            Add provider
          </Button>
        </div>
      }
    >
      {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={20} />}
      {data?.providers.length === 0 && <Empty title="No provider yet">Add one, or put a key under Keys.</Empty>}
      {data && (
        <ul aria-label="Providers" className="grid gap-3">
          {data.providers
            .toSorted((a, b) => Number(b.usable) - Number(a.usable))
            .map((provider) => (
              <li key={provider.name}>
                <ProviderCard
                  provider={provider}
                  inUse={data.current.provider === provider.name}
                  signIn={signInOf(provider)}
                  onKeys={onKeys}
                />
              </li>
            ))}
        </ul>
      )}
      {adding && <AddProvider taken={data?.providers.map(({ name }) => name) ?? []} onClose={() => setAdding(false)} />}
    </Section>
  );
}

interface CardProps {
  provider: ProviderRow;
  inUse: boolean;
  signIn: SignInProvider | undefined;
  onKeys: () => void;
}

function ProviderCard({ provider, inUse, signIn, onKeys }: CardProps) {
  const profile = useProfile();
  const { name, kind, usable, problem, detected, models, fetched_at: fetchedAt, error } = provider;
  const test = useMutation({
    mutationFn: () => request('POST /api/model/check', { query: { profile }, body: { provider: name, probe: true } }),
  });
  return (
    <Card className="grid gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="font-medium">{name}</h3>
        {kind !== name && <span className="text-sm text-soft">{kind}</span>}
        <Badge tone={usable ? (error ? 'warn' : 'good') : 'neutral'}>{usable ? (error ? 'Not reached' : 'Ready') : 'Not ready'}</Badge>
        {inUse && <Badge tone="neutral">In use</Badge>}
        <div className="ml-auto flex flex-wrap gap-2">
          {signIn && <SignInButtons signIn={signIn} />}
          {!usable && !signIn && /needs /.test(problem ?? '') && <Button onClick={onKeys}>Set its key</Button>}
          {usable && (
            <Button aria-label={`Test ${name}`} disabled={test.isPending} onClick={() => test.mutate()}>
              {test.isPending ? 'Testing…' : 'Test'}
            </Button>
          )}
        </div>
      </div>
      <div className="text-sm text-soft">
        {problem && (
          <p>
            <WithCode text={sentence(problem)} />.
          </p>
        )}
        {usable && (
          <p>
            {models.length === 0 ? 'No list of models' : `${models.length} ${models.length === 1 ? 'model' : 'models'}`}
            {fetchedAt && `, fetched ${age(fetchedAt) === 'now' ? 'a moment' : age(fetchedAt)} ago`}
            {detected && ', found running on this machine'}.
          </p>
        )}
        {error && (
          <p className="break-words text-bad">
            <WithCode text={sentence(ownWords(name, error))} />.
          </p>
        )}
      </div>
      <div aria-live="polite">
        {test.error && <Problem thrown={test.error} />}
        {test.data && !test.isPending && (
          <p className={`text-sm ${test.data.ok ? 'text-good' : 'text-bad'}`}>
            <WithCode
              text={
                test.data.ok
                  ? `It answers${test.data.source ? ` (${test.data.source})` : ''}.`
                  : sentence(ownWords(name, test.data.error ?? 'it does not answer'))
              }
            />
          </p>
        )}
      </div>
    </Card>
  );
}

/** Its name stands above already. */
const ownWords = (name: string, text: string): string => (text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text);

function SignInButtons({ signIn }: { signIn: SignInProvider }) {
  const profile = useProfile();
  const again = useAskAgain();
  const [open, setOpen] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const out = useMutation({
    mutationFn: () => request('DELETE /api/providers/oauth/:id', { params: { id: signIn.id }, query: { profile } }),
    onSuccess: () => {
      toast(`Signed out of ${signIn.name}`);
      setLeaving(false);
    },
    onSettled: again,
  });
  return (
    <>
      {signIn.status.logged_in ? (
        <Button onClick={() => setLeaving(true)}>Sign out</Button>
      ) : (
        <Button weight="strong" onClick={() => setOpen(true)}>
          Sign in
        </Button>
      )}
      {open && <SignInDialog provider={signIn} onClose={() => setOpen(false)} />}
      <ConfirmDialog
        open={leaving}
        onClose={() => setLeaving(false)}
        title={`Sign out of ${signIn.name}?`}
        verb="Sign out"
        busy={out.isPending}
        error={out.error}
        onConfirm={() => out.mutate()}
      >
        Its tokens are forgotten; it serves again after the next sign-in.
      </ConfirmDialog>
    </>
  );
}
