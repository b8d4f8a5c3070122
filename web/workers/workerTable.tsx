/** The table of workers. Columns keep their width, so live figures do not make it dance. */
import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Play, RotateCw, Square } from 'lucide-react';
import { useState } from 'react';
import type { WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { age, duration, megabytes } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Badge, WithCode, type Tone } from '../ui/notice.tsx';
import { Trend } from './trend.tsx';

export type Action = 'restart' | 'start' | 'stop';

interface WorkerTableProps {
  workers: readonly WorkerStatus[];
  /** The command that runs. */
  busy: { slot: string; action: Action } | null;
  /** Shows all about it. */
  onOpen: (slot: string) => void;
  onCommand: (slot: string, action: Action) => void;
}

const looks: Record<WorkerStatus['state'], { tone: Tone; busy?: boolean }> = {
  ready: { tone: 'good' },
  starting: { tone: 'neutral', busy: true },
  draining: { tone: 'neutral', busy: true },
  backoff: { tone: 'warn', busy: true },
  parked: { tone: 'bad' },
  down: { tone: 'neutral' },
};

/** What each one does, for those who do not know the names. */
const duties: Record<string, string> = {
  agent: 'Conversations and tools',
  dashboard: 'This page and its API',
  gateway: 'Chat platforms',
  cron: 'Scheduled jobs',
  mcp: 'Tool servers',
  terminal: 'Terminals of this page',
};

const progress: Record<Action, string> = {
  restart: 'Draining, then starting anew…',
  start: 'Starting…',
  stop: 'Draining, then stopping…',
};

/** What its signs of life say, in words. */
const signs: Record<Exclude<NonNullable<WorkerStatus['liveness']>, 'ok'>, string> = {
  suspect: 'It has been silent for a while.',
  blocked: 'Its main loop stands still.',
  stopped: 'It is stopped (SIGSTOP, or a debugger).',
  livelocked: 'It is busy and gets nowhere.',
  silent: 'It gives no sign of life.',
  exhausted: 'It has no free file descriptor and refuses connections.',
};

