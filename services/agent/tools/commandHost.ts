/** What commands of tools get from this worker: an allow-listed environment, a place for long outputs, and the proof that their trees end. */
import { join } from 'node:path';
import type { CommandHost, ProcessTrees } from '../../../agent/tools/command.ts';
import { SpillFolder } from '../../../agent/tools/spill.ts';
import { filterEnv } from '../../../base/envFilter.ts';
import { hexId } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import type { ProcessGroups } from '../../../agent/ports.ts';
import { confirmedNow } from '../../../state/confirmedTime.ts';
import { tagCommand } from '../../../state/limitTag.ts';
import { killOnce, killTag, processesOfFamily } from '../../../state/marks.ts';
import { commonEnv } from '../../manifest.ts';
import type { WorkerContext } from '../../worker.ts';

/** In the environment of everything a tool starts: `<epoch of the store>.<worker>.<number>`. Not a secret: it opens nothing. */
export const TOOL_MARK_VARIABLE = 'AGENT_TOOL_MARK';

/** Set by the service for itself; passing one on would hand over a key, or the home of another profile. */
const OWN = /^AGENT_|_API_KEY$/;

export function commandHost(context: WorkerContext, groups: ProcessGroups, epoch: string): CommandHost {
  return {
    env: () => environment(context),
    groups,
    trees: processTrees(epoch),
    spill: new SpillFolder(join(context.paths.dir, 'cache', 'tool-output'), () => confirmedNow(context.home)),
  };
}

/** `terminal.env_passthrough` opens names one by one, those of ours never. */
function environment(context: WorkerContext): Record<string, string> {
  const extra = (context.config().config.terminal?.env_passthrough ?? []).filter((name) => !OWN.test(name) && !/^\*|\*$/.test(name));
  const secrets = context.secrets();
  const passed = Object.fromEntries(extra.flatMap((name) => (secrets.get(name) === undefined ? [] : [[name, secrets.get(name)!]])));
  return { ...filterEnv(process.env, [...commonEnv, ...extra]), ...passed, TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' };
}

function processTrees(epoch: string): ProcessTrees {
  const worker = hexId(8);
  let count = 0;
  return {
    mark() {
      const value = `${epoch}.${worker}.${++count}`;
      return { value, env: { [TOOL_MARK_VARIABLE]: value }, command: (file, args, more) => tagCommand(value, file, args, more) };
    },
    kill: (mark) => killTag(TOOL_MARK_VARIABLE, mark, limits.tools.treeMs),
  };
}

/** Ends what a dead worker of this store left behind, in whatever group. Answers how many there were. */
export const killLeftTrees = (epoch: string): number => killOnce(processesOfFamily(TOOL_MARK_VARIABLE, epoch));
