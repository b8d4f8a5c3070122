/** What a supervisor is started with. */
import type { DashboardPlace, Joining, Status } from '../ipc/contracts/supervisor.ts';
import type { Config } from '../state/config/schema.ts';
import type { Home } from '../state/home.ts';
import type { Release } from '../state/release.ts';
import type { SlotSpec } from './spec.ts';
import type { CodeKeeper } from './workerCode.ts';

export interface SupervisorOptions {
  home: Home;
  release: Release;
  /** Every slot there is, built for the configuration in force. */
  specs: (config: Config) => SlotSpec[];
  /** What workers run, where a package manager may replace it. Absent: `specs` names it for good. */
  code?: CodeKeeper;
  demo: boolean;
  managedBy: Status['supervisor']['managed_by'];
  /** Value of AGENT_GATEWAY_BOOTSTRAP_STATE. */
  bootstrap: string | undefined;
  /** Only these slots are wanted, and the service leaves when nobody uses it (started by `agent chat`). */
  only?: string[];
  /** How it was asked to serve the dashboard. */
  place?: DashboardPlace;
  join?(asked: Joining): void;
  /** Will something start the supervisor again? Errors: RESTART_REFUSED, PACKAGE_INCOMPLETE. Absent: nothing does. */
  requireReturn?(): void;
  /** How often the owner of the home says that it lives; default `limits.state.homeBeatMs`. */
  homeBeatMs?: number;
  /** How long workers go on without any supervisor; default `limits.worker.orphanMs`. */
  orphanMs?: number;
  /** Where cgroups are made; default: the supervisor's own place, null: nowhere. */
  cgroupRoot?: string | null;
}
