/** Whose program is at the other end of a TCP connection within this machine, where Linux shows it. */
import { readFileSync } from 'node:fs';

const LISTENING = '0A';

/** Ports of a connection: of the asking program, and of ours. */
interface Ports {
  theirs: number;
  ours: number;
}

/**
 * True when a user who is neither this one nor root holds that end. False where nothing tells: another system, or an end
 * outside of this machine's own network (WSL, a container).
 */
export function isOtherUser(ports: Ports, tables: () => readonly string[] = readTables): boolean {
  const uid = process.getuid?.();
  return uid !== undefined && tables().some((table) => holdersOf(table, ports).some((holder) => holder !== uid && holder !== 0));
}

/** Rows are `sl local remote state … uid`; an address ends in the port as four hexadecimal digits. */
function holdersOf(table: string, { theirs, ours }: Ports): number[] {
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, remote, state]) => state !== LISTENING && local?.endsWith(hex(theirs)) && remote?.endsWith(hex(ours)))
    .map((fields) => Number(fields[7]));
}

const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;

const readTables = (): string[] =>
  ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  });
