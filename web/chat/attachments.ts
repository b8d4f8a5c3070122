/** Files that go with the next message: picked, dropped or pasted; their limits are said before anything is sent. */
import { useCallback, useState } from 'react';
import type { AttachmentInput } from '../../ipc/contracts/rpc.ts';
import { fitting } from './attachmentLimits.ts';

export interface AttachedFile {
  id: number;
  name: string;
  size: number;
  /** For the preview of a picture; null for other files. */
  preview: string | null;
  base64: string;
}

export interface Attachments {
  files: readonly AttachedFile[];
  /** Why something was not taken. */
  refusal: string | null;
  add(files: Iterable<File>): void;
  remove(id: number): void;
  clear(): void;
  /** Puts back what was cleared: the message was not taken. */
  restore(files: readonly AttachedFile[]): void;
}

export function useAttachments(): Attachments {
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const [refusal, setRefusal] = useState<string | null>(null);
  const add = useCallback(
    async (given: Iterable<File>) => {
      const { taken, refused } = fitting(files, [...given]);
      setRefusal(refused);
      const read = await Promise.all(taken.map(readFile));
      // Others may have come while these were read.
      setFiles((now) => [...now, ...fitting(now, read).taken]);
    },
    [files],
  );
  return {
    files,
    refusal,
    add: (given) => void add(given).catch((thrown: unknown) => setRefusal(`A file could not be read: ${String(thrown)}`)),
    remove(id) {
      setRefusal(null);
      setFiles((now) => now.filter((file) => file.id !== id));
    },
    clear() {
      setRefusal(null);
      setFiles([]);
    },
    restore: setFiles,
  };
}

let lastId = 0;

function readFile(file: File): Promise<AttachedFile> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const address = reader.result as string;
      const isImage = /^image\/(?:png|jpeg|gif|webp)$/.test(file.type);
      lastId += 1;
      const base64 = address.slice(address.indexOf(',') + 1);
      resolve({ id: lastId, name: file.name || 'pasted', size: file.size, preview: isImage ? address : null, base64 });
    };
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} could not be read`));
    reader.readAsDataURL(file);
  });
}

export const inputsOf = (files: readonly AttachedFile[]): AttachmentInput[] =>
  files.map(({ name, base64 }) => ({ name, data_base64: base64 }));
