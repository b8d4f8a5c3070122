/** Who runs this process, from the system and not from HOME; also where the user has no entry, as in many pods. */
import { homedir, userInfo } from 'node:os';
import type { ServiceUser } from '../state/servicePlan.ts';

export function currentUser(): ServiceUser {
  try {
    const { username: name, uid, gid, homedir: home } = userInfo();
    return { name, uid, gid, home };
  } catch {
    const uid = process.getuid?.() ?? 0;
    return { name: String(uid), uid, gid: process.getgid?.() ?? 0, home: homeOrRoot() };
  }
}

/** Without HOME and without an entry nobody has one. */
function homeOrRoot(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}