export function WorkerTable({ workers, busy, onCommand, onOpen }: WorkerTableProps) {
  const [stopping, setStopping] = useState<string | null>(null);
  return (
    <>
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        <table className="w-full table-fixed text-left text-sm">
          <thead className="border-b border-line text-xs text-faint">
            <tr>
              <th className="py-2.5 pl-4 font-medium">Worker</th>
              <th className="w-28 font-medium">State</th>
              <th className="w-24 font-medium max-lg:hidden">For</th>
              <th className="w-20 font-medium max-md:hidden">Restarts</th>
              <th className="w-24 font-medium max-lg:hidden">Memory</th>
              <th className="w-24 font-medium max-lg:hidden">CPU</th>
              <th className="w-28 pr-3 max-sm:w-24">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <WorkerRow
                key={worker.slot}
                worker={worker}
                busy={busy?.slot === worker.slot ? busy.action : null}
                onCommand={onCommand}
                onOpen={onOpen}
                onStop={() => setStopping(worker.slot)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <StopDialog
        slot={stopping}
        onClose={() => setStopping(null)}
        onStop={(slot) => {
          setStopping(null);
          onCommand(slot, 'stop');
        }}
      />
    </>
  );
}

interface RowProps {
  worker: WorkerStatus;
  /** The command that runs on it. */
  busy: Action | null;
  onCommand: (slot: string, action: Action) => void;
  onOpen: (slot: string) => void;
  onStop: () => void;
}

function WorkerRow({ worker, busy, onCommand, onOpen, onStop }: RowProps) {
  const { slot, state, desired, since, restarts, rss_bytes, cpu_percent, reason, next_start_at, last_exit, pid, liveness } = worker;
  const { tone, busy: moving = false } = looks[state];
  const running = state === 'ready' || state === 'starting' || state === 'draining';
  return (
    <tr data-slot={slot} data-state={state} className="border-b border-line align-top last:border-0">
      <td className="py-3 pr-3 pl-4">
        <button
          type="button"
          title={pid === null ? undefined : `process ${pid}`}
          aria-label={`${slot}: details`}
          onClick={() => onOpen(slot)}
          className="rounded font-medium underline decoration-edge underline-offset-4 hover:decoration-current"
        >
          {slot}
        </button>
        <p className="text-faint">{duties[slot.split('@')[0]!] ?? 'Your own program'}</p>
        {reason && (
          <p className="mt-1 text-warn">
            <WithCode text={reason} />
          </p>
        )}
        {liveness !== null && liveness !== 'ok' && <p className="mt-1 text-warn">{signs[liveness]}</p>}
        {busy && (
          <p className="mt-1 text-soft" role="status">
            {progress[busy]}
          </p>
        )}
        {next_start_at && <p className="mt-1 text-soft">Next try {inWords(next_start_at)}.</p>}
        {last_exit && (
          <p className="mt-1 text-soft">
            <WithCode text={last_exit.summary} />{' '}
            <span className="text-faint">({age(last_exit.at) === 'now' ? 'just now' : `${age(last_exit.at)} ago`})</span>
          </p>
        )}
      </td>
      <td className="py-3">
        <Badge tone={tone} busy={moving}>
          {state === 'down' && desired === 'demand' ? 'on demand' : state}
        </Badge>
      </td>
      <td className="py-3 tabular-nums max-lg:hidden">{running ? age(since).replace('now', 'a moment') : '–'}</td>
      <td className="py-3 tabular-nums max-md:hidden">{restarts}</td>
      <td className="py-3 tabular-nums max-lg:hidden">
        {rss_bytes === null ? '–' : megabytes(rss_bytes)}
        {running && <Trend slot={slot} what="memory" />}
      </td>
      <td className="py-3 tabular-nums max-lg:hidden">
        {cpu_percent === null ? '–' : `${cpu_percent.toFixed(1)} %`}
        {running && <Trend slot={slot} what="CPU" />}
      </td>
      <td className="py-2 pr-3">
        <span className="flex justify-end gap-1">
          {running ? (
            <IconButton label={`Restart ${slot}`} disabled={busy !== null} onClick={() => onCommand(slot, 'restart')}>
              <RotateCw size={16} className={busy ? 'animate-turn' : ''} />
            </IconButton>
          ) : (
            <IconButton label={`Start ${slot}`} disabled={busy !== null} onClick={() => onCommand(slot, 'start')}>
              <Play size={16} />
            </IconButton>
          )}
          <IconButton label={`Stop ${slot}`} disabled={busy !== null || !running || slot === 'dashboard'} onClick={onStop}>
            <Square size={15} />
          </IconButton>
        </span>
      </td>
    </tr>
  );
}

function StopDialog({ slot, onClose, onStop }: { slot: string | null; onClose: () => void; onStop: (slot: string) => void }) {
  return (
    <AlertDialog.Root open={slot !== null} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 z-10 bg-[rgb(20_18_15/0.45)]" />
        <AlertDialog.Popup className="fixed top-1/2 left-1/2 z-20 grid w-[min(26rem,92vw)] -translate-x-1/2 -translate-y-1/2 gap-4 rounded-2xl border border-line bg-surface p-6 shadow-raised">
          <AlertDialog.Title className="text-lg font-semibold">Stop {slot}?</AlertDialog.Title>
          <AlertDialog.Description className="text-soft">
            It finishes what it does, then stays down until it is started again.
          </AlertDialog.Description>
          <span className="flex justify-end gap-2">
            <AlertDialog.Close className="h-8 rounded-lg px-3 text-sm font-medium text-soft hover:bg-sunken">
              Keep it running
            </AlertDialog.Close>
            <Button weight="strong" onClick={() => slot && onStop(slot)}>
              Stop it
            </Button>
          </span>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

function inWords(at: string): string {
  const ms = Date.parse(at) - Date.now();
  return ms <= 1_000 ? 'now' : `in ${duration(ms)}`;
}
