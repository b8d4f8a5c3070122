/**
 * Whether a change of config.yaml would close the dashboard to its own user: it would refuse to start,
 * or stand where no browser goes. Judged before the file is written; the file it replaces is the measure,
 * so that an old fault does not stand in the way of a change elsewhere.
 */
import { AgentError } from '../../base/errors.ts';
import { parsePasswordHash } from '../../base/passwordHash.ts';
import type { Secrets } from '../env.ts';
import { dashboardAddress, isLoopbackHost } from './dashboardAddress.ts';
import type { Config } from './schema.ts';
import { signInSettings, type SignInSettings } from './signIn.ts';

/** Why the change must not be made, with what to do first; null when it may. */
export function lockoutReason(before: Config, after: Config, secrets: Pick<Secrets, 'get'>, env: NodeJS.ProcessEnv): string | null {
  const old = new Set(lockouts(before, secrets, env));
  return lockouts(after, secrets, env).find((reason) => !old.has(reason)) ?? null;
}

/** `env`: what the dashboard has or would have (`startedWith.ts`). Errors: CONFIG_LOCKOUT. */
export function refuseLockout(before: Config, after: Config, secrets: Pick<Secrets, 'get'>, env: NodeJS.ProcessEnv): void {
  const reason = lockoutReason(before, after, secrets, env);
  if (reason === null) return;
  throw new AgentError('CONFIG_LOCKOUT', `this would lock you out of the dashboard: ${reason}`, {
    fix: 'nothing was written',
  });
}

function lockouts(config: Config, secrets: Pick<Secrets, 'get'>, env: NodeJS.ProcessEnv): string[] {
  const settings = signInSettings(config, secrets);
  const reasons = [...settings.problems];
  // Also one that the environment hides today.
  const hash = config.dashboard?.basic_auth?.password_hash;
  if (hash !== undefined && !hash.includes('${') && !parsePasswordHash(hash) && reasons.length === 0)
    reasons.push('dashboard.basic_auth.password_hash is not of the form scrypt$N$r$p$salt$key: `agent dashboard passwd` makes one');
  const port = config.dashboard?.port;
  if (port === 0) reasons.push('dashboard.port 0 is another port at each start, and nobody knows which');
  if (port !== undefined && BLOCKED_PORTS.has(port))
    reasons.push(`browsers refuse to open port ${port} (dashboard.port): choose another, for example 9119`);
  if (port !== undefined && port !== 0 && port === config.platforms?.webhook?.port)
    reasons.push(`dashboard.port ${port} is the port of the webhook platform (platforms.webhook.port): choose another`);
  const open = openWithout(config, settings, env);
  if (open) reasons.push(open);
  return reasons;
}

/** Why the dashboard may not listen as it is told to; undefined when it may. */
export function openWithout(config: Config, settings: SignInSettings, env: NodeJS.ProcessEnv): string | undefined {
  const reach = reachOf(config, settings, env);
  if (reach === undefined || settings.providers.length > 0 || env.AGENT_DASHBOARD_INSECURE === '1') return undefined;
  const wrong = [...settings.problems, ...settings.incomplete];
  const half = wrong.length ? ` (${wrong.join('; ')})` : '';
  return `others could reach the dashboard (${reach}) and no sign-in is set up${half}: run \`agent dashboard passwd\` first, or set up OpenID Connect`;
}

/** How others reach it, in words; undefined on a loopback address with no public name. */
export function reachOf(config: Config, { publicUrl }: Pick<SignInSettings, 'publicUrl'>, env: NodeJS.ProcessEnv): string | undefined {
  const { host, port } = dashboardAddress(config, env);
  if (!isLoopbackHost(host)) return `it listens on ${host}:${port}`;
  return publicUrl && !isLoopbackHost(publicUrl.hostname) ? `dashboard.public_url is ${publicUrl.origin}` : undefined;
}

/** Fetch standard, "bad port": no browser connects there. */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
  989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
