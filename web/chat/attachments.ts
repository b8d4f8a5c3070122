/** Files that go with the next message: picked, dropped or pasted; their limits are said before anything is sent. */
import { useCallback, useState } from 'react';
import type { AttachmentInput } from '../../ipc/contracts/rpc.ts';
import { fileSize } from '../app/format.ts';

/** The service takes no more files with one prompt. */
export const FILES_MAX = 20;
/** All files of one message: as base64 they travel in one frame of 16 MiB, with room for the words. */
export const FILES_MAX_BYTES = 11_500_000;

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

export const FILES_TAKEN = `Pictures, PDF and text; ${FILES_MAX} files and ${fileSize(FILES_MAX_BYTES)} with one message.`;

export function useAttachments(): Attachments {
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const [refusal, setRefusal] = useState<string | null>(null);
  const add = useCallback(
    async (given: Iterable<File>) => {
      const { taken, refused } = fitting(files, [...given]);
      setRefusal(refused);
      const read = await Promise.all(taken.map(readFile));
      setFiles((now) => [...now, ...read]);
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

/** Those that fit beside the ones that are there, and a sentence about the rest. */
export function fitting<F extends { name: string; size: number }>(
  there: readonly { size: number }[],
  given: readonly F[],
): { taken: F[]; refused: string | null } {
  let left = FILES_MAX_BYTES - there.reduce((sum, { size }) => sum + size, 0);
  const taken: F[] = [];
  const refused: string[] = [];
  for (const file of given) {
    if (there.length + taken.length >= FILES_MAX) refused.push(`${file.name} is one too many: ${FILES_MAX} files go with one message.`);
    else if (file.size === 0) refused.push(`${file.name} is empty.`);
    else if (file.size > left)
      refused.push(
        `${file.name} (${fileSize(file.size)}) does not fit: ${fileSize(FILES_MAX_BYTES)} go with one message. Put it on the machine of the service and name its path instead.`,
      );
    else {
      taken.push(file);
      left -= file.size;
    }
  }
  return { taken, refused: refused[0] ?? null };
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
