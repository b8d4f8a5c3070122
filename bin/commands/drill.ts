/** `agent drill <fault>`: injects the fault into the running service, waits for the recovery and measures it. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { formatDuration } from '../../base/time.ts';
import { openHome } from '../../state/home.ts';
import { hasFlag, jsonOption, textOption, type Command, type Input, type Option } from '../command.ts';
import { askStatus, carryOut, type Drill, type DrillResult, type Step } from '../drill/drill.ts';
import { breakSocket, corruptState, fillLog } from '../drill/fileDrills.ts';
import { freeze, kill, supervisor } from '../drill/processDrills.ts';
import { dialSupervisor } from '../connect.ts';
import { slotOf } from '../slots.ts';
import { err, note, out, print, printJson, table } from '../terminal.ts';

/** The order of `all`: what heals fastest first. */
const drills: readonly Drill[] = [kill, breakSocket, corruptState, fillLog, supervisor, freeze];

const slotOption: Option = { flags: '--slot <slot>', summary: 'the worker it is done to', complete: 'slot' };
const yesOption: Option = { flags: '-y, --yes', summary: 'do not ask' };
const takesSlot: ReadonlySet<Drill> = new Set([kill, freeze, breakSocket]);

export const command: Command = {
  name: 'drill',
  summary: 'Break something on purpose and measure the recovery',
  details:
    'Injects a fault into the running service, waits under limits until it has healed, and prints what was done, what was seen and PASS or FAIL beside the published figure. Says first what will be interrupted and asks; without a terminal it needs --yes. Whatever it damages is put back. Exit code: 0 passed, 1 failed.',
  examples: [
    { line: 'agent drill kill --slot gateway', does: 'how long the gateway is away when it dies' },
    { line: 'agent drill supervisor', does: 'workers live on while nobody supervises them' },
    { line: 'agent drill all --yes', does: 'every fault in turn, with a table at the end' },
  ],
  commands: [
    ...drills.map((drill) => subcommand(drill)),
    {
      name: 'all',
      summary: 'every drill in turn, with a table at the end',
      options: [slotOption, yesOption, jsonOption],
      examples: [{ line: 'agent drill all --yes', does: 'takes about a minute: liveness is patient' }],
      run: (input) => runDrills(drills, input),
    },
  ],
};

function subcommand(drill: Drill): Command {
  return {
    name: drill.name,
    summary: drill.summary,
    options: [...(takesSlot.has(drill) ? [slotOption] : []), yesOption, jsonOption],
    examples: [
      { line: `agent drill ${drill.name}`, does: 'asks first' },
      { line: `agent drill ${drill.name} --yes --json`, does: 'for programs' },
    ],
    run: (input) => runDrills([drill], input),
  };
}

async function runDrills(chosen: readonly Drill[], input: Input): Promise<number> {
  const home = openHome();
  const given = textOption(input, 'slot');
  const slot = given === undefined ? undefined : slotOf(given, input.profile);
  // Without a service there is nothing to break: say so before asking.
  (await dialSupervisor(home)).close();
  await agree(
    chosen.map((drill) => `${drill.name}: ${drill.interrupts({ home, slot })}`),
    input,
  );
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new AgentError('CANCELLED', 'stopped by ctrl-C')));
  const results: DrillResult[] = [];
  for (const drill of chosen) {
    if (!input.json) print(painter(out)('bold', drill.name));
    const ownSlot = takesSlot.has(drill) ? slot : undefined;
    const result = await carryOut(drill, { home, slot: ownSlot, signal: stop.signal }, input.json ? () => {} : printStep);
    if (!input.json) print(`  ${verdict(result)}\n`);
    results.push(result);
    // The next one begins with a service that is whole.
    if (chosen.length > 1) await settled(home);
  }
  if (input.json) printJson(chosen.length === 1 ? results[0] : { results });
  else if (chosen.length > 1) print(summary(results));
  return results.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.failed;
}

/** Errors: USAGE where nobody can be asked, CANCELLED when the answer is no. */
async function agree(what: readonly string[], input: Input): Promise<void> {
  if (hasFlag(input, 'yes')) return;
  if (!err.isTTY || input.json) {
    throw new AgentError('USAGE', 'a drill interrupts the running service and nobody can be asked here', { fix: 'say so with --yes' });
  }
  const { createInterface } = await import('node:readline/promises');
  for (const line of what) note(`  ${line}`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question('Go on? [y/N] ');
  lines.close();
  if (!/^y/i.test(answer.trim())) throw new AgentError('CANCELLED', 'nothing was done');
}

async function settled(home: ReturnType<typeof openHome>): Promise<void> {
  using link = await dialSupervisor(home, { startingMs: 10_000 });
  const { waitReady } = await import('../../ipc/contracts/supervisor.ts');
  await link.call(waitReady, { timeout_ms: 30_000 });
  await askStatus(home);
}

function printStep({ at_ms, what }: Step): void {
  print(`  ${painter(out)('dim', `+${formatDuration(at_ms).padEnd(7)}`)} ${what}`);
}

function verdict({ ok, verdict: words, recovered_ms, published_ms }: DrillResult): string {
  const paint = painter(out);
  const figure = recovered_ms === null || published_ms === null ? '' : ` (published: ${formatDuration(published_ms)})`;
  return `${ok ? paint('green', 'PASS') : paint('red', 'FAIL')} ${words}${figure}`;
}

function summary(results: readonly DrillResult[]): string {
  const paint = painter(out);
  const time = (ms: number | null) => (ms === null ? '-' : formatDuration(ms));
  const rows = results.map(({ drill, slot, ok, recovered_ms, published_ms, limit_ms, verdict: words }) => [
    drill,
    slot ?? '-',
    ok ? paint('green', 'PASS') : paint('red', 'FAIL'),
    time(recovered_ms),
    time(published_ms),
    time(limit_ms || null),
    words,
  ]);
  return table([
    ['DRILL', 'SLOT', 'RESULT', 'MEASURED', 'PUBLISHED', 'LIMIT', 'WHAT CAME OF IT'].map((title) => paint('dim', title)),
    ...rows,
  ]);
}
