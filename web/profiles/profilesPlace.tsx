/** Separate agents on this machine: which there are, and the personality, skills, tools and memory of one. */
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { ProfileRow } from '../../ipc/contracts/http/profiles.ts';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { CreateDialog } from './createDialog.tsx';
import { MemoryTab } from './memoryTab.tsx';
import { ProfileHead } from './profileHead.tsx';
import { ProfileList } from './profileList.tsx';
import { SkillsTab } from './skillsTab.tsx';
import { SoulTab, type SoulDraft } from './soulTab.tsx';
import { ToolsetsTab } from './toolsetsTab.tsx';

/** Whether a profile's agent runs changes by itself. */
const LOOK_MS = 5_000;

export function ProfilesPlace() {
  const [chosen, setChosen] = useState(useProfile() ?? 'default');
  const [creating, setCreating] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['profiles'],
    queryFn: ({ signal }) => request('GET /api/profiles', { signal }),
    refetchInterval: LOOK_MS,
  });
  const shown = data?.profiles.find(({ name }) => name === chosen) ?? data?.profiles[0];
  return (
    <>
      <PlaceHeader title="Profiles">
        <Button icon={<Plus size={15} aria-hidden="true" />} onClick={() => setCreating(true)}>
          New profile
        </Button>
      </PlaceHeader>
      <PlaceBody wide>
        <p className="max-w-2xl text-sm text-soft">
          Each profile is an agent of its own: settings, secrets, personality, memory, skills, conversations and chat platforms. They share
          nothing but this machine.
        </p>
        {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
        {!data && !error && <Skeleton height={12} />}
        {data && shown && (
          <div className="grid content-start gap-6 lg:grid-cols-[17rem_minmax(0,1fr)]">
            <ProfileList profiles={data.profiles} chosen={shown.name} onChoose={setChosen} />
            <Detail key={shown.name} profile={shown} onRenamed={setChosen} />
          </div>
        )}
        {data && (
          <CreateDialog
            open={creating}
            profiles={data.profiles}
            onClose={() => setCreating(false)}
            onMade={(name) => {
              setCreating(false);
              setChosen(name);
            }}
          />
        )}
      </PlaceBody>
    </>
  );
}

function Detail({ profile, onRenamed }: { profile: ProfileRow; onRenamed: (name: string) => void }) {
  const [tab, setTab] = useState('personality');
  // Typed text outlives a look at another tab.
  const [soul, setSoul] = useState<SoulDraft | null>(null);
  const { name } = profile;
  return (
    <section aria-label={`Profile ${name}`} className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-5">
      <ProfileHead profile={profile} onRenamed={onRenamed} />
      <Tabs
        label={`Parts of ${name}`}
        value={tab}
        onChange={setTab}
        tabs={[
          { value: 'personality', label: 'Personality', panel: <SoulTab profile={name} draft={soul} onDraft={setSoul} /> },
          { value: 'skills', label: 'Skills', panel: <SkillsTab profile={name} /> },
          { value: 'toolsets', label: 'Tools', panel: <ToolsetsTab profile={name} /> },
          { value: 'memory', label: 'Memory', panel: <MemoryTab profile={name} /> },
        ]}
      />
    </section>
  );
}
