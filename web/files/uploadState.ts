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
  /** In place of one that has the name. */
  overwrite: boolean;
  share: number;
  error: Error | null;
}

/** A browser opens six connections to one address: the page needs some for itself. The others wait for their turn. */
const AT_ONCE = 3;

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
  items.set([...items.get(), { id: ++lastId, file, folder, overwrite: false, share: 0, error: null }]);
  sendNext();
}

export function uploadAgain(item: Item, overwrite: boolean): void {
  change(item.id, { overwrite, error: null, share: 0 });
  sendNext();
}

/** Cancels it, or takes a failed one off the list. */
export function dropUpload(id: number): void {
  items.set(items.get().filter((item) => item.id !== id));
  running.get(id)?.cancel();
  ended(id);
}

function sendNext(): void {
  for (const item of items.get()) {
    if (running.size >= AT_ONCE) return;
    if (item.error === null && !running.has(item.id)) send(item);
  }
}

function send({ id, file, folder, overwrite }: Item): void {
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
      change(id, { error });
      ended(id);
      const cancelled = items.get().every((item) => item.id !== id);
      if (!cancelled && watchers.size === 0) toast(`${file.name} was not taken: ${sentence(error.message)}. See Files.`);
    },
  );
}

function ended(id: number): void {
  running.delete(id);
  sendNext();
  if (running.size === 0) removeEventListener('beforeunload', askFirst);
}

/** A reload would end what is under way. */
const askFirst = (event: BeforeUnloadEvent): void => event.preventDefault();

const change = (id: number, part: Partial<Item>): void =>
  items.set(items.get().map((item) => (item.id === id ? { ...item, ...part } : item)));
