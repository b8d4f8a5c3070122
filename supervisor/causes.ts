/**
 * Why a process ended, from its exit and its last words: one table of known causes with their fixes, and
 * signatures that are equal for equal causes (no path, number, address or time in them). Pure.
 */
import type { Shortage, ShortageKind } from '../ipc/contracts/supervisor.ts';
import type { ErrorCode } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { digest } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { KernelKill } from './kernelKills.ts';
import { isDebuggerTalk } from './mainStack.ts';
import { shortageOfCode, shortageOfErrno } from './shortage.ts';
import type { MissingFile } from './spawnFailure.ts';

export interface Ending {
  /** The user's own program: its settings stand under `services:`. */
  isSidecar?: boolean | undefined;
  code: number | null;
  signal: string | null;
  spawnError?: string | undefined;
  /** What was missing when it could not be started. */
  missing?: MissingFile | undefined;
  /** A stop signal that the worker received and the supervisor did not send. */
  outsideSignal?: string | undefined;
  /** Set when the supervisor itself killed it: "because it …". */
  killedFor?: string | undefined;
  /** The command under way when it ended: `restart by cli`. */
  askedBy?: string | undefined;
  tail: readonly string[];
  memory?: MemoryAtEnd | undefined;
}

/** What is known of memory at the end; each is optional, none is a guess. */
export interface MemoryAtEnd {
  /** Kills for lack of memory that the kernel counted in its cgroup while it lived. */
  oomKills?: number | null | undefined;
  rssBytes?: number | null | undefined;
  hardBytes?: number | undefined;
  freeBytes?: number | undefined;
  totalBytes?: number | undefined;
  kernel?: KernelKill | undefined;
}

export interface Explanation {
  /** Predicate of a sentence about the slot: "crashed: the disk is full". */
  cause: string;
  fix: string | null;
  /** A restart cannot help. */
  permanent: boolean;
  signature: string;
  /** What it lacked, where that can come back without a person. */
  shortage?: Shortage | undefined;
}

interface Known {
  name: string;
  pattern: RegExp;
  cause: string | ((match: RegExpExecArray) => string);
  fix: string;
  permanent?: boolean;
  /** Lines at the end of a sidecar in which it counts: its words may also be about something that passed. */
  sidecarLines?: number;
  /** The first group of the pattern is where: an address, a path. */
  shortage?: ShortageKind;
}

const REINSTALL = 'reinstall the package (npm ci in a checkout)';

const HEAP: Known = {
  name: 'heap',
  pattern: /JavaScript heap out of memory|Reached heap limit|ERR_WORKER_OUT_OF_MEMORY/,
  cause: 'ran out of JavaScript heap memory',
  fix: 'if it comes back, set supervisor.workers.<slot>.memory_soft_mb so that it is recycled in time, and report what it was doing',
};

/** How Node and V8 die when the system refuses a thread, and what others say of a refused fork. */
const PROCESSES: Known = {
  name: 'too many processes',
  pattern: /uv_thread_create|pthread_create|Resource temporarily unavailable|\b(?:fork|clone|spawn)\b.*\bEAGAIN\b/,
  cause: 'failed: the system allowed no further process or thread',
  fix: 'end processes of this user or raise the limit (TasksMax= and LimitNPROC= in the unit, ulimit -u in a shell, pids.max of the container)',
  shortage: 'processes',
  sidecarLines: 3,
};

