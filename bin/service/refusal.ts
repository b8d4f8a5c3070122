/** What could never boot is not installed: paths that will be gone, a home that is not the user's, code that does not run. */
import { existsSync, statSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { runCommand } from '../../base/runCommand.ts';
import type { ServicePlan } from '../../state/servicePlan.ts';
import { isTemporary } from './plan.ts';
import { GLOBAL_INSTALL, reinstallHint } from './reinstall.ts';

interface Refusal {
  what: string;
  fix: string;
}

/** Errors: SERVICE_REFUSED with the first thing that stands in the way. */
export async function refuseWhatCannotBoot(plan: ServicePlan): Promise<void> {
  const refusal = lyingAround(plan) ?? wrongUser(plan) ?? (await doesNotRun(plan));
  if (refusal) throw new AgentError('SERVICE_REFUSED', refusal.what, { fix: refusal.fix });
}

/** Paths that will not be there at the next boot. */
function lyingAround({ node, entry, home }: ServicePlan): Refusal | undefined {
  for (const path of [entry, node]) {
    if (path.includes('/_npx/'))
      return { what: `${path} is in the cache of npx, which npm may empty`, fix: `install the package: ${GLOBAL_INSTALL}` };
    if (isTemporary(path)) return { what: `${path} is in a temporary folder`, fix: 'install the package in a place that stays' };
    if (!existsSync(path)) return { what: `${path} is missing`, fix: reinstallHint() };
  }
  if (isTemporary(home)) return { what: `the home ${home} is in a temporary folder`, fix: 'set AGENT_HOME to a place that stays' };
  return undefined;
}

function wrongUser({ scope, user, home }: ServicePlan): Refusal | undefined {
  const uid = process.getuid?.();
  if (scope === 'system' && uid !== 0) return { what: 'a system service is installed by root', fix: 'sudo agent service install --system' };
  if (scope === 'user' && uid === 0 && process.env.SUDO_USER && process.env.SUDO_USER !== 'root')
    return {
      what: `under sudo this would be a service of root, not of ${process.env.SUDO_USER}`,
      fix: 'run it without sudo, or with --system',
    };
  const owner = ownerOf(home);
  if (owner !== undefined && owner !== user.uid)
    return {
      what: `${home} belongs to user ${owner}, and the service would run as ${user.name} (${user.uid})`,
      fix: `chown -R ${user.name} ${home}, or name its owner with --run-as`,
    };
  return undefined;
}

/** Undefined when it is not there yet, or out of reach: then the entry says so itself. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

/** The entry itself is asked, as the user and with the environment that the service will have. */
async function doesNotRun({ node, entry, home, path, user }: ServicePlan): Promise<Refusal | undefined> {
  const become: string[] =
    process.getuid?.() === 0 && user.uid !== 0 ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups', '--'] : [];
  const environment = [`PATH=${path}`, `HOME=${user.home}`, `USER=${user.name}`, `AGENT_HOME=${home}`];
  const check = ['env', '-i', ...environment, node, entry, '--check'] as const;
  const [file, ...args] = [...become, ...check];
  const { code, stderr } = await runCommand([file, ...args]);
  if (code === 0) return undefined;
  const why = stderr.trim().split('\n').find(Boolean) ?? `it ended with ${code ?? 'no code'}`;
  const reach = /EACCES|permission denied/i.test(why)
    ? `let ${user.name} read the installation, or install the package where every user can`
    : 'put this right, then install again';
  return { what: `the service would not start: ${why}`, fix: reach };
}
