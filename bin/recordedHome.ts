/**
 * Which home a command means when AGENT_HOME does not say: the one that the installed service records
 * (lessons 28: under sudo, HOME is root's). Read from the unit before anything else; costs two looks.
 */
import { existsSync, readFileSync } from 'node:fs';
import { installedUnit, unitPath } from '../systemd/unit.ts';
import { currentUser } from './currentUser.ts';

/** Sets AGENT_HOME in `env` when a service is installed and nothing else says it. */
export function adoptRecordedHome(env: NodeJS.ProcessEnv = process.env): void {
  // Another HOME than the user's own is a wish as well.
  if (env.AGENT_HOME?.trim() || (env.HOME && env.HOME !== currentUser().home)) return;
  const caller = process.getuid?.() === 0 ? env.SUDO_USER : undefined;
  const homes = [currentUser().home, ...(caller ? homeOf(caller) : [])];
  const recorded =
    homes.map((home) => installedUnit('user', { home })?.home).find(Boolean) ??
    homeOfUnit(installedUnit('system', { home: '/' }), [currentUser().name, caller]);
  if (recorded !== undefined) env.AGENT_HOME = recorded;
}

/** The home of the system service is that of the user it runs as; root administers it. */
export function homeOfUnit(
  unit: { home: string | undefined; user: string | undefined } | undefined,
  names: readonly (string | undefined)[],
) {
  return unit && (names.includes('root') || names.includes(unit.user ?? 'root')) ? unit.home : undefined;
}

/** A cheap look before anything is loaded to find out. */
export const mayBeInstalled = (): boolean =>
  process.platform === 'darwin' || (['user', 'system'] as const).some((scope) => existsSync(unitPath(scope, { home: currentUser().home })));

function homeOf(name: string): string[] {
  const row = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${name}:`));
  const home = row?.split(':')[5];
  return home ? [home] : [];
}
