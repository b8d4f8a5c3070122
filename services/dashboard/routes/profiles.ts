/** Profiles: the same functions of state/profiles.ts as `agent profile`. */
import * as contract from '../../../ipc/contracts/http/profiles.ts';
import { activeProfile, useProfile } from '../../../state/activeProfile.ts';
import { versionOf } from '../../../state/config/change.ts';
import { DEFAULT_PROFILE, requireProfile, type ProfilePaths } from '../../../state/home.ts';
import {
  createProfile,
  deleteProfile,
  profileRow,
  profileRows,
  readSoul,
  renameProfile,
  setProfileModel,
  writeDescription,
  writeSoul,
} from '../../../state/profiles.ts';
import { existsSync } from 'node:fs';
import type { Dashboard } from '../http.ts';
import { pinnedProfile, withinPinned } from '../pinned.ts';
import { on, type HttpHandler } from '../route.ts';

export function profileRoutes({ context }: Dashboard): HttpHandler[] {
  const { home, log } = context;
  const pinned = pinnedProfile(context);
  /** Errors: UNKNOWN_PROFILE. */
  const within = (name: string): string => withinPinned(pinned, name)!;
  const active = () => ({ active: activeProfile(home), current: pinned ?? DEFAULT_PROFILE });
  return [
    on(contract.listProfilesRoute, () => ({ profiles: profileRows(home).filter(({ name }) => pinned === null || name === pinned) })),
    on(contract.createProfileRoute, async ({ body, request }) => {
      within(body.name);
      const { name, description, clone_from, clone_from_default, clone_all, no_skills, model, provider } = body;
      const made = await createProfile(home, {
        name,
        description,
        cloneFrom: clone_from ?? (clone_from_default || clone_all ? DEFAULT_PROFILE : undefined),
        cloneAll: clone_all,
        noSkills: no_skills,
        model,
        provider,
      });
      log.info(`the profile ${name} was made`, { from: request.ip });
      return made;
    }),
    on(contract.renameProfileRoute, async ({ params: { name }, body: { new_name }, request }) => {
      const renamed = await renameProfile(home, within(name), within(new_name));
      log.info(`the profile ${name} is now ${new_name}`, { from: request.ip });
      return renamed;
    }),
    on(contract.deleteProfileRoute, async ({ params: { name }, request }) => {
      const { backup } = await deleteProfile(home, within(name));
      log.info(`the profile ${name} was deleted`, { backup, from: request.ip });
      return { ok: true as const, backup };
    }),
    on(contract.getActiveProfile, active),
    on(contract.setActiveProfile, ({ body: { name } }) => {
      useProfile(home, within(name));
      return active();
    }),
    on(contract.setProfileDescription, ({ params: { name }, body: { description } }) => {
      writeDescription(requireProfile(home, within(name)), description);
      return profileRow(home, name);
    }),
    on(contract.setProfileModelRoute, ({ params: { name }, body }) => setProfileModel(home, within(name), body)),
    on(contract.getSoul, ({ params: { name } }) => soulOf(requireProfile(home, within(name)))),
    on(contract.putSoul, ({ params: { name }, body: { content, version } }) => {
      const profile = requireProfile(home, within(name));
      writeSoul(profile, content, version);
      return soulOf(profile);
    }),
  ];
}

function soulOf(profile: ProfilePaths) {
  const content = readSoul(profile);
  return { content, version: versionOf(content), path: profile.soul, exists: existsSync(profile.soul) };
}