/** Recognised in the last lines, in this order: what is more special stands first. */
const KNOWN: readonly Known[] = [
  HEAP,
  {
    name: 'native module missing',
    pattern: /ERR_DLOPEN_FAILED|NODE_MODULE_VERSION|invalid ELF header|was compiled against a different Node\.js version/,
    cause: 'failed: a native module does not load',
    fix: 'reinstall the package on this machine (npm ci in a checkout)',
    permanent: true,
  },
  {
    name: 'module missing',
    pattern: /(?:Cannot find (?:module|package) ?'?(\/[^' ]*)?)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND/,
    cause: 'failed: a module is missing',
    fix: REINSTALL,
    shortage: 'program',
  },
  {
    name: 'does not parse',
    pattern: /ERR_(?:INVALID_TYPESCRIPT_SYNTAX|UNSUPPORTED_TYPESCRIPT_SYNTAX)|^SyntaxError:/,
    cause: 'failed: its code does not parse',
    fix: REINSTALL,
    shortage: 'program',
  },
  {
    name: 'port in use',
    pattern: /EADDRINUSE(?:.*?(\S+:\d+))?/,
    cause: ([, address]) => `failed: the address ${address ?? 'it listens on'} is taken by another process`,
    fix: 'end the other process (ss -ltnp names it), or configure another port',
    shortage: 'port',
  },
  {
    name: 'disk full',
    pattern: /ENOSPC|EDQUOT|SQLITE_FULL|database or disk is full|No space left on device|Disk quota exceeded/,
    cause: 'failed: the disk is full',
    fix: 'free some space or inodes (df -h, df -i); agent logs and backups/ are bounded, other things may not be',
    shortage: 'space',
  },
  {
    name: 'too many files',
    pattern: /EMFILE|ENFILE|too many open files/i,
    cause: 'failed: it had too many files open',
    fix: 'raise the limit (LimitNOFILE= in the unit, ulimit -n in a shell); `agent why` shows how many were open',
    shortage: 'descriptors',
  },
  PROCESSES,
  {
    name: 'no memory',
    pattern: /\bENOMEM\b|Cannot allocate memory/,
    cause: 'failed: the system gave it no memory',
    fix: 'free some memory, or allow overcommit (vm.overcommit_memory)',
    shortage: 'memory',
    sidecarLines: 3,
  },
  {
    name: 'store corrupt',
    pattern: /SQLITE_CORRUPT|SQLITE_NOTADB|database disk image is malformed|file is not a database|STORE_CORRUPT/,
    cause: 'failed: a database of it is damaged',
    fix: '`agent recover state|gateway|cron|mcp` (the store that the message names) recovers every readable row',
    permanent: true,
  },
  {
    name: 'store locked',
    pattern: /SQLITE_BUSY|database is locked/,
    cause: 'failed: a database of it is locked by another process',
    fix: 'end the other process (fuser names it); only one service may run on a home',
    shortage: 'store',
  },
  {
    name: 'permission',
    pattern: /\b(?:EACCES|EPERM)\b[^\n]*?'([^']+)'|\b(?:EACCES|EPERM|Permission denied)\b/,
    cause: ([, path]) => `failed: it may not use ${path ?? 'something it needs'}`,
    fix: 'give the file to the user that runs the service (ls -l; agent doctor)',
    permanent: true,
  },
];

const NATIVE = 'reinstall the package on this machine; if it comes back, report it with the core (coredumpctl)';
const NATIVE_OF_ANOTHER = 'update or reinstall that program; coredumpctl shows its core, which its authors need';

const SIGNALS: Record<string, { cause: string; fix: string | null }> = {
  SIGSEGV: { cause: 'crashed in native code (SIGSEGV, bad memory access)', fix: NATIVE },
  SIGBUS: { cause: 'crashed in native code (SIGBUS; also a full disk under a memory-mapped file)', fix: `check df -h; ${NATIVE}` },
  SIGILL: { cause: 'crashed in native code (SIGILL, an instruction this processor lacks)', fix: NATIVE },
  SIGFPE: { cause: 'crashed in native code (SIGFPE)', fix: NATIVE },
  SIGABRT: {
    cause: 'was ended by SIGABRT: it aborted without a message, or another process sent the signal',
    fix: null,
  },
  SIGXCPU: { cause: 'was ended because it used up its limit of processor time', fix: 'raise the limit (ulimit -t, LimitCPU=)' },
  SIGXFSZ: { cause: 'was ended because a file passed the size limit', fix: 'raise the limit (ulimit -f, LimitFSIZE=)' },
  SIGSYS: { cause: 'was ended for a forbidden system call (SIGSYS)', fix: 'loosen SystemCallFilter= in the unit' },
};

/** `CODE: message — fix`, as a worker of ours prints its last error. */
const OWN_ERROR = /^([A-Z][A-Z_]+): (.*?)(?: — (.*))?$/;
/** What others write where our codes stand. */
const LEVELS = new Set(['INFO', 'WARN', 'WARNING', 'DEBUG', 'TRACE', 'NOTICE', 'NOTE', 'ERROR', 'FATAL', 'FATAL_ERROR']);
const PERMANENT_CODES = new Set(['CONFIG_INVALID', 'STORE_CORRUPT', 'UNKNOWN_PROFILE', 'HOME_UNUSABLE', 'ALREADY_RUNNING']);

