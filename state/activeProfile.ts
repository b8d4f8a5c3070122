/** The profile that `agent` works on when no `-p` is given: one name in a file of the root home (`agent profile use`). */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { writeFileAtomic } from './atomicFile.ts';
import { DEFAULT_PROFILE, PROFILE_NAME, requireProfile, type Home } from './home.ts';

const pathOf = (home: Home): string => join(home.root, 'active_profile');

/** `default` unless the file names a profile that exists: one that went away must not lock anybody out. */
export function activeProfile(home: Home): string {
  let name: string;
  try {
    name = readRegularText(pathOf(home)).trim();
  } catch {
    return DEFAULT_PROFILE;
  }
  return PROFILE_NAME.test(name) && existsSync(home.profile(name).soul) ? name : DEFAULT_PROFILE;
}

/** Errors: UNKNOWN_PROFILE, DISK_FULL, HOME_UNUSABLE. */
export function useProfile(home: Home, name: string): void {
  requireProfile(home, name);
  if (name === DEFAULT_PROFILE) rmSync(pathOf(home), { force: true });
  else writeFileAtomic(pathOf(home), `${name}\n`);
}
