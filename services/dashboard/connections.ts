/**
 * Bounds the connections of clients that have not proved who they are. Past the cap of an address, or of the whole
 * server, the oldest unproved one is closed: whoever only holds connections cannot keep out a user who signs in.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../base/limits.ts';
import { networkKey } from '../../base/networkKey.ts';

const { connectionsMax, connectionsPerAddress } = limits.dashboard;

export interface Connections {
  /** Its client has been admitted: the connection is no longer one of the first to be closed. */
  proved(socket: Socket): void;
}

/** `isShared`: many users may come from that address (this machine, a trusted proxy); only the cap of the server holds there. */
export function boundConnections(server: Server, isShared: (address: string) => boolean): Connections {
  /** In order of arrival. */
  const unproved = new Set<Socket>();
  const open = new Map<string, Set<Socket>>();
  let total = 0;
  server.maxConnections = connectionsMax + limits.dashboard.connectionsSpare;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const key = networkKey(address);
    const own = open.get(key) ?? new Set();
    open.set(key, own.add(socket));
    unproved.add(socket);
    total++;
    socket.once('close', () => {
      total--;
      unproved.delete(socket);
      own.delete(socket);
      if (own.size === 0 && open.get(key) === own) open.delete(key);
    });
    if (!isShared(address) && own.size > connectionsPerAddress) closeOldest(own, socket);
    else if (total > connectionsMax) closeOldest(unproved, socket);
  });

  function closeOldest(among: Set<Socket>, newest: Socket): void {
    for (const socket of among) if (unproved.has(socket) && !socket.destroyed) return void socket.destroy();
    newest.destroy();
  }
  return { proved: (socket) => void unproved.delete(socket) };
}
