/** Finds browser sockets at whose other end nobody is any more: a closed laptop says no goodbye. */
import type { WebSocket } from 'ws';
import { limits } from '../../../base/limits.ts';

export interface Heartbeat extends Disposable {
  add(socket: WebSocket): void;
}

/** Pings every socket; two pings in a row without a sign of life end it. No timer runs while no socket is open. */
export function startHeartbeat(everyMs: number = limits.dashboard.heartbeatMs): Heartbeat {
  const missed = new Map<WebSocket, number>();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const beat = () => {
    for (const [socket, count] of missed) {
      if (count >= 2) socket.terminate();
      else socket.ping();
      missed.set(socket, count + 1);
    }
  };
  return {
    add(socket) {
      missed.set(socket, 0);
      for (const sign of ['pong', 'message'] as const) socket.on(sign, () => missed.set(socket, 0));
      socket.once('close', () => {
        missed.delete(socket);
        if (missed.size === 0) stop();
      });
      timer ??= setInterval(beat, everyMs).unref();
    },
    [Symbol.dispose]: stop,
  };
}
