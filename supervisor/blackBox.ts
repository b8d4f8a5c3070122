/**
 * The black boxes in `crash/`: one bounded file per abnormal end, `<slot>.json` the last one, `<slot>.1.json`
 * the one before, and so on. A full disk costs the box, not the restart.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { freemem, loadavg, release, totalmem, type, uptime } from 'node:os';
import { join } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { limits } from '../base/limits.ts';
import type { BlackBox, Evidence } from '../ipc/contracts/blackBox.ts';
import type { Liveness, ResourceSample } from '../ipc/contracts/supervisor.ts';
import { writeJsonAtomic } from '../state/atomicFile.ts';
import type { EndReport } from './endReport.ts';

/** What is known of an incarnation beside the report on its end. */
export interface BoxParts {
  report: EndReport;
  units: readonly string[];
  askedBy: BlackBox['asked_by'];
  code: string;
  version: string;
  settings: string;
  /** Any time before the end, oldest first; the last minutes are kept. */
  samples: readonly ResourceSample[];
  liveness: readonly { at: string; word: Liveness; why: string }[];
  evidence: Evidence | null;
  oomKills: number | null;
  redact: (text: string) => string;
}

export function composeBox({ report, units, askedBy, samples, liveness, redact, ...rest }: BoxParts): BlackBox {
  const sinceMs = Date.parse(report.last_exit.at) - limits.supervisor.boxSamplesMs;
  const box: BlackBox = {
    ...report,
    units: units.map(redact),
    asked_by: askedBy ?? null,
    code: rest.code,
    version: rest.version,
    settings: rest.settings,
    samples: samples.filter(({ at }) => Date.parse(at) >= sinceMs).slice(-limits.supervisor.boxSamplesMax),
    liveness: liveness.slice(-limits.supervisor.livenessHistoryMax),
    evidence: rest.evidence,
    machine: {
      node: process.version,
      os: `${type()} ${release()}`,
      uptime_s: Math.round(uptime()),
      memory_free_bytes: freemem(),
      memory_total_bytes: totalmem(),
      load: Math.round(loadavg()[0]! * 100) / 100,
      oom_kills: rest.oomKills,
    },
  };
  return cutToSize(box);
}

/** The oldest lines go first: what it said last tells most. */
function cutToSize(box: BlackBox): BlackBox {
  let spare = limits.supervisor.boxMaxBytes - Buffer.byteLength(JSON.stringify({ ...box, tail: [] }), 'utf8');
  const kept: string[] = [];
  for (const line of box.tail.toReversed()) {
    spare -= Buffer.byteLength(JSON.stringify(line), 'utf8') + 8;
    if (spare < 0) break;
    kept.push(line);
  }
  return { ...box, tail: kept.toReversed() };
}

/** Moves the older boxes of the slot up by one, writes this one, and keeps the folder within its size. */
export function saveBox(crashDir: string, box: BlackBox): boolean {
  try {
    for (let n = limits.supervisor.boxesPerSlotMax - 2; n >= 0; n--)
      shift(boxPath(crashDir, box.slot, n), boxPath(crashDir, box.slot, n + 1));
    writeJsonAtomic(boxPath(crashDir, box.slot, 0), box, { durable: false });
    prune(crashDir);
    return true;
  } catch {
    return false;
  }
}

/** The last box of a slot: what `status` says of its last end after the supervisor was started again. */
export function readLastBox(crashDir: string, slot: string): BlackBox | undefined {
  const path = boxPath(crashDir, slot, 0);
  if (!existsSync(path)) return undefined;
  try {
    const box = JSON.parse(readRegularText(path)) as BlackBox;
    return box.slot === slot && typeof box.last_exit?.summary === 'string' ? box : undefined;
  } catch {
    return undefined;
  }
}

const boxPath = (crashDir: string, slot: string, n: number): string => join(crashDir, n === 0 ? `${slot}.json` : `${slot}.${n}.json`);

function shift(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // there is none of that number
  }
}

function prune(crashDir: string): void {
  const files = readdirSync(crashDir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({ path: join(crashDir, name), stat: statSync(join(crashDir, name), { throwIfNoEntry: false }) }))
    .toSorted((a, b) => (b.stat?.mtimeMs ?? 0) - (a.stat?.mtimeMs ?? 0));
  let bytes = 0;
  for (const { path, stat } of files) {
    bytes += stat?.size ?? 0;
    if (bytes > limits.supervisor.boxesMaxBytes) rmSync(path, { force: true });
  }
}
