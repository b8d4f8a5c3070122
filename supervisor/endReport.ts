/**
 * Why an incarnation ended, in a sentence, with a signature that groups equal causes. Kept on disk so
 * that `agent why` answers with everything down.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../base/exitCodes.ts';
import { digest } from '../base/ids.ts';
import { formatDuration } from '../base/time.ts';
import type { LastExit } from '../ipc/contracts/supervisor.ts';
import { writeJsonAtomic } from '../state/atomicFile.ts';
import type { ExitFacts } from './incarnation.ts';

export interface EndReport {
  slot: string;
  pid: number;
  last_exit: LastExit;
  /** What to do, where it is known. */
  fix: string | null;
  /** A restart cannot help. */
  permanent: boolean;
  lived_ms: number;
  ready_ms: number | null;
  /** Work in flight at the last sign of life. */
  active_work: number;
  /** Last lines it printed, redacted. */
  tail: string[];
}

export interface EndFacts {
  slot: string;
  pid: number;
  exit: ExitFacts;
  atMs: number;
  livedMs: number;
  readyMs: number | undefined;
  activeWork: number;
  /** Set when the supervisor itself killed it. */
  killedFor?: string | undefined;
  tail: string[];
}

/** Causes that stay until somebody changes something, recognised in the last lines. */
const PERMANENT: { pattern: RegExp; cause: string; fix: string }[] = [
  {
    pattern: /ERR_MODULE_NOT_FOUND|Cannot find (?:module|package)/,
    cause: 'a module is missing',
    fix: 'reinstall the package (npm ci in a checkout)',
  },
  {
    pattern: /ERR_DLOPEN_FAILED|NODE_MODULE_VERSION|invalid ELF header/,
    cause: 'a native module does not load',
    fix: 'reinstall the package on this machine',
  },
  {
    pattern: /ERR_(?:INVALID_TYPESCRIPT_SYNTAX|UNSUPPORTED_TYPESCRIPT_SYNTAX)|SyntaxError:/,
    cause: 'its code does not parse',
    fix: 'reinstall the package',
  },
];

/** `CODE: message — fix`, as a worker prints its last error. */
const OWN_ERROR = /^([A-Z][A-Z_]+): (.*?)(?: — (.*))?$/;
const PERMANENT_CODES = new Set(['PORT_IN_USE', 'CONFIG_INVALID', 'STORE_CORRUPT', 'UNKNOWN_PROFILE', 'HOME_UNUSABLE', 'ALREADY_RUNNING']);

export function reportEnd(facts: EndFacts): EndReport {
  const { cause, fix, permanent, key } = explain(facts);
  const when =
    facts.readyMs === undefined
      ? `before it was ready (${formatDuration(facts.livedMs)} after its start)`
      : `after ${formatDuration(facts.readyMs)} of service`;
  const lost = facts.activeWork > 0 ? `, with ${facts.activeWork} unit(s) of work in flight` : '';
  return {
    slot: facts.slot,
    pid: facts.pid,
    last_exit: {
      code: facts.exit.code,
      signal: facts.exit.signal,
      at: new Date(facts.atMs).toISOString(),
      signature: digest(key, 12),
      summary: `${facts.slot} ${cause} ${when}${lost}`,
    },
    fix,
    permanent,
    lived_ms: Math.round(facts.livedMs),
    ready_ms: facts.readyMs === undefined ? null : Math.round(facts.readyMs),
    active_work: facts.activeWork,
    tail: facts.tail,
  };
}

/** `crash/<slot>.json`: one report a slot, the last abnormal end. A full disk costs the report, not the restart. */
export function saveEndReport(crashDir: string, report: EndReport): boolean {
  try {
    writeJsonAtomic(reportPath(crashDir, report.slot), report, { durable: false });
    return true;
  } catch {
    return false;
  }
}

export function readEndReport(crashDir: string, slot: string): EndReport | undefined {
  const path = reportPath(crashDir, slot);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as EndReport;
  } catch {
    return undefined;
  }
}

const reportPath = (crashDir: string, slot: string): string => join(crashDir, `${slot}.json`);

function explain({ exit, tail, killedFor }: EndFacts): { cause: string; fix: string | null; permanent: boolean; key: string } {
  if (killedFor)
    return { cause: `was killed by the supervisor because it ${killedFor}`, fix: null, permanent: false, key: `killed ${killedFor}` };
  if (exit.spawnError)
    return {
      cause: `could not be started: ${exit.spawnError}`,
      fix: 'check that the program exists and may be run',
      permanent: true,
      key: `spawn ${exit.spawnError}`,
    };
  const own = tail.map((line) => OWN_ERROR.exec(line)).findLast((match) => match !== null);
  if (own && exit.code !== 0) {
    const [, code, message, fix] = own;
    return { cause: `stopped: ${message}`, fix: fix ?? null, permanent: PERMANENT_CODES.has(code!), key: `${code}` };
  }
  const known = PERMANENT.find(({ pattern }) => tail.some((line) => pattern.test(line)));
  if (known && exit.code !== 0) return { cause: `failed: ${known.cause}`, fix: known.fix, permanent: true, key: known.cause };
  if (exit.signal === 'SIGKILL')
    return {
      cause: 'was killed with SIGKILL (by hand, or by the kernel when memory ran out)',
      fix: null,
      permanent: false,
      key: 'SIGKILL',
    };
  if (exit.signal) return { cause: `was ended by ${exit.signal}`, fix: null, permanent: false, key: exit.signal };
  if (exit.code === null) return { cause: 'ended while no supervisor watched', fix: null, permanent: false, key: 'unwatched' };
  if (exit.code === exitCodes.ok) return { cause: 'left with code 0 although nobody asked', fix: null, permanent: false, key: 'exit 0' };
  if (exit.code === exitCodes.restart) return { cause: 'asked to be started again', fix: null, permanent: false, key: 'exit 75' };
  if (exit.code === exitCodes.config)
    return {
      cause: 'refused its configuration',
      fix: 'read the last lines, correct the configuration, then start it',
      permanent: true,
      key: 'exit 78',
    };
  const error = tail.findLast((line) => /\b(?:[A-Z]\w*)?(?:Error|Exception)\b/.test(line));
  return {
    cause: `crashed with code ${exit.code}${error ? ` (${error.trim().slice(0, 200)})` : ''}`,
    fix: null,
    permanent: false,
    key: `exit ${exit.code} ${error?.replace(/\d+/g, 'N').slice(0, 120) ?? ''}`,
  };
}
