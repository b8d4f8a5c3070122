/** A home with the real service, run through the `agent` command; whatever is left of it ends with the test. */
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { cli, type CliResult } from './cli.ts';
import { testHome, type TestHome } from './home.ts';
import { until } from './until.ts';

export interface CliService extends AsyncDisposable {
  home: TestHome;
  agent(...args: string[]): Promise<CliResult>;
  status(): Promise<Status>;
}

/** A home whose service, if any is left, is gone at the end, every process of it. */
export function cliService(files: Record<string, string> = {}): CliService {
  const home = testHome(files);
  const seen = new Set<number>();
  const agent = (...args: string[]) => cli(args, { home });
  const status = async (): Promise<Status> => {
    const found = JSON.parse((await agent('status', '--json')).stdout) as Status;
    for (const { pid } of found.workers) if (pid !== null) seen.add(pid);
    return found;
  };
  return {
    home,
    agent,
    status,
    async [Symbol.asyncDispose]() {
      await status();
      await agent('down', '--no-drain');
      await until('every process is gone', () => [...seen].every((pid) => !groupAlive(pid)));
      home[Symbol.dispose]();
    },
  };
}

export const pidOf = ({ workers }: Status, slot: string): number | null => workers.find((worker) => worker.slot === slot)!.pid;
