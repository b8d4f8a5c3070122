/**
 * The supervisor's entry: turns the manifest of workers into slots and runs the supervisor, in this
 * process. `agent up` starts it in the background; with `--foreground` it calls `runSupervisor` itself.
 */
import { parseArgs } from 'node:util';
import { isAgentError, messageOf } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import type { Status } from '../ipc/contracts/supervisor.ts';
import { settleAfterStart } from '../base/afterStart.ts';
import { openHome } from '../state/home.ts';
import { release } from '../state/release.ts';

import { startSupervisor, type Supervisor } from '../supervisor/supervisor.ts';
import { slotSpecs, type RunOptions } from './slotSpecs.ts';

/** Starts the supervisor in this process; SIGINT and SIGTERM drain it. Errors: ALREADY_RUNNING, HOME_UNUSABLE. */
export async function runSupervisor(options: RunOptions = {}): Promise<Supervisor> {
  const home = openHome();
  const supervisor = await startSupervisor({
    home,
    release: release(),
    specs: (config) => slotSpecs(home, config, options),
    demo: options.demo ?? false,
    managedBy: managedBy(),
    bootstrap: process.env.AGENT_GATEWAY_BOOTSTRAP_STATE,
    ...(options.only ? { only: options.only } : {}),
  });
  let asked = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (asked++ === 0 ? void supervisor.down({ actor: signal, drain: true }) : supervisor.hurry()));
  }
  process.on('SIGHUP', () => {});
  settleAfterStart({ steady: true });
  return supervisor;
}

function managedBy(): Status['supervisor']['managed_by'] {
  if (process.env.INVOCATION_ID) return 'systemd';
  if (process.env.XPC_SERVICE_NAME && process.env.XPC_SERVICE_NAME !== '0') return 'launchd';
  return process.pid === 1 ? 'container' : 'none';
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      demo: { type: 'boolean' },
      port: { type: 'string' },
      host: { type: 'string' },
      insecure: { type: 'boolean' },
      only: { type: 'string' },
    },
  });
  const supervisor = await runSupervisor({
    demo: values.demo,
    port: values.port === undefined ? undefined : Number(values.port),
    host: values.host,
    insecure: values.insecure,
    only: values.only?.split(','),
  });
  await supervisor.ended;
}

if (import.meta.main) {
  process.title = 'agent-supervisor';
  main().then(
    () => process.exit(exitCodes.ok),
    (thrown: unknown) => {
      const fix = isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : '';
      process.stderr.write(`agent: ${messageOf(thrown)}${fix}\n`);
      process.exit(exitCodes.failed);
    },
  );
}
