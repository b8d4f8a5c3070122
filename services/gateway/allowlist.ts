/** Who may talk to the agent: default deny; names, masks with `*`, or `"*"` for everybody (reference, Authorisation). */
import type { Secrets } from '../../state/env.ts';

/** The rules of a platform: its `allowed_users`, and the variables that add to it. */
export function allowRules(platform: string, configured: string[] | undefined, secrets: Secrets): string[] {
  const prefix = platform.toUpperCase();
  const everybody = [`${prefix}_ALLOW_ALL_USERS`, 'GATEWAY_ALLOW_ALL_USERS'].some((name) =>
    /^(1|true|yes)$/i.test(secrets.get(name) ?? ''),
  );
  const listed = [`${prefix}_ALLOWED_USERS`, 'GATEWAY_ALLOWED_USERS'].flatMap((name) => (secrets.get(name) ?? '').split(','));
  return [...(configured ?? []), ...listed.map((name) => name.trim()), ...(everybody ? ['*'] : [])].filter((rule) => rule !== '');
}

/** `identities` are the names a platform knows the user by: nick, full mask, account. Case does not matter. */
export function isAllowed(rules: string[], identities: string[]): boolean {
  return rules.some((rule) => {
    if (rule === '*') return true;
    const pattern = new RegExp(
      `^${rule
        .split('*')
        .map((part) => RegExp.escape(part))
        .join('.*')}$`,
      'i',
    );
    return identities.some((identity) => pattern.test(identity));
  });
}
