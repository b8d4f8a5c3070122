/** Installing, removing and showing the service: the same flow whichever manager there is. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { down, status as statusMethod } from '../../ipc/contracts/supervisor.ts';
import type { Home } from '../../state/home.ts';
import type { ServiceManager, ServicePlan, ServiceScope, ServiceState, ServiceUser, Tell, Unusable } from '../../state/servicePlan.ts';
import { installedUnit } from '../../systemd/unit.ts';
import { dialSupervisor } from '../connect.ts';
import { currentUser } from '../currentUser.ts';
import { homeFor, servicePlan, systemUser, type PlanOptions } from './plan.ts';
import { refuseWhatCannotBoot } from './refusal.ts';

export interface ServiceTarget {
  scope: ServiceScope;
  user: ServiceUser;
  home: Home;
  /** Undefined on a system that has neither systemd nor launchd. */
  manager: ServiceManager | undefined;
}

export interface TargetOptions {
  scope: ServiceScope;
  runAs?: string | undefined;
  linger?: boolean;
}

/** Which service is meant, and who manages it here. */
export async function serviceTarget({ scope, runAs, linger = true }: TargetOptions): Promise<ServiceTarget> {
  const user = scope === 'system' ? systemUser(runAs ?? (await installedUser())) : currentUser();
  return { scope, user, home: homeFor(user), manager: await managerFor(scope, user, linger) };
}

/** An installed system service keeps its user when nobody names another. */
async function installedUser(): Promise<string | undefined> {
  return process.platform === 'linux' ? installedUnit('system', { home: '/' })?.user : undefined;
}

async function managerFor(scope: ServiceScope, user: ServiceUser, linger: boolean): Promise<ServiceManager | undefined> {
  if (process.platform === 'linux') return (await import('../../systemd/installer.ts')).openSystemd(scope, user, { linger });
  if (process.platform === 'darwin') return (await import('../../launchd/installer.ts')).openLaunchd(scope, user);
  return undefined;
}

/** Why nothing can be installed here; undefined when something can. */
export async function whyNotHere({ manager }: ServiceTarget): Promise<Unusable | undefined> {
  if (manager) return manager.unusable();
  return { missing: `no service manager of ${process.platform} is supported`, fix: 'let yours run `agent up --foreground`' };
}

/** Errors: SERVICE_REFUSED, SERVICE_FAILED, SERVICE_UNUSABLE. */
export async function install(target: ServiceTarget & { manager: ServiceManager }, tell: Tell): Promise<ServiceState> {
  const { manager, home } = target;
  const plan = planFor(target, {
    bootstrap: process.env.AGENT_GATEWAY_BOOTSTRAP_STATE ?? installedUnit(target.scope, target.user)?.bootstrap,
  });
  await refuseOtherHome(manager, plan);
  await refuseWhatCannotBoot(plan);
  await manager.register(plan, tell);
  await handOver(home, tell);
  await manager.start(tell);
  return manager.state(await manager.text(plan));
}

export const planFor = ({ scope, user, home }: ServiceTarget, kept: Pick<PlanOptions, 'path' | 'bootstrap'> = {}): ServicePlan =>
  servicePlan({ scope, user, home, ...kept });

/** What would be written if it were installed again from anywhere: the recorded PATH is kept, since shells differ. */
export async function wantedText(target: ServiceTarget & { manager: ServiceManager }): Promise<string | undefined> {
  const installed = installedUnit(target.scope, target.user);
  if (target.manager.kind === 'systemd' && !installed) return undefined;
  return target.manager.text(planFor(target, { path: installed?.path, bootstrap: installed?.bootstrap }));
}

/** One service per user: another home has to be given up first. */
async function refuseOtherHome(manager: ServiceManager, { home }: ServicePlan): Promise<void> {
  const { home: installed, file } = await manager.state();
  if (installed === null || installed === home) return;
  throw new AgentError('SERVICE_REFUSED', `${file} already serves the home ${installed}`, {
    fix: `remove it with \`agent service uninstall\`, or use that home: AGENT_HOME=${installed}`,
  });
}

/** A supervisor that somebody started by hand would hold the home: it drains and leaves first. */
async function handOver(home: Home, tell: Tell): Promise<void> {
  try {
    using link = await dialSupervisor(home);
    const { supervisor } = await link.call(statusMethod, {});
    if (supervisor.managed_by === 'systemd' || supervisor.managed_by === 'launchd') return;
    await link.call(down, { actor: 'service install' });
    tell({ did: 'ran', what: 'agent down', detail: `the supervisor started by hand (process ${supervisor.pid}) has drained and left` });
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'NO_SUPERVISOR') throw thrown;
  }
}

/** The service of this home that is installed and could start it; undefined when there is none. */
export async function installedFor(home: Home): Promise<ServiceManager | undefined> {
  for (const scope of ['user', 'system'] as const) {
    const user = currentUser();
    if (process.platform === 'linux' && installedUnit(scope, user)?.home !== home.root) continue;
    const manager = await managerFor(scope, user, false);
    const state = await manager?.state();
    if (state?.home === home.root && (await manager!.unusable()) === undefined) return manager;
  }
  return undefined;
}
