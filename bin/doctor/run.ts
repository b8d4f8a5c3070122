/** Runs the checks side by side, repairs what may be repaired, and prints what was found. */
import { messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { openHome } from '../../state/home.ts';
import { hasFlag, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { print, printJson } from '../terminal.ts';
import { openScene, type Check, type Finding, type Group, type Scene } from './check.ts';
import { configurationChecks } from './configuration.ts';
import { homeChecks } from './homeChecks.ts';
import { installationChecks } from './installation.ts';
import { machineChecks } from './machine.ts';
import { serviceChecks } from './serviceChecks.ts';
import { doctorView } from './view.ts';

export const checks: readonly Check[] = [...installationChecks, ...homeChecks, ...serviceChecks, ...configurationChecks, ...machineChecks];

/** A row as `--json` prints it. */
export interface DoctorRow {
  id: string;
  group: Group;
  status: Finding['status'];
  what: string;
  detail: string;
  fix: string | null;
  fixable: boolean;
  /** What `--fix` did; null when it did nothing. */
  fixed: string | null;
}

/** Exit code 0 when nothing fails; warnings are no failure. */
export async function runDoctor(input: Input, only?: Group): Promise<number> {
  const options = { online: hasFlag(input, 'online'), system: hasFlag(input, 'system') };
  const home = openHome();
  const chosen = checks.filter(({ group }) => only === undefined || group === only);
  const rows = await withProgress('checking', () => examine(chosen, openScene(home, options)));
  const final = hasFlag(input, 'fix') ? await withProgress('repairing', () => repair(rows, () => openScene(home, options))) : rows;
  const table = final.map(rowOf);
  const failed = table.some(({ status }) => status === 'fail');
  if (input.json) printJson({ ok: !failed, home: home.root, checks: table });
  else print(doctorView(table));
  return failed ? exitCodes.failed : exitCodes.ok;
}

interface Row {
  check: Check;
  finding: Finding;
  fixed?: string;
}

async function examine(chosen: readonly Check[], scene: Scene): Promise<Row[]> {
  const rows = await Promise.all(
    chosen.map(async (check) => {
      const findings = await look(check, scene);
      return findings.map((finding): Row => ({ check, finding }));
    }),
  );
  return rows.flat();
}

/** A check that throws is a finding too: it must not hide the others. */
async function look(check: Check, scene: Scene): Promise<Finding[]> {
  try {
    return [await check.look(scene)].flat();
  } catch (thrown) {
    return [
      {
        status: 'fail',
        detail: `it could not be checked: ${messageOf(thrown)}`,
        fix: 'this is a defect: report it with `agent doctor --json`',
      },
    ];
  }
}

/** Repairs, then looks again at what was repaired: only what is seen counts as fixed. */
async function repair(rows: Row[], freshScene: () => Scene): Promise<Row[]> {
  const done = new Map<Check, string>();
  const failed = new Map<Check, string>();
  for (const { check, finding } of rows) {
    if (!finding.repair || done.has(check)) continue;
    try {
      done.set(check, await finding.repair());
    } catch (thrown) {
      failed.set(check, messageOf(thrown));
    }
  }
  const again = await examine([...done.keys()], freshScene());
  const told = new Set<Check>();
  return rows.flatMap((row) => {
    const { check, finding } = row;
    const why = failed.get(check);
    if (why !== undefined) return [{ ...row, finding: { ...finding, detail: `${finding.detail} (--fix failed: ${why})` } }];
    const fixed = done.get(check);
    if (fixed === undefined) return [row];
    if (told.has(check)) return [];
    told.add(check);
    return again.filter((one) => one.check === check).map((one) => ({ ...one, fixed }));
  });
}

const rowOf = ({ check, finding, fixed }: Row): DoctorRow => ({
  id: finding.of === undefined ? check.id : `${check.id}:${finding.of}`,
  group: check.group,
  status: finding.status,
  what: finding.of === undefined ? check.what : `${check.what} ${finding.of}`,
  detail: finding.detail,
  fix: finding.fix ?? null,
  fixable: finding.repair !== undefined,
  fixed: fixed ?? null,
});
