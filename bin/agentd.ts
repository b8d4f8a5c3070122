/**
 * The supervisor's entry: turns the manifest of workers into slots and runs the supervisor, in this
 * process. A service manager starts it, `agent up` starts it in the background; with `--foreground` that
 * command calls `runSupervisor` itself. Leaves with the codes that the unit and the property list know:
 * 0 stopped as asked, 75 start me again, 78 a restart cannot help.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { isAgentError, messageOf, type ErrorCode } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import { settleAfterStart } from '../base/afterStart.ts';
import type { Joining } from '../ipc/contracts/supervisor.ts';
import { openHome } from '../state/home.ts';
import { release } from '../state/release.ts';
import { givenPlace } from '../state/startedWith.ts';
import { startSupervisor, type Supervisor } from '../supervisor/supervisor.ts';
import { openNotifier } from '../systemd/notify.ts';
import { settleProcess } from './init.ts';
import { managedBy, type ManagedBy } from './service/managedBy.ts';
import { cutOwnOutput } from './service/ownOutput.ts';
import { KeptCode } from './runningCode.ts';
import { slotSpecs, type RunOptions } from './slotSpecs.ts';
import { requireReturn, startNext } from './succession.ts';

/** Starts the supervisor in this process; SIGINT and SIGTERM drain it. Errors: ALREADY_RUNNING, HOME_UNUSABLE. */
export async function runSupervisor(options: RunOptions = {}): Promise<Supervisor> {
  settleProcess();
  const home = openHome();
  const manager = managerOf(options);
  let joined: Joining = {};
  const code = new KeptCode(home);
  const supervisor = await startSupervisor({
    home,
    release: release(),
    specs: (config) => slotSpecs(home, config, { ...options, ...joined, code }),
    code,
    place: givenPlace(options),
    join: ({ demo, ...place }) => void (joined = { ...place, ...(demo ? { demo } : {}) }),
    demo: options.demo ?? false,
    managedBy: manager,
    bootstrap: process.env.AGENT_GATEWAY_BOOTSTRAP_STATE,
    requireReturn: () => requireReturn(home, manager, options.background !== undefined),
    ...(options.only ? { only: options.only } : {}),
  });
  const summary = () => summaryOf(supervisor);
  const notifier = manager === 'systemd' ? openNotifier(process.env, summary) : undefined;
  let askedMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (askedMs !== undefined) {
        if (performance.now() - askedMs > limits.supervisor.sameSignalMs) supervisor.hurry();
        return;
      }
      askedMs = performance.now();
      notifier?.stopping('draining');
      void supervisor.down({ actor: signal, drain: true });
    });
  }
  process.on('SIGHUP', () => {});
  if (notifier) {
    void supervisor.waitReady(limits.supervisor.upMs).then(() => notifier.ready(summary()));
    void supervisor.ended.then(() => notifier[Symbol.dispose]());
  }
  settleAfterStart({ steady: true });
  return supervisor;
}

/** A command's own child is adopted by process 1, which in a container looks like its manager. */
const managerOf = ({ background }: RunOptions): ManagedBy => (background === 'command' ? 'none' : managedBy());

/** For `systemctl status`. */
function summaryOf(supervisor: Supervisor): string {
  const wanted = [...supervisor.slots.values()].filter(({ isWanted }) => isWanted);
  const not = wanted.filter(({ state }) => state !== 'ready').map(({ spec, state }) => `${spec.slot} is ${state}`);
  return [`${wanted.length - not.length} of ${wanted.length} slots ready`, ...not].join(', ');
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      demo: { type: 'boolean' },
      port: { type: 'string' },
      host: { type: 'string' },
      insecure: { type: 'boolean' },
      only: { type: 'string' },
      background: { type: 'boolean' },
      check: { type: 'boolean' },
    },
  });
  if (values.check) return (await import('./service/selfCheck.ts')).selfCheck();
  const supervisor = await runSupervisor({
    demo: values.demo,
    port: values.port === undefined ? undefined : Number(values.port),
    host: values.host,
    insecure: values.insecure,
    only: values.only?.split(','),
    background: values.background ? 'command' : 'manager',
  });
  let signalled = false;
  process.once('SIGTERM', () => (signalled = true));
  await supervisor.ended;
  if (supervisor.isReplaced) return startNext(supervisor.home, supervisor.status().supervisor.managed_by);
  return endCode(managedBy(), signalled);
}

/**
 * A manager that stops us starts nothing again, whatever the code; a stranger's SIGTERM is no wish to stay
 * down. So under a manager a signal means 75, and 0 remains for `agent down`.
 */
const endCode = (manager: ManagedBy, signalled: boolean): number =>
  signalled && (manager === 'systemd' || manager === 'launchd') ? exitCodes.restart : exitCodes.ok;

/** What no restart can change. */
const permanent: ReadonlySet<ErrorCode> = new Set(['ALREADY_RUNNING', 'HOME_UNUSABLE', 'USAGE']);

/** A start that failed: says why, and does not let its manager try a hundred times a minute. */
async function failed(thrown: unknown): Promise<number> {
  const fix = isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : '';
  process.stderr.write(`agent: ${messageOf(thrown)}${fix}\n`);
  const manager = managedBy();
  if (isAgentError(thrown) && permanent.has(thrown.code)) {
    // launchd has no word for "do not start it again" but success.
    return manager === 'launchd' ? exitCodes.ok : exitCodes.config;
  }
  if (manager !== 'none') await sleep(limits.service.failedStartMs);
  return exitCodes.failed;
}

if (import.meta.main) {
  process.title = 'agent-supervisor';
  // Compiling a check takes longer than the few checks that this process ever makes with it.
  z.config({ jitless: true });
  if (managedBy() === 'launchd') cutOwnOutput(2);
  process.exit(await main().catch(failed));
}
