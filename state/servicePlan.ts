/**
 * What a service manager (systemd, launchd) is told about this installation. The generators of units and
 * property lists turn it into text; nothing else goes into them, so equal plans give equal files.
 */

/** `user`: with the manager of one user; `system`: started at boot, for one user. */
export type ServiceScope = 'user' | 'system';

export interface ServicePlan {
  scope: ServiceScope;
  /** The pinned Node, absolute and without links. */
  node: string;
  /** Entry of the supervisor, absolute. */
  entry: string;
  /** Entry that ends what a true stop leaves behind. */
  sweep: string;
  /** AGENT_HOME, recorded so that every command and every boot means the same one. */
  home: string;
  /** PATH of the supervisor and of what its workers start. */
  path: string;
  /** AGENT_GATEWAY_BOOTSTRAP_STATE of the service; absent where none was set. */
  bootstrap?: string;
  /** The longest that a stop in good order can take. */
  stopMs: number;
  /** Whom it runs as. */
  user: ServiceUser;
}

export interface ServiceUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** One thing an installer did: a file or a command, as it is shown to the user. */
export interface ServiceStep {
  did: 'wrote' | 'kept' | 'removed' | 'ran' | 'note';
  /** Path or command line. */
  what: string;
  /** Why, or what the command answered. */
  detail?: string;
}

export interface ServiceState {
  installed: boolean;
  /** Path of the unit or property list. */
  file: string;
  /** Started at boot. */
  enabled: boolean;
  active: boolean;
  /** The manager's own word. */
  state: string;
  pid: number | null;
  /** Times the manager has started the supervisor again; null where it does not count. */
  restarts: number | null;
  /** User units alone: does it run without a login? */
  linger: boolean | null;
  /** AGENT_HOME of the installed file. */
  home: string | null;
  /** Lines in which the installed file differs from what would be written now. */
  drift: string[];
}

/** Why a manager cannot be used here, and what would change that. */
export interface Unusable {
  missing: string;
  fix: string;
}

export const SERVICE_NAME = 'agent-service';

/** Hears each step when it is done, so that what was done is known even if the next one fails. */
export type Tell = (step: ServiceStep) => void;

/** A service manager, for one scope. */
export interface ServiceManager {
  kind: 'systemd' | 'launchd';
  scope: ServiceScope;
  /** Where the unit or property list stands. */
  file: string;
  /** Undefined when it can be used; asks it. */
  unusable(): Promise<Unusable | undefined>;
  /** What would be written. */
  text(plan: ServicePlan): Promise<string>;
  /** The command lines of an installation, for `--dry-run`. */
  commands(): string[];
  /** Makes the service known and has it started at boot. Doing it again changes nothing. Errors: SERVICE_FAILED. */
  register(plan: ServicePlan, tell: Tell): Promise<void>;
  /** Starts it and answers when it is ready. Errors: SERVICE_FAILED with what the manager said. */
  start(tell: Tell): Promise<void>;
  /** Stops it and forgets it; the data stay. Errors: SERVICE_FAILED. */
  remove(tell: Tell): Promise<void>;
  /** `wanted`: what would be written now, to find drift. */
  state(wanted?: string): Promise<ServiceState>;
}
