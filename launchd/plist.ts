/**
 * The property list, as agent (one user, from login) or daemon (from boot): the same contract as the
 * systemd unit. Not seen on a real Mac: it is checked by two parsers and against Apple's launchd.plist(5).
 */
import { join } from 'node:path';
import { SERVICE_NAME, type ServicePlan } from '../state/servicePlan.ts';

export const LABEL = `ai.agent.${SERVICE_NAME}`;

/** launchd starts a job at most once per ten seconds unless told otherwise; workers wait without harm, callers do not. */
const THROTTLE_SECONDS = 1;
const UMASK = 0o077;

export async function plistText(plan: ServicePlan): Promise<string> {
  const { build } = await import('plist');
  // launchd opens the file and never rotates it; the supervisor cuts it when it starts.
  const output = join(plan.home, 'logs', 'launchd.log');
  const daemon = plan.scope === 'system';
  return `${build({
    Label: LABEL,
    ProgramArguments: [plan.node, plan.entry],
    WorkingDirectory: plan.home,
    EnvironmentVariables: {
      AGENT_HOME: plan.home,
      PATH: plan.path,
      ...(plan.bootstrap === undefined ? {} : { AGENT_GATEWAY_BOOTSTRAP_STATE: plan.bootstrap }),
      NODE_COMPILE_CACHE: join(plan.home, 'cache', 'compile'),
      ...(daemon ? { HOME: plan.user.home, USER: plan.user.name, LOGNAME: plan.user.name } : {}),
    },
    ...(daemon ? { UserName: plan.user.name } : {}),
    RunAtLoad: true,
    // 0 = stopped as asked; everything else is started again.
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: THROTTLE_SECONDS,
    // Workers outlive the supervisor and are taken over by the next one.
    AbandonProcessGroup: true,
    ExitTimeOut: Math.ceil(plan.stopMs / 1_000),
    // Every other type is slowed down while nobody looks.
    ProcessType: 'Interactive',
    Umask: UMASK,
    StandardOutPath: output,
    StandardErrorPath: output,
  })}\n`;
}

export interface InstalledPlist {
  home: string | undefined;
  path: string | undefined;
  program: string[];
  user: string | undefined;
}

/** Undefined when it is no property list of ours. */
export async function readPlist(text: string): Promise<InstalledPlist | undefined> {
  // The parser prints what it does not like.
  if (!text.startsWith('<?xml')) return undefined;
  const { parse } = await import('plist');
  try {
    const {
      EnvironmentVariables = {},
      ProgramArguments = [],
      UserName,
    } = parse(text) as unknown as {
      EnvironmentVariables?: Record<string, string>;
      ProgramArguments?: string[];
      UserName?: string;
    };
    return { home: EnvironmentVariables.AGENT_HOME, path: EnvironmentVariables.PATH, program: ProgramArguments, user: UserName };
  } catch {
    return undefined;
  }
}