export function explain(ending: Ending): Explanation {
  const { cause, fix, permanent = false, key, shortage } = classify(ending);
  return { cause, fix, permanent, signature: digest(normalise(key), 12), ...(shortage ? { shortage } : {}) };
}

interface Classified {
  cause: string;
  fix: string | null;
  permanent?: boolean;
  key: string;
  shortage?: Shortage | undefined;
}

function classify(ending: Ending): Classified {
  const { code, signal, spawnError, killedFor } = ending;
  if (killedFor)
    return { cause: `was killed by the supervisor because it ${killedFor}`, fix: fixOfKill(ending, killedFor), key: `killed ${killedFor}` };
  if (spawnError) return notSpawned(ending, spawnError);
  if (signal) return (DIES_OF_SHORTAGE.has(signal) ? knownCause(ending, [HEAP, PROCESSES]) : undefined) ?? bySignal(ending, signal);
  if (code === null || code === exitCodes.ok) return byCode(ending);
  return ownError(ending) ?? knownCause(ending, KNOWN) ?? byCode(ending);
}

/** How V8 ends a process whose heap is full, or that got no thread. */
const DIES_OF_SHORTAGE = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);

const MISSING: Record<MissingFile['what'], { cause: string; fix: string }> = {
  program: { cause: 'the program PATH does not exist', fix: 'install it, or correct its path' },
  interpreter: {
    cause: 'the interpreter PATH, named after #! in its first line, does not exist',
    fix: 'install PATH, or correct the first line of the script',
  },
  folder: { cause: 'its working directory PATH does not exist', fix: 'create PATH, or configure another working directory' },
};

const SPAWN_FIXES: Partial<Record<ShortageKind, string>> = {
  processes: PROCESSES.fix,
  descriptors: 'raise the limit of open files of the supervisor (LimitNOFILE= in the unit, ulimit -n in a shell)',
  memory: 'free some memory, or allow overcommit (vm.overcommit_memory)',
};

function notSpawned({ missing, isSidecar }: Ending, spawnError: string): Classified {
  const kind = shortageOfErrno(/\bE[A-Z]+\b/.exec(spawnError)?.[0]);
  const found = missing && MISSING[missing.what];
  const named = (text: string) => text.replaceAll('PATH', missing?.path ?? '');
  const fix = found ? named(found.fix) : ((kind && SPAWN_FIXES[kind]) ?? 'check that the program exists and may be run (chmod +x)');
  const { command, folder } = { command: 'services.<slot>.command', folder: 'services.<slot>.cwd' };
  return {
    cause: `could not be started: ${found ? named(found.cause) : spawnError}`,
    fix: isSidecar && missing ? `${fix} (${missing.what === 'folder' ? folder : command} in config.yaml)` : fix,
    permanent: kind === undefined,
    key: `spawn ${missing?.what ?? spawnError}`,
    // A name without a folder is looked up in PATH, by the start itself.
    shortage: kind && { kind, ...(missing?.path.startsWith('/') ? { at: missing.path } : {}) },
  };
}

/** Only what it said at the very end is about the end. */
const LAST_WORDS = 40;

function fixOfKill({ isSidecar }: Ending, killedFor: string): string | null {
  if (/SIGSTOP/.test(killedFor))
    return 'somebody stopped it (kill -STOP, ctrl-Z, a freezer): let it go on with kill -CONT within its limit';
  if (/not ready within/.test(killedFor)) {
    return isSidecar
      ? 'see that what services.<slot>.ready waits for comes true, or give it more services.<slot>.start_timeout_seconds'
      : 'read its last lines; a slow machine may need a larger supervisor.workers.<slot>.startup_ms';
  }
  if (/memory/.test(killedFor))
    return `raise ${isSidecar ? 'services.<slot>.memory_max_mb' : 'supervisor.workers.<slot>.memory_hard_mb'} if it needs more; the samples below show how it grew`;
  if (/file descriptor/.test(killedFor))
    return 'raise the limit (LimitNOFILE= in the unit, ulimit -n in a shell); if the number of descriptors below grows without end, report it';
  if (/main loop|step of|sign of life/.test(killedFor)) return 'the stack below shows where it stood; report it';
  return null;
}

