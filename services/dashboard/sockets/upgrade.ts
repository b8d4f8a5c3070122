/**
 * Every WebSocket enters here: path, Host and Origin, token, then its own relay. A browser cannot read
 * the status of a refused upgrade, so guard and token refuse after the handshake, with a close code.
 */
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { sleep } from '../../../base/time.ts';
import { checkOrigin, tokenOf } from '../guard.ts';
import { unauthenticated, type Dashboard } from '../http.ts';
import { problemOf } from '../problem.ts';
import { followLogs } from './logFollow.ts';
import { bridgeTerminal } from './pty.ts';
import { createAgentRelay } from './relay.ts';

/** Contract §9. */
export const closeCodes = { unauthenticated: 4401, forbidden: 4403, restart: 1012, tooSlow: 4408, failed: 1011 } as const;

/** Serves one kind of socket until it closes. `prepare` refuses with HTTP before the handshake. */
export interface SocketRoute {
  prepare?(query: URLSearchParams): void;
  serve(socket: WebSocket, query: URLSearchParams): void;
}

export interface Sockets extends Disposable {
  /** Paths of the open sockets. */
  active(): string[];
  /** Closes all with 1012, so that the pages dial again; answers when they have, or the signal aborts. */
  drain(signal: AbortSignal): Promise<void>;
}

export function acceptSockets(server: Server, dashboard: Dashboard): Sockets {
  const wss = new WebSocketServer({ noServer: true, clientTracking: true, perMessageDeflate: false, maxPayload: limits.ipc.frameMaxBytes });
  const relay = createAgentRelay(dashboard);
  const routes: Record<string, SocketRoute> = {
    '/api/ws': relay,
    '/api/pty': bridgeTerminal(dashboard),
    '/api/logs/follow': followLogs(dashboard),
  };
  const heart = startHeartbeat(wss);
  const paths = new WeakMap<WebSocket, string>();
  let draining = false;

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://dashboard');
    const route = routes[pathname];
    const accept = (use: (open: WebSocket) => void) => wss.handleUpgrade(request, socket, head, use);
    try {
      if (!route) throw new AgentError('NOT_FOUND', `there is no WebSocket ${pathname}`);
      if (draining) throw new AgentError('DRAINING', 'the dashboard restarts');
      if (wss.clients.size >= limits.dashboard.socketsMax)
        throw new AgentError('TOO_MANY_CONNECTIONS', `${wss.clients.size} sockets are open`);
      const refusal = refuse(request, searchParams, dashboard);
      if (refusal) {
        dashboard.context.log.warn(`WebSocket ${pathname} refused with ${refusal.code}: ${refusal.reason}`);
        return accept((open) => open.close(refusal.code, refusal.reason));
      }
      route.prepare?.(searchParams);
    } catch (thrown) {
      return refuseUpgrade(socket, thrown);
    }
    accept((open) => {
      open.on('error', () => {});
      paths.set(open, pathname);
      heart.add(open);
      route.serve(open, searchParams);
    });
  });

  return {
    active: () => [...wss.clients].map((open) => paths.get(open)).filter((path) => path !== undefined),
    async drain(signal) {
      draining = true;
      const closed = [...wss.clients].map((open) => new Promise((resolve) => open.once('close', resolve)));
      for (const open of wss.clients) open.close(closeCodes.restart, 'the dashboard restarts');
      await Promise.race([Promise.all(closed), sleep(limits.dashboard.closeMs, signal).catch(() => {})]);
    },
    [Symbol.dispose]() {
      heart.stop();
      relay[Symbol.dispose]();
      for (const open of wss.clients) open.terminate();
    },
  };
}

function refuse(
  request: IncomingMessage,
  query: URLSearchParams,
  { binding, token }: Dashboard,
): { code: number; reason: string } | undefined {
  try {
    checkOrigin(request, binding);
  } catch (thrown) {
    return { code: closeCodes.forbidden, reason: messageOf(thrown).slice(0, 120) };
  }
  return token.matches(tokenOf(request, query)) ? undefined : { code: closeCodes.unauthenticated, reason: unauthenticated().message };
}

/** The HTTP answer of an upgrade that does not happen. */
function refuseUpgrade(socket: Duplex, thrown: unknown): void {
  const body = problemOf(thrown);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status] ?? 'Error'}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}

/** Pings what is silent; two unanswered pings mean that nobody is there. No timer runs while no socket is open. */
function startHeartbeat(wss: WebSocketServer): { add(socket: WebSocket): void; stop(): void } {
  const missed = new WeakMap<WebSocket, number>();
  let timer: NodeJS.Timeout | undefined;
  const beat = () => {
    for (const socket of wss.clients) {
      const count = missed.get(socket) ?? 0;
      if (count >= 2) socket.terminate();
      else socket.ping();
      missed.set(socket, count + 1);
    }
    if (wss.clients.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    add(socket) {
      for (const sign of ['pong', 'message'] as const) socket.on(sign, () => missed.set(socket, 0));
      timer ??= setInterval(beat, limits.dashboard.heartbeatMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}
