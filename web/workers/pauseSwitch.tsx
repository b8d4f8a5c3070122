/** Holds automation and lets it go on, of all profiles or of one; with a reason and an end where somebody wants to give them. */
import { useState, type ReactNode } from 'react';
import { heldWords, type Held } from '../app/pauses.ts';
import { Button } from '../ui/button.tsx';
import { SelectField, TextField, Toggle } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';

export interface Pause {
  reason: string;
  /** Undefined = until somebody resumes. */
  ttl_seconds?: number;
}

interface PauseSwitchProps {
  pauses: readonly Held[];
  /** Those that this page may pause; without `default` in them it is the page of one profile alone. */
  profiles: readonly string[];
  /** The one that the page looks at. */
  here: string;
  busy: boolean;
  onPause: (profile: string, pause: Pause) => void;
  onResume: (profile: string) => void;
  children?: ReactNode;
}

const PLAIN: Pause = { reason: 'paused in the dashboard' };
const ends = [
  { value: '', label: 'until somebody resumes' },
  { value: '900', label: '15 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '14400', label: '4 hours' },
  { value: '86400', label: '1 day' },
];

/** One switch for all profiles, and one for each that is held, or looked at, by itself. */
export function PauseSwitch({ pauses, profiles, here, busy, onPause, onResume, children }: PauseSwitchProps) {
  const [asking, setAsking] = useState(false);
  const all = pauses.find(({ profile }) => profile === ALL);
  const own = profiles.filter((name) => name !== ALL && (name === here || pauses.some(({ profile }) => profile === name)));
  const free = profiles.filter((name) => !pauses.some(({ profile }) => profile === name));
  const flip = (name: string) => (on: boolean) => (on ? onPause(name, PLAIN) : onResume(name));
  return (
    <section aria-label="Automation" className="grid gap-3 rounded-xl border border-line bg-surface p-4">
      <PauseRow
        label="Pause automation"
        pause={all}
        runs={RUNS}
        disabled={busy || !profiles.includes(ALL)}
        hint={profiles.includes(ALL) ? '' : ' The page of the whole machine lifts it.'}
        onChange={flip(ALL)}
      />
      {own.map((name) => (
        <PauseRow
          key={name}
          label={`Pause ${name} alone`}
          pause={pauses.find(({ profile }) => profile === name)}
          runs={all ? 'The pause of all profiles holds it.' : 'Its scheduled jobs, webhooks and chat platforms run.'}
          disabled={busy}
          onChange={flip(name)}
        />
      ))}
      {free.length > 0 && (
        <Button weight="quiet" className="-ml-3 justify-self-start" disabled={busy} onClick={() => setAsking(true)}>
          With a reason…
        </Button>
      )}
      {children}
      {asking && (
        <PauseDialog
          profiles={free}
          here={here}
          onClose={() => setAsking(false)}
          onPause={(name, pause) => {
            setAsking(false);
            onPause(name, pause);
          }}
        />
      )}
    </section>
  );
}

/** Its pause holds every profile. */
const ALL = 'default';
const RUNS = 'Scheduled jobs, fire webhooks and chat platforms run. Pausing holds what is new, in every profile; running work finishes.';

interface PauseRowProps {
  label: string;
  pause: Held | undefined;
  /** What is said while it is not paused. */
  runs: string;
  /** Said behind the words of a pause. */
  hint?: string;
  disabled: boolean;
  onChange: (on: boolean) => void;
}

function PauseRow({ label, pause, runs, hint = '', disabled, onChange }: PauseRowProps) {
  return (
    <label className="flex min-w-0 items-center gap-4">
      <span className="min-w-0 flex-1">
        <span className="block font-medium break-words">{label}</span>
        <span className="block text-sm break-words text-soft">{pause ? heldWords(pause) + hint : runs}</span>
      </span>
      <Toggle checked={pause !== undefined} disabled={disabled} onChange={onChange} />
    </label>
  );
}

interface PauseDialogProps {
  profiles: readonly string[];
  here: string;
  onClose: () => void;
  onPause: (profile: string, pause: Pause) => void;
}

function PauseDialog({ profiles, here, onClose, onPause }: PauseDialogProps) {
  const [name, setName] = useState(profiles.includes(here) ? here : profiles[0]!);
  const [reason, setReason] = useState('');
  const [seconds, setSeconds] = useState('');
  const go = () => onPause(name, { reason: reason.trim() || PLAIN.reason, ...(seconds === '' ? {} : { ttl_seconds: Number(seconds) }) });
  return (
    <FormDialog onClose={onClose} title="Pause automation" verb="Pause" onSubmit={go}>
      {profiles.length > 1 && (
        <SelectField
          label="Whose"
          choices={profiles.map((value) => ({ value, label: value === ALL ? 'all profiles' : `${value} alone` }))}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      )}
      <TextField
        label="Reason"
        hint="Shown wherever the pause shows."
        maxLength={500}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <SelectField label="For" choices={ends} value={seconds} onChange={(event) => setSeconds(event.target.value)} />
    </FormDialog>
  );
}
