/** Sending a file with its progress: fetch tells nothing while it sends, so this is an XMLHttpRequest. */
import { ApiError, proof } from '../api.ts';

export interface Upload {
  promise: Promise<void>;
  cancel(): void;
}

/** `onProgress`: share of the bytes that are sent, 0 to 1. Errors: ApiError; TypeError when the dashboard is away. */
export function upload(
  file: File,
  folder: string,
  { overwrite, onProgress }: { overwrite: boolean; onProgress: (share: number) => void },
): Upload {
  const sent = new XMLHttpRequest();
  const promise = new Promise<void>((resolve, reject) => {
    sent.upload.onprogress = ({ loaded, total, lengthComputable }) => lengthComputable && onProgress(loaded / total);
    sent.onload = () => {
      if (sent.status >= 200 && sent.status < 300) resolve();
      else reject(new ApiError(sent.status, problemOf(sent.responseText)));
    };
    sent.onerror = () => reject(new TypeError('the dashboard cannot be reached'));
    sent.onabort = () => reject(new ApiError(0, { code: 'CANCELLED', detail: 'the upload was cancelled' }));
  });
  const form = new FormData();
  // Fields first: the file is read as it comes.
  form.set('path', folder);
  form.set('overwrite', String(overwrite));
  form.set('file', file, file.name);
  sent.open('POST', '/api/files/upload-stream');
  for (const [name, value] of Object.entries(proof())) sent.setRequestHeader(name, value);
  sent.send(form);
  return { promise, cancel: () => sent.abort() };
}

function problemOf(text: string): { code?: string; detail?: string; fix?: string } {
  try {
    return JSON.parse(text) as { code?: string; detail?: string; fix?: string };
  } catch {
    return {};
  }
}