function ownError({ tail }: Ending): Classified | undefined {
  const own = tail
    .slice(-LAST_WORDS)
    .map((line) => OWN_ERROR.exec(line))
    .findLast((match) => match !== null && !LEVELS.has(match[1]!));
  if (!own) return undefined;
  const [, code, message, fix] = own;
  const kind = shortageOfCode[code as ErrorCode];
  const shortage = kind && { kind, at: kind === 'port' ? addressIn(message!) : undefined };
  return { cause: `stopped: ${message}`, fix: fix ?? null, permanent: PERMANENT_CODES.has(code!), key: code!, shortage };
}

/** `127.0.0.1:9119`, or `port 8644 on 127.0.0.1`. */
function addressIn(message: string): string | undefined {
  const [, port, host] = /\bport (\d+) on (\S+)/.exec(message) ?? [];
  return port ? `${host}:${port}` : /\S+:\d+/.exec(message)?.[0];
}

function knownCause({ tail, isSidecar }: Ending, table: readonly Known[]): Classified | undefined {
  for (const { name, pattern, cause, fix, permanent = false, shortage: kind, sidecarLines = LAST_WORDS } of table) {
    const found = tail.slice(isSidecar ? -sidecarLines : -LAST_WORDS).map((line) => pattern.exec(line));
    // Of several lines the one that names where.
    const match = found.findLast((line) => line?.[1]) ?? found.findLast((line) => line !== null);
    const shortage = match && kind && { kind, at: match[1] };
    if (match)
      return { cause: typeof cause === 'string' ? cause : cause(match), fix, permanent, key: name, ...(shortage ? { shortage } : {}) };
  }
  return undefined;
}

function bySignal({ memory, askedBy, isSidecar }: Ending, signal: string): Classified {
  if (signal === 'SIGKILL') {
    const end = killed(memory, isSidecar);
    return { ...end, key: `SIGKILL ${end.key}` };
  }
  const known = SIGNALS[signal];
  if (known) return { ...known, fix: isSidecar && known.fix ? known.fix.replace(NATIVE, NATIVE_OF_ANOTHER) : known.fix, key: signal };
  const who = askedBy ? ` while "${askedBy}" was under way` : ' that the supervisor did not send';
  return { cause: `was ended by ${signal}${who}`, fix: null, key: signal };
}

/** SIGKILL names no sender: what the kernel counted proves it, the last measured memory makes it probable. */
function killed(memory: MemoryAtEnd = {}, isSidecar = false): Classified {
  const { oomKills, rssBytes, hardBytes, freeBytes, totalBytes, kernel } = memory;
  const fix = isSidecar
    ? 'give the machine more memory, or the program less to do; services.<slot>.memory_max_mb is its own limit'
    : 'give it more memory, or lower what it may take: supervisor.workers.<slot>.memory_soft_mb recycles it in time';
  if (kernel?.logged) {
    const what = kernel.logged === 'cgroup' ? 'the memory limit of its cgroup was reached' : 'the machine ran out of memory';
    return { cause: `was killed by the kernel because ${what} (SIGKILL, named in the kernel log)`, fix, key: 'oom' };
  }
  if (oomKills)
    return { cause: 'was killed by the kernel because its memory limit was reached (SIGKILL, counted as oom_kill)', fix, key: 'oom' };
  if (rssBytes && hardBytes && rssBytes > hardBytes * NEAR_LIMIT) {
    return {
      cause: `was killed, probably because memory ran out: it held ${mebi(rssBytes)} of its ${mebi(hardBytes)} (SIGKILL)`,
      fix,
      key: 'oom',
    };
  }
  if (freeBytes !== undefined && totalBytes && freeBytes < totalBytes * LOW_MEMORY) {
    return {
      cause: `was killed, probably by the kernel because the machine ran out of memory: ${mebi(freeBytes)} were left (SIGKILL)`,
      fix: `${fix}; dmesg names what the kernel killed`,
      key: 'oom',
    };
  }
  if (kernel?.counted) {
    return {
      cause: `was killed with SIGKILL, probably by the kernel: it killed ${kernel.counted} process(es) for lack of memory at that time`,
      fix: `${fix}; dmesg names what the kernel killed`,
      key: 'oom',
    };
  }
  if (kernel?.counted === 0)
    return { cause: 'was killed with SIGKILL by another process; the kernel killed nothing for lack of memory', fix: null, key: 'by hand' };
  return {
    cause: 'was killed with SIGKILL; who sent it is not known',
    fix: 'dmesg shows whether the kernel killed it for lack of memory',
    key: 'unknown',
  };
}

