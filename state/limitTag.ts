/**
 * A tag that a process tree cannot drop by clearing its environment: a resource limit, inherited by every
 * descendant whatever its environment, session or parent, and readable by all in /proc/<pid>/limits. The limit
 * is RLIMIT_RTTIME, which concerns real-time scheduling alone: years of it are no restriction. Linux only.
 */
import { existsSync, readFileSync } from 'node:fs';
import { digest } from '../base/ids.ts';

/** `<family>.<rest>`, or one word that is its own family. */
export type Tag = string;

/** A limit is `<nesting> <family> <tag>`, in bits. */
const TAG_BITS = 56n;
const HALF_HEX = Number(TAG_BITS) / 8;
/** Highest nesting: far below the sign bit, and decades of microseconds. */
const NESTING_MAX = 32n;

/** Whether a limit belongs to what is looked for. */
export type LimitMatch = (limit: bigint) => boolean;

const hashOf = (text: string): bigint => BigInt(`0x${digest(text, HALF_HEX)}`);
const familyOf = (tag: Tag): string => tag.split('.', 1)[0]!;
const bitsOf = (tag: Tag): bigint => (hashOf(familyOf(tag)) << (TAG_BITS / 2n)) | hashOf(tag);

export function limitOfTag(tag: Tag): LimitMatch {
  const bits = bitsOf(tag);
  return (limit) => BigInt.asUintN(Number(TAG_BITS), limit) === bits;
}

export function limitOfFamily(family: string): LimitMatch {
  const bits = hashOf(family);
  return (limit) => BigInt.asUintN(Number(TAG_BITS), limit) >> (TAG_BITS / 2n) === bits;
}

/**
 * The command that runs `file` under the limit of the tag, and under more limits by their names of prlimit(1); unchanged
 * where there is no `prlimit`. The pid stays the same.
 */
export function tagCommand(
  tag: Tag,
  file: string,
  args: readonly string[],
  more: Readonly<Record<string, number>> = {},
): { file: string; args: string[] } {
  const { program, nesting } = setting();
  if (program === undefined) return { file, args: [...args] };
  const limit = (nesting << TAG_BITS) | bitsOf(tag);
  const others = Object.entries(more).map(([name, value]) => `--${name}=${value}:${value}`);
  return { file: program, args: [`--rttime=${limit}:${limit}`, ...others, '--', file, ...args] };
}

/** Undefined = none was set, or the process is gone. */
export function limitOf(pid: number | 'self'): bigint | undefined {
  try {
    const soft = /^Max realtime timeout +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1];
    return soft === undefined ? undefined : BigInt(soft);
  } catch {
    return undefined;
  }
}

interface Setting {
  program: string | undefined;
  nesting: bigint;
}

let settingOnce: Setting | undefined;

/** A limit can be lowered but not raised: a service that runs inside a tagged tree uses the nesting below. */
function setting(): Setting {
  if (settingOnce) return settingOnce;
  const own = limitOf('self');
  const nesting = own === undefined ? NESTING_MAX : (own >> TAG_BITS) - 1n;
  const program =
    process.platform === 'linux' && nesting > 0n ? ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path)) : undefined;
  return (settingOnce = { program, nesting });
}
