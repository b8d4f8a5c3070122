/** Downloads a file: the token goes in a header, so the browser cannot follow a plain link. */
import { ApiError, proof } from '../api.ts';

/** Errors: ApiError. */
export async function saveFile({ name, path }: { name: string; path: string }): Promise<void> {
  const answer = await fetch(`/api/files/download?${new URLSearchParams({ path })}`, {
    cache: 'no-store',
    credentials: 'include',
    headers: proof(),
  });
  if (!answer.ok) throw new ApiError(answer.status, (await answer.json().catch(() => ({}))) as object);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to save by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
