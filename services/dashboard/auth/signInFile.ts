/**
 * What the gate must still know after a restart, in a private file of run/: the secret that signs the
 * sessions (unless the operator gave one) and the sessions that were signed out before their time.
 */
import { statSync } from 'node:fs';
import { z } from 'zod';
import { hexId } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import { readJson, writeJsonAtomic } from '../../../state/atomicFile.ts';

const Ended = z.object({ sid: z.string(), until: z.number() });
const Content = z.object({ secret: z.string().min(32), ended: z.array(Ended).max(limits.signIn.endedMax) });
type Content = z.infer<typeof Content>;

export interface SignInFile {
  secret: string;
  /** `untilMs`: when the session would have ended by itself; after that it need not be remembered. */
  end(sid: string, untilMs: number): void;
  hasEnded(sid: string): boolean;
  /** Another process has taken over and written the file. */
  isRelieved(): boolean;
}

/** Errors: DISK_FULL, HOME_UNUSABLE. A file that cannot be read is made anew: everyone signs in once more. */
export function openSignInFile(path: string): SignInFile {
  let { secret, ended } = read(path) ?? { secret: hexId(64), ended: [] };
  let ino: number | undefined;
  const save = () => {
    const nowMs = Date.now();
    // What a process beside this one wrote in a handover is kept.
    const other = read(path)?.ended ?? [];
    const all = new Map([...other, ...ended].map((entry) => [entry.sid, entry]));
    ended = [...all.values()].filter(({ until }) => until > nowMs).slice(-limits.signIn.endedMax);
    writeJsonAtomic(path, { secret, ended });
    ino = inodeOf(path);
  };
  save();
  return {
    secret,
    end(sid, untilMs) {
      ended.push({ sid, until: untilMs });
      save();
    },
    hasEnded: (sid) => ended.some((entry) => entry.sid === sid),
    isRelieved: () => inodeOf(path) !== ino,
  };
}

const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;

function read(path: string): Content | undefined {
  try {
    return Content.safeParse(readJson(path)).data;
  } catch {
    return undefined;
  }
}
