/**
 * Leaving while another process already serves on the same listener: connections that pages keep are not cut
 * under a request on its way, they are asked to close with the next answer.
 */
import { Server as NetServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';

export interface HandOver {
  /** Takes no new connection, and resolves when the kept ones are gone, when they had their time, or when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function prepareHandOver(app: FastifyInstance): HandOver {
  return {
    async run(signal) {
      // Node writes `Connection: close` by itself then.
      app.server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false;
      });
      // The http server's own close would end the idle connections at once, one of them just as its page asks again.
      const gone = new Promise((resolve) => NetServer.prototype.close.call(app.server, resolve));
      await Promise.race([gone, sleep(limits.dashboard.keptMs, signal).catch(() => {})]);
    },
  };
}
