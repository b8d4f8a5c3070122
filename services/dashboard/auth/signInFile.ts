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
const Content = z.object({
  secret: z.string().min(32),
  ended: z.array(Ended).max(limits.signIn.endedMax),
  /** The process that took over last; files of older releases name none. */
  owner: z.string().optional(),
});
type Content = z.infer<typeof Content>;

export interface SignInFile {
  secret: string;
  /** `untilMs`: when the session would have ended by itself; after that it need not be remembered. */
  end(sid: string, untilMs: number): void;
  /** Here, or at the process beside this one in a handover. */
  hasEnded(sid: string): boolean;
  /** Another process has taken over. */
  isRelieved(): boolean;
}

/** Errors: DISK_FULL, HOME_UNUSABLE. A file that cannot be read is made anew: everyone signs in once more. */
export function openSignInFile(path: string): SignInFile {
  const me = hexId(16);
  const { secret, ended } = read(path) ?? { secret: hexId(64), ended: [] };
  let known = new Map(ended.map((entry) => [entry.sid, entry]));
  let owner: string | undefined = me;
  let seen = '';
  /** What a process beside this one has written meanwhile. */
  const look = () => {
    const now = stampOf(path);
    if (now === seen) return;
    const other = read(path);
    for (const entry of other?.ended ?? []) known.set(entry.sid, entry);
    owner = other?.owner;
    seen = now;
  };
  const save = () => {
    const nowMs = Date.now();
    const open = [...known].filter(([, { until }]) => until > nowMs).slice(-limits.signIn.endedMax);
    known = new Map(open);
    writeJsonAtomic(path, { secret, ended: open.map(([, entry]) => entry), ...(owner === undefined ? {} : { owner }) } satisfies Content);
    seen = stampOf(path);
  };
  save();
  return {
    secret,
    end(sid, untilMs) {
      look();
      known.set(sid, { sid, until: untilMs });
      save();
    },
    hasEnded(sid) {
      look();
      return known.has(sid);
    },
    isRelieved() {
      look();
      return owner !== me;
    },
  };
}

/** Which writing of the file stands there: the number of an inode alone comes back with the next file but one. */
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : '';
}

function read(path: string): Content | undefined {
  try {
    return Content.safeParse(readJson(path)).data;
  } catch {
    return undefined;
  }
}
