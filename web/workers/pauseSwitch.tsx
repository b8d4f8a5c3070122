/** Holds automation and lets it go on; with a reason and an end where somebody wants to give them. */
import { useState, type ReactNode } from 'react';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { age, duration } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField, Toggle } from '../ui/field.tsx';

export interface Pause {
  reason: string;
  /** Undefined = until somebody resumes. */
  ttl_seconds?: number;
}

interface PauseSwitchProps {
  paused: Status['paused'];
  busy: boolean;
  onPause: (pause: Pause) => void;
  onResume: () => void;
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

export function PauseSwitch({ paused, busy, onPause, onResume, children }: PauseSwitchProps) {
  const [asking, setAsking] = useState(false);
  return (
    <section aria-label="Automation" className="grid gap-3 rounded-xl border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <label className="flex min-w-0 flex-1 basis-72 items-center gap-4">
          <span className="min-w-0 flex-1">
            <span className="block font-medium">Pause automation</span>
            <span className="block text-sm text-soft">{paused ? heldWords(paused) : RUNS}</span>
          </span>
          <Toggle checked={paused !== null} disabled={busy} onChange={(on) => (on ? onPause(PLAIN) : onResume())} />
        </label>
        {!paused && (
          <Button weight="quiet" disabled={busy} onClick={() => setAsking(true)}>
            With a reason…
          </Button>
        )}
      </div>
      {children}
      <PauseDialog
        open={asking}
        onClose={() => setAsking(false)}
        onPause={(pause) => {
          setAsking(false);
          onPause(pause);
        }}
      />
    </section>
  );
}

const RUNS = 'Scheduled jobs, fire webhooks and chat platforms run. Pausing holds what is new, in every profile; running work finishes.';

function heldWords({ engaged_at, expires_at, reason }: NonNullable<Status['paused']>): string {
  const since = engaged_at ? ` for ${age(engaged_at).replace('now', 'a moment')}` : '';
  const left = expires_at === null ? 0 : Date.parse(expires_at) - Date.now();
  const until = left > 0 ? ` It goes on by itself in ${duration(left)}.` : '';
  return `Held${since}${reason ? `: ${reason}` : ''}. Running work finishes; nothing new starts by itself.${until}`;
}

function PauseDialog({ open, onClose, onPause }: { open: boolean; onClose: () => void; onPause: (pause: Pause) => void }) {
  const [reason, setReason] = useState('');
  const [seconds, setSeconds] = useState('');
  const go = () => onPause({ reason: reason.trim() || PLAIN.reason, ...(seconds === '' ? {} : { ttl_seconds: Number(seconds) }) });
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Pause automation"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button weight="strong" onClick={go}>
            Pause
          </Button>
        </>
      }
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          go();
        }}
      >
        <TextField
          label="Reason"
          hint="Shown wherever the pause shows."
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <SelectField label="For" choices={ends} value={seconds} onChange={(event) => setSeconds(event.target.value)} />
      </form>
    </Dialog>
  );
}
