/** Uploads under way: how far each is, what went wrong, and the question whether to replace. */
import { X } from 'lucide-react';
import { useRef, useState } from 'react';
import { ApiError } from '../api.ts';
import { sentence } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { toast } from '../ui/toast.tsx';
import { upload, type Upload } from './uploads.ts';

interface Item {
  id: number;
  file: File;
  folder: string;
  share: number;
  error: Error | null;
}

export interface UploadsState {
  items: readonly Item[];
  start: (file: File, folder: string) => void;
  again: (item: Item, overwrite: boolean) => void;
  drop: (id: number) => void;
}

let lastId = 0;

export function useUploads(onDone: () => void): UploadsState {
  const [items, setItems] = useState<readonly Item[]>([]);
  const running = useRef(new Map<number, Upload>());
  const change = (id: number, part: Partial<Item>) => setItems((all) => all.map((item) => (item.id === id ? { ...item, ...part } : item)));
  const drop = (id: number) => {
    running.current.get(id)?.cancel();
    running.current.delete(id);
    setItems((all) => all.filter((item) => item.id !== id));
  };
  const send = ({ id, file, folder }: Pick<Item, 'id' | 'file' | 'folder'>, overwrite: boolean) => {
    const sent = upload(file, folder, { overwrite, onProgress: (share) => change(id, { share }) });
    running.current.set(id, sent);
    sent.promise.then(
      () => {
        drop(id);
        toast(`${file.name} is here.`);
        onDone();
      },
      (error: Error) => change(id, { error }),
    );
  };
  return {
    items,
    start(file, folder) {
      const item = { id: ++lastId, file, folder, share: 0, error: null };
      setItems((all) => [...all, item]);
      send(item, false);
    },
    again(item, overwrite) {
      change(item.id, { error: null, share: 0 });
      send(item, overwrite);
    },
    drop,
  };
}

export function Uploads({ uploads: { items, again, drop } }: { uploads: UploadsState }) {
  if (items.length === 0) return null;
  return (
    <ul aria-label="Uploads" className="grid gap-2">
      {items.map((item) => (
        <li
          key={item.id}
          className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl border border-line bg-surface px-4 py-2 text-sm"
        >
          <span className="min-w-0 flex-1 basis-40 break-all">{item.file.name}</span>
          {item.error ? (
            <Failure item={item} again={again} />
          ) : (
            <>
              <progress value={item.share} max={1} aria-label={`Upload of ${item.file.name}`} className="h-2 w-40 accent-accent" />
              <span className="w-11 text-right text-soft tabular-nums">{Math.floor(item.share * 100)} %</span>
            </>
          )}
          <IconButton label={`${item.error ? 'Dismiss' : 'Cancel'} ${item.file.name}`} onClick={() => drop(item.id)}>
            <X size={15} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function Failure({ item, again }: { item: Item; again: UploadsState['again'] }) {
  const taken = item.error instanceof ApiError && item.error.code === 'FILE_EXISTS';
  const fix = item.error instanceof ApiError && !taken ? item.error.fix : undefined;
  return (
    <>
      <span role="alert" className="text-bad">
        {sentence(item.error!.message)}.{fix ? ` ${sentence(fix)}.` : ''}
      </span>
      <Button onClick={() => again(item, taken)}>{taken ? 'Replace it' : 'Try again'}</Button>
    </>
  );
}
