/** Who holds a TCP port, where Linux shows it: the listening socket's inode, then the process that has it open. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface PortHolder {
  pid: number;
  /** Its command line, shortened. */
  command: string;
}

const LISTENING = '0A';
const COMMAND_MAX_CHARS = 120;

/** Undefined where /proc does not tell: another system, or a process of another user. */
export function holderOf(port: number): PortHolder | undefined {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => listeningInodes(path, port)));
  if (inodes.size === 0) return undefined;
  for (const name of directory('/proc')) {
    if (/^\d+$/.test(name) && holdsOne(name, inodes)) return { pid: Number(name), command: commandOf(name) };
  }
  return undefined;
}

/** Rows are `sl local remote state … inode`; the local address ends in the port as four hexadecimal digits. */
function listeningInodes(path: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return lines(path)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) && fields[3] === LISTENING)
    .map((fields) => fields[9]!);
}

function holdsOne(pid: string, inodes: ReadonlySet<string>): boolean {
  return directory(`/proc/${pid}/fd`).some((fd) => {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    } catch {
      return false;
    }
  });
}

function commandOf(pid: string): string {
  const [line = ''] = lines(`/proc/${pid}/cmdline`);
  return line.replace(/\0+$/, '').replaceAll('\0', ' ').slice(0, COMMAND_MAX_CHARS) || 'unknown';
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}

function directory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
