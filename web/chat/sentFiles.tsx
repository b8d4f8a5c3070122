/** Files of a message that was sent: pictures as such, in a place that is kept for them; everything else as a card to save. */
import { useQuery } from '@tanstack/react-query';
import { Download, FileText, ImageOff, Image as ImageIcon, LoaderCircle } from 'lucide-react';
import { useEffect, useState } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { requestBytes } from '../api.ts';
import { fileSize } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { saveFile } from './exportFile.ts';

/** Read by itself; a larger picture when it is asked for. */
const UNASKED_MAX_BYTES = 5_000_000;
/** Bytes of a picture that left the screen: a reader who scrolls back and forth has them at once. */
const KEPT_MS = 60_000;
/** What the dashboard lets a browser show. The type is of the bytes, not of the record. */
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;

/** Whatever it is, a browser is to save it, not to open it. */
const SAVED = 'application/octet-stream';

interface FileProps {
  sessionId: string;
  file: Attachment;
}

interface SentProps {
  sessionId: string;
  files: readonly Attachment[];
  /** Above everything: a row that leaves the screen must not take an open picture with it. */
  onOpen: (file: Attachment) => void;
}

export function SentFiles({ sessionId, files, onOpen }: SentProps) {
  return (
    <ul aria-label="Attached files" className="flex flex-wrap gap-2">
      {files.map((file, index) => (
        <li key={index} className="max-w-full min-w-0">
          {file.kind === 'image' ? (
            <Thumbnail {...{ sessionId, file }} onOpen={() => onOpen(file)} />
          ) : (
            <FileCard {...{ sessionId, file }} />
          )}
        </li>
      ))}
    </ul>
  );
}

/** Always as large as its frame: before the picture is there, and when there is none. */
function Thumbnail({ sessionId, file, onOpen }: FileProps & { onOpen: () => void }) {
  const asked = file.size <= UNASKED_MAX_BYTES;
  const { address, failed, onBroken } = usePicture({ sessionId, file }, asked);
  const { name, size } = file;
  return (
    <button
      type="button"
      title={name}
      onClick={onOpen}
      className="flex size-32 items-center justify-center overflow-hidden rounded-lg border border-line bg-surface transition-colors hover:border-accent"
      data-picture={failed ? 'failed' : address ? 'shown' : 'waiting'}
    >
      <span className="sr-only">Open </span>
      {address ? (
        <img src={address} alt={`${name}, ${fileSize(size)}`} className="size-full object-cover" onError={onBroken} />
      ) : (
        <span className={`grid max-w-full justify-items-center gap-1 px-2 text-xs text-soft ${asked && !failed ? 'animate-breathe' : ''}`}>
          {failed ? <ImageOff size={22} /> : <ImageIcon size={22} />}
          <span className="max-w-full truncate">{visibleText(name)}</span> <span>{fileSize(size)}</span>
        </span>
      )}
    </button>
  );
}

interface PictureDialogProps {
  sessionId: string;
  /** Null = it is closed. */
  file: Attachment | null;
  onClose: () => void;
}

/** Stays where it is when it is closed: only so the focus goes back to where it came from. */
export function PictureDialog({ sessionId, file, onClose }: PictureDialogProps) {
  const [last, setLast] = useState(file);
  if (file && file !== last) setLast(file);
  return (
    <Dialog
      open={file !== null}
      wide
      onClose={onClose}
      title={last?.name ?? ''}
      actions={last && <SavePicture {...{ sessionId, file: last }} />}
    >
      {last && <LargePicture {...{ sessionId, file: last }} />}
    </Dialog>
  );
}

function LargePicture({ sessionId, file }: FileProps) {
  const { address, error, failed, onBroken } = usePicture({ sessionId, file }, true);
  return (
    <>
      {address ? (
        <img src={address} alt={file.name} className="mx-auto max-h-[70dvh] max-w-full rounded-lg object-contain" onError={onBroken} />
      ) : error ? (
        <Problem thrown={error} />
      ) : failed ? (
        <p className="text-sm text-soft">It cannot be shown as a picture. It can be saved.</p>
      ) : (
        <p role="status" className="flex items-center gap-2 text-sm text-soft">
          <LoaderCircle size={16} className="animate-turn" /> Reading the picture
        </p>
      )}
      <p className="text-xs text-faint">
        {file.media_type}, {fileSize(file.size)}
      </p>
    </>
  );
}

function SavePicture({ sessionId, file }: FileProps) {
  const { blob } = usePicture({ sessionId, file }, true);
  return (
    <Button icon={<Download size={15} />} disabled={!blob} onClick={() => blob && saveFile(file.name, blob, SAVED)}>
      Save
    </Button>
  );
}

function FileCard({ sessionId, file }: FileProps) {
  const profile = useProfile();
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      saveFile(file.name, await bytesOf({ sessionId, file }, profile), SAVED);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };
  return (
    <div className="grid gap-2">
      <button
        type="button"
        onClick={() => void save()}
        disabled={busy}
        className="flex h-10 max-w-full items-center gap-2 rounded-lg border border-line bg-surface px-3 text-sm transition-colors hover:border-accent"
      >
        <FileText size={15} className="shrink-0 text-soft" />
        <span className="sr-only">Save </span>
        <span className="truncate">{visibleText(file.name)}</span>{' '}
        <span className="shrink-0 text-xs text-faint">{fileSize(file.size)}</span>
        {busy ? (
          <LoaderCircle size={14} className="shrink-0 animate-turn text-soft" />
        ) : (
          <Download size={14} className="shrink-0 text-soft" />
        )}
      </button>
      {error && <Problem thrown={error} />}
    </div>
  );
}

interface Shown {
  /** Null as long as there is nothing to show. */
  address: string | null;
  blob: Blob | undefined;
  error: Error | null;
  /** It did not come, or is no picture. */
  failed: boolean;
  onBroken: () => void;
}

/** `wanted`: false as long as nobody asked for a large one. */
function usePicture({ sessionId, file }: FileProps, wanted: boolean): Shown {
  const profile = useProfile();
  const { data: blob, error } = useQuery({
    queryKey: ['attachment', profile, sessionId, idOf(file)],
    queryFn: ({ signal }) => bytesOf({ sessionId, file }, profile, signal),
    enabled: wanted,
    staleTime: Infinity,
    gcTime: KEPT_MS,
  });
  const [address, setAddress] = useState<string | null>(null);
  const [broken, setBroken] = useState<Blob | null>(null);
  const isPicture = blob !== undefined && blob !== broken && PICTURE.test(blob.type);
  useEffect(() => {
    if (!isPicture) return;
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => {
      setAddress(null);
      URL.revokeObjectURL(made);
    };
  }, [blob, isPicture]);
  const failed = error !== null || (blob !== undefined && !isPicture);
  return { address, blob, error, failed, onBroken: () => setBroken(blob ?? null) };
}

/** A copy is named by its content. */
const idOf = ({ path }: Attachment): string => path.slice(path.lastIndexOf('/') + 1);

const bytesOf = ({ sessionId, file }: FileProps, profile: string | undefined, signal?: AbortSignal): Promise<Blob> =>
  requestBytes('GET /api/sessions/:id/attachments/:attachment', {
    params: { id: sessionId, attachment: idOf(file) },
    query: { profile },
    signal,
  });
