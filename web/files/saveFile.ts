/** Downloads a file: the token goes in a header, so the browser cannot follow a plain link. */
import { requestBytes } from '../api.ts';
import { saveFile as saveBytes } from '../chat/exportFile.ts';

/** Errors: as of `requestBytes`. */
export async function saveFile({ name, path }: { name: string; path: string }): Promise<void> {
  saveBytes(name, await requestBytes('GET /api/files/download', { query: { path } }), 'application/octet-stream');
}
