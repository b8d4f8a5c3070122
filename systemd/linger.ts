/** Linger: without it a user's services end with the last login and do not start at boot. */
import { limits } from '../base/limits.ts';
import { runCommand } from '../base/runCommand.ts';
import type { ServiceUser, Tell } from '../state/servicePlan.ts';

/** Null where logind cannot be asked. */
export async function lingers({ name }: ServiceUser): Promise<boolean | null> {
  const { code, stdout, stderr } = await runCommand(['loginctl', 'show-user', name, '--property=Linger', '--value']);
  if (code === 0) return stdout.trim() === 'yes';
  // It only knows users who are logged in or linger.
  return /not logged in or lingering|no such user|unknown/i.test(stderr) ? false : null;
}

/** Enables it; without the permission the exact command for root is reported instead. True when this call enabled it. */
export async function ensureLinger(user: ServiceUser, tell: Tell): Promise<boolean> {
  if (await lingers(user)) {
    tell({ did: 'kept', what: `linger is enabled for ${user.name}` });
    return false;
  }
  const { command, code, stderr } = await runCommand(['loginctl', 'enable-linger', user.name], { timeoutMs: limits.service.commandMs });
  if (code === 0 && (await lingers(user))) {
    tell({ did: 'ran', what: command.join(' '), detail: 'it runs from boot, without a login' });
    return true;
  }
  tell({
    did: 'note',
    what: `it will run only while ${user.name} is logged in: linger could not be enabled (${stderr.trim() || 'it did not take'})`,
    detail: lingerFix(user),
  });
  return false;
}

/** For a service whose installation enabled it. */
export async function restoreLinger(user: ServiceUser, tell: Tell): Promise<void> {
  const { command, code } = await runCommand(['loginctl', 'disable-linger', user.name], { timeoutMs: limits.service.commandMs });
  if (code === 0) tell({ did: 'ran', what: command.join(' '), detail: 'the installation had enabled it' });
}

export const lingerFix = ({ name }: Pick<ServiceUser, 'name'>): string => `sudo loginctl enable-linger ${name}`;