const NEAR_LIMIT = 0.9;
const LOW_MEMORY = 0.05;
const mebi = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

function byCode({ code, tail, outsideSignal }: Ending): Classified {
  if (code === null) return { cause: 'ended while no supervisor watched', fix: null, key: 'unwatched' };
  if (code === exitCodes.ok && outsideSignal) {
    return {
      cause: `was ended by ${outsideSignal} from another process, not by the supervisor; it drained and exited with code 0`,
      fix: `use \`agent stop <slot>\` to stop it for good; a signal sent to it only restarts it`,
      key: `outside ${outsideSignal}`,
    };
  }
  if (code === exitCodes.ok) return { cause: 'exited with code 0 without being asked to stop', fix: null, key: 'exit ok' };
  if (code === exitCodes.restart) return { cause: 'asked to be started again', fix: null, key: 'exit restart' };
  if (code === exitCodes.config) {
    return {
      cause: 'refused its configuration',
      fix: 'read the last lines, correct the configuration, then start it',
      permanent: true,
      key: 'exit config',
    };
  }
  if (code === 126 || code === 127) {
    return {
      cause: `could not run its program (exit code ${code})`,
      fix: 'check the path and the permissions of the command in config.yaml',
      permanent: true,
      key: `exit ${code === 126 ? 'not executable' : 'not found'}`,
    };
  }
  if (code > 128 && code <= 192) {
    return {
      cause: `ended with code ${code}: the program in its shell was ended by signal ${code - 128}`,
      fix: null,
      key: `exit by signal ${letter(code)}`,
    };
  }
  const error = errorLine(tail);
  const where = ownFrame(tail);
  return {
    cause: `crashed with code ${code}${error ? ` (${error.slice(0, 200)})` : ''}`,
    fix: null,
    key: `exit ${letter(code)} ${error ?? ''} ${where ?? ''}`,
  };
}

/** Exit codes must not become N: they tell causes apart. */
const letter = (code: number): string => String(code).replace(/\d/g, (figure) => 'abcdefghij'[Number(figure)]!);

/** The last line that names an error; a stack stands below it. */
export function errorLine(tail: readonly string[]): string | undefined {
  return tail
    .findLast((line) => /\b(?:[A-Z]\w*)?(?:Error|Exception)\b/.test(line) && !/^\s+at /.test(line) && !isDebuggerTalk(line))
    ?.trim();
}

/** Innermost frame of code that is neither Node's nor a package's: `Turn.run (services/agent/turns.ts)`. */
export function ownFrame(tail: readonly string[]): string | undefined {
  const start = tail.findLastIndex((line) => /\b(?:[A-Z]\w*)?(?:Error|Exception)\b/.test(line) && !/^\s+at /.test(line));
  const frames = tail.slice(start + 1).filter((line) => /^\s+at /.test(line));
  const own = frames.find((line) => !/node:|node_modules|native code/.test(line)) ?? frames[0];
  return own
    ?.trim()
    .replace(/^at (?:async )?/, '')
    .replace(/(?::\d+){1,2}\)?$/, (end) => (end.endsWith(')') ? ')' : ''));
}

/** Equal causes give equal texts: paths become their last name, numbers, addresses and quoted values a letter. */
export function normalise(text: string): string {
  return (
    text
      .slice(0, limits.supervisor.tailLineMaxChars)
      .replace(/(?:file:\/\/)?(?:\/[\w.@+-]+)+\/([\w.@+-]+)/g, '$1')
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/gi, 'U')
      .replace(/\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, 'H')
      .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, 'Q')
      // A duration, with its unit, and any other number.
      .replace(/\d+(?:\.\d+)?(?: ?(?:ms|min|s|h|d)\b)?(?: \d+ (?:min|h)\b)?/g, 'N')
      .trim()
  );
}
