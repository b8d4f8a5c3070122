/** The profiles of this machine; one is chosen and shown beside. */
import type { ProfileRow } from '../../ipc/contracts/http/profiles.ts';
import { Badge } from '../ui/notice.tsx';

interface ListProps {
  profiles: readonly ProfileRow[];
  chosen: string;
  onChoose: (name: string) => void;
}

export function ProfileList({ profiles, chosen, onChoose }: ListProps) {
  return (
    <ul aria-label="Profiles" className="grid content-start gap-2">
      {profiles.map((profile) => (
        <li key={profile.name}>
          <button
            type="button"
            aria-current={profile.name === chosen ? 'true' : undefined}
            onClick={() => onChoose(profile.name)}
            className="grid w-full gap-1 rounded-xl border border-line bg-surface p-3 text-left transition-colors hover:bg-sunken aria-[current=true]:border-accent aria-[current=true]:bg-tint"
          >
            <span className="flex flex-wrap items-center gap-2">
              <span className="min-w-0 flex-1 font-medium break-all">{profile.name}</span>
              <Badge tone={profile.agent_running ? 'good' : 'neutral'}>{profile.agent_running ? 'Running' : 'At rest'}</Badge>
            </span>
            <span className="text-xs break-words text-soft">{profile.description || modelOf(profile)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

export const modelOf = ({ model, provider }: ProfileRow): string =>
  model === null ? 'the first model it finds' : provider === null ? model : `${model} (${provider})`;
