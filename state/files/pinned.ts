/** A folder held open from the moment it was checked: a link put in its place meanwhile does not lead a change elsewhere. */
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { visibleText } from '../../base/visibleText.ts';
import { fileError, type FilePlaces } from './places.ts';

export interface PinnedFolder extends AsyncDisposable {
  /** On Linux through the open folder itself, not through its name. */
  path: string;
  /** Of an entry in it. */
  at(name: string): string;
}

/** `folder`: a real path, as `FilePlaces` answers it. Errors: PATH_REFUSED, NOT_FOUND, FILE_FAILED. */
export async function pinFolder(places: Pick<FilePlaces, 'allows'>, folder: string): Promise<PinnedFolder> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'ENOTDIR') throw fileError(folder, thrown);
    throw new AgentError('FILE_FAILED', `${visibleText(basename(folder))} is not a folder`, { cause: thrown, fix: 'name a folder' });
  });
  const path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : folder;
  const opened = await realpath(path).catch(() => undefined);
  if (opened === undefined || !places.allows(opened)) {
    await handle.close();
    throw new AgentError('PATH_REFUSED', `${visibleText(basename(folder))} leads out of the root of the files`);
  }
  return { path, at: (name) => join(path, name), [Symbol.asyncDispose]: () => handle.close() };
}
