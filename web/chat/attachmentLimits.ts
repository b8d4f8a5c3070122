/** How much goes with one message: said before anything is sent. */
import { fileSize } from '../app/format.ts';

/** The service takes no more files with one prompt. */
export const FILES_MAX = 20;
/** All files of one message: as base64 they travel in one frame of 16 MiB, with room for the words. */
export const FILES_MAX_BYTES = 11_500_000;

export const FILES_TAKEN = `Pictures, PDF and text; ${FILES_MAX} files and ${fileSize(FILES_MAX_BYTES)} with one message.`;

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
