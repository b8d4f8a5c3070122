/** Who is signed in, and the way out: at the foot of the rail, where people sign in at all. */
import { Popover } from '@base-ui/react/popover';
import { useQuery } from '@tanstack/react-query';
import { LogOut, UserRound } from 'lucide-react';
import { useState } from 'react';
import { request } from '../api.ts';
import { signOut } from '../token.ts';
import { Button } from '../ui/button.tsx';

const ID_SHOWN_CHARS = 18;

export function Account() {
  const { data: me } = useQuery({
    queryKey: ['auth', 'me'],
    queryFn: ({ signal }) => request('GET /api/auth/me', { signal }),
    staleTime: 300_000,
  });
  const name = me ? me.display_name || me.email || shortened(me.user_id) : '';
  return (
    <Popover.Root>
      <Popover.Trigger
        aria-label={name ? `Signed in as ${name}` : 'Account'}
        className="grid size-8 place-items-center rounded-lg text-soft transition-colors hover:bg-sunken hover:text-ink"
      >
        <UserRound size={16} aria-hidden="true" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="right" align="end" sideOffset={8} collisionPadding={12} className="z-30">
          <Popover.Popup className="grid w-64 gap-3 rounded-xl border border-line bg-surface p-4 text-sm shadow-raised">
            <div className="grid gap-0.5">
              <Popover.Title className="font-semibold break-words text-ink">{name || 'Signed in'}</Popover.Title>
              {me && <Popover.Description className="break-words text-soft">{descriptionOf(me, name)}</Popover.Description>}
            </div>
            <SignOut />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function SignOut() {
  const [leaving, setLeaving] = useState(false);
  return (
    <Button
      disabled={leaving}
      onClick={() => {
        setLeaving(true);
        void signOut().catch(() => setLeaving(false));
      }}
      className="h-9 justify-center"
    >
      <LogOut size={15} aria-hidden="true" />
      Sign out
    </Button>
  );
}

const words: Record<string, string> = { basic: 'with a password', 'self-hosted': 'with OpenID Connect', portal: 'with the portal' };

function descriptionOf({ email, org_id: org, provider }: { email: string; org_id: string; provider: string }, name: string): string {
  return [email !== name && email, org, `Signed in ${words[provider] ?? provider}`].filter(Boolean).join(' · ');
}

/** The portal tells an id and nothing else. */
const shortened = (id: string): string => (id.length > ID_SHOWN_CHARS ? `${id.slice(0, ID_SHOWN_CHARS)}…` : id);
