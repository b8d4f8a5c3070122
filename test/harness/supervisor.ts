/** A real supervisor over fixture workers, in this process; every process it started is proved gone at the end. */
import { join } from 'node:path';
import { limits } from '../../base/limits.ts';
import type { SlotSpec } from '../../supervisor/spec.ts';
import type { SupervisorOptions } from '../../supervisor/options.ts';
import { startSupervisor, type Supervisor } from '../../supervisor/supervisor.ts';
import { logPath } from '../../state/logs.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import type { TestHome } from './home.ts';
import { until } from './until.ts';

export const fixture = (name: string): string => join(import.meta.dirname, '..', 'fixtures', 'workers', `${name}.ts`);

/** A slot that runs a fixture; `start` defaults to `boot`. */
export function fixtureSlot(home: TestHome, slot: string, fixtureName: string, more: Partial<SlotSpec> = {}): SlotSpec {
  return {
    slot,
    profile: 'default',
    kind: 'worker',
    start: 'boot',
    command: [process.execPath, fixture(fixtureName)],
    cwd: home.root,
    env: { PATH: process.env.PATH ?? '', HOME: home.root, AGENT_HOME: home.root, AGENT_SLOT: slot },
    sealedEnv: {},
    logFile: logPath(home, slot),
    errorsFile: logPath(home, 'errors'),
    startupMs: limits.worker.startupMs,
    drainMs: 2_000,
    termMs: 500,
    stopSignal: 'SIGTERM',
    readiness: 'attach',
    restart: 'always',
    after: [],
    handover: 'none',
    listeners: [],
    memorySoftBytes: undefined,
    memoryHardBytes: undefined,
    settings: '',
    tier: 1,
    ...more,
  };
}

export interface TestSupervisor extends AsyncDisposable {
  supervisor: Supervisor;
  /** Pid of the running incarnation of a slot. */
  pid(slot: string): number;
  ready(slot: string): Promise<void>;
}

export async function superviseFixtures(home: TestHome, slots: SlotSpec[], more: Partial<SupervisorOptions> = {}): Promise<TestSupervisor> {
  const supervisor = await startSupervisor({
    home,
    release: { version: '0.0.0', code: 'source', root: '', built: false, codeRoot: '' },
    specs: () => slots,
    demo: false,
    managedBy: 'none',
    bootstrap: undefined,
    ...more,
  });
  const seen = new Set<number>();
  const watch = setInterval(() => {
    for (const runner of supervisor.slots.values()) if (runner.incarnation?.pid) seen.add(runner.incarnation.pid);
  }, 5);
  return {
    supervisor,
    pid: (slot) => supervisor.slots.get(slot)!.incarnation!.pid,
    ready: async (slot) => {
      await until(`${slot} is ready`, () => supervisor.slots.get(slot)!.state === 'ready');
    },
    async [Symbol.asyncDispose]() {
      await supervisor.down({ actor: 'test', drain: false });
      await supervisor.ended;
      clearInterval(watch);
      for (const pid of seen) await until(`group ${pid} is gone`, () => !groupAlive(pid));
    },
  };
}
