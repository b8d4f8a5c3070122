/** Sending to a browser that may be slow: its source is held first, the tab is cut last; it replays when it returns. */
import type { WebSocket } from 'ws';
import { limits } from '../../../base/limits.ts';

/** What can be stopped from producing: a socket, a link. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** Custom close code: the tab does not read. */
const TOO_SLOW = 4408;

export interface Outlet {
  send(data: Buffer | string, options?: { binary?: boolean }): void;
}

export function createOutlet(socket: WebSocket, source: Source): Outlet {
  let held = false;
  const taken = () => {
    if (!held || socket.bufferedAmount > limits.dashboard.socketPauseBytes / 2) return;
    held = false;
    source.resume();
  };
  return {
    send(data, options = {}) {
      if (socket.readyState !== socket.OPEN) return;
      // One frame may be larger than the limit, so what waits is judged before it is added.
      if (socket.bufferedAmount > limits.dashboard.socketQueueMaxBytes) return socket.close(TOO_SLOW, 'the page does not keep up');
      socket.send(data, options, taken);
      if (held || socket.bufferedAmount < limits.dashboard.socketPauseBytes) return;
      held = true;
      source.pause();
    },
  };
}
