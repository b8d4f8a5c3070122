/**
 * The uploads of this tab. They outlive the place that shows them: who looks elsewhere meanwhile comes back to how far
 * they are, and hears of one that fails.
 */
import { useEffect } from 'react';
import { useObservable } from '../app/context.ts';
import { sentence } from '../app/format.ts';
import { Observable } from '../observable.ts';
import { toast } from '../ui/toast.tsx';
import { upload, type Upload } from './uploads.ts';

export interface Item {
  id: number;
  file: File;
  folder: string;
  share: number;
  error: Error | null;
}

const items = new Observable<readonly Item[]>([]);
const running = new Map<number, Upload>();
const watchers = new Set<() => void>();
let lastId = 0;

/** `onDone`: a file has come, while the place is shown. */
export function useUploads(onDone: () => void): readonly Item[] {
  useEffect(() => {
    watchers.add(onDone);
    return () => void watchers.delete(onDone);
  }, [onDone]);
  return useObservable(items);
}

export function startUpload(file: File, folder: string): void {
  const item = { id: ++lastId, file, folder, share: 0, error: null };
  items.set([...items.get(), item]);
  send(item, false);
}

export function uploadAgain(item: Item, overwrite: boolean): void {
  change(item.id, { error: null, share: 0 });
  send(item, overwrite);
}

/** Cancels it, or takes a failed one off the list. */
export function dropUpload(id: number): void {
  running.get(id)?.cancel();
  ended(id);
  items.set(items.get().filter((item) => item.id !== id));
}

function send({ id, file, folder }: Item, overwrite: boolean): void {
  const sent = upload(file, folder, { overwrite, onProgress: (share) => change(id, { share }) });
  running.set(id, sent);
  addEventListener('beforeunload', askFirst);
  sent.promise.then(
    () => {
      dropUpload(id);
      toast(`${file.name} is here.`);
      for (const onDone of watchers) onDone();
    },
    (error: Error) => {
      ended(id);
      change(id, { error });
      const cancelled = items.get().every((item) => item.id !== id);
      if (!cancelled && watchers.size === 0) toast(`${file.name} was not taken: ${sentence(error.message)}. See Files.`);
    },
  );
}

function ended(id: number): void {
  running.delete(id);
  if (running.size === 0) removeEventListener('beforeunload', askFirst);
}

/** A reload would end what is under way. */
const askFirst = (event: BeforeUnloadEvent): void => event.preventDefault();

const change = (id: number, part: Partial<Item>): void =>
  items.set(items.get().map((item) => (item.id === id ? { ...item, ...part } : item)));
