/**
 * Every WebSocket enters here: path, Host and Origin, token, then its own relay. A browser cannot read
 * the status of a refused upgrade, so guard and token refuse after the handshake, with a close code.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { sleep } from '../../../base/time.ts';
import type { Identity } from '../auth/identity.ts';
import type { SocketPass } from '../auth/contract.ts';
import type { Connections } from '../connections.ts';
import { checkOrigin, requireOneHost } from '../guard.ts';
import type { Dashboard } from '../http.ts';
import { pinnedProfile, withinPinned } from '../pinned.ts';
import { problemOf, problemText } from '../problem.ts';
import { startHeartbeat } from './heartbeat.ts';
import { followLogs } from './logFollow.ts';
import { bridgeTerminal } from './pty.ts';
import { createAgentRelay } from './relay.ts';

/** Contract §9. */
export const closeCodes = { unauthenticated: 4401, forbidden: 4403, restart: 1012, tooSlow: 4408, failed: 1011 } as const;

/** Serves one kind of socket until it closes. `prepare` refuses with HTTP before the handshake. */
export interface SocketRoute {
  prepare?(query: URLSearchParams): void;
  serve(socket: WebSocket, query: URLSearchParams, who: Identity): void;
}

export interface Sockets extends Disposable {
  /** Paths of the open sockets. */
  active(): string[];
  /** Bytes sent on them. */
  sentBytes(): number;
  /** Closes all with 1012, so that the pages dial again; answers when they have, or the signal aborts. */
  drain(signal: AbortSignal): Promise<void>;
}

export function acceptSockets(server: Server, dashboard: Dashboard, connections: Connections): Sockets {
  const wss = new WebSocketServer({ noServer: true, clientTracking: true, perMessageDeflate: false, maxPayload: limits.ipc.frameMaxBytes });
  const relay = createAgentRelay(dashboard);
  const routes: Record<string, SocketRoute> = {
    '/api/ws': relay,
    '/api/pty': bridgeTerminal(dashboard),
    '/api/logs/follow': followLogs(dashboard),
  };
  const heart = startHeartbeat();
  const pinned = pinnedProfile(dashboard.context);
  const paths = new WeakMap<WebSocket, string>();
  const wires = new WeakMap<WebSocket, Socket>();
  let draining = false;
  let strangers = 0;

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const accept = (use: (open: WebSocket) => void) =>
      wss.handleUpgrade(request, socket, head, (open) => {
        open.on('error', () => {});
        use(open);
      });
    try {
      requireOneHost(request);
      const { pathname, searchParams } = addressOf(request);
      const route = routes[pathname];
      if (!route) throw new AgentError('NOT_FOUND', 'there is no such WebSocket');
      if (draining) throw new AgentError('DRAINING', 'the dashboard restarts');
      if (wss.clients.size - strangers >= limits.dashboard.socketsMax) {
        throw new AgentError('TOO_MANY_CONNECTIONS', `${wss.clients.size} sockets are open`);
      }
      const pass = passFor(request, searchParams, dashboard);
      if ('code' in pass) {
        dashboard.context.log.warn(`WebSocket ${pathname} refused with ${pass.code}: ${pass.reason}`);
        if (strangers >= limits.dashboard.strangersMax) throw new AgentError('UNAUTHENTICATED', pass.reason);
        strangers++;
        socket.once('close', () => strangers--);
        return accept((open) => turnAway(open, pass));
      }
      connections.proved(request.socket);
      const profile = withinPinned(pinned, searchParams.get('profile') ?? undefined);
      if (profile !== undefined) searchParams.set('profile', profile);
      route.prepare?.(searchParams);
      accept((open) => {
        paths.set(open, pathname);
        wires.set(open, request.socket);
        heart.add(open);
        open.once(
          'close',
          pass.watch(() => open.close(closeCodes.unauthenticated, 'the session is over')),
        );
        route.serve(open, searchParams, pass.who);
      });
    } catch (thrown) {
      socket.end(problemText(problemOf(thrown)));
    }
  });

  return {
    active: () => [...wss.clients].map((open) => paths.get(open)).filter((path) => path !== undefined),
    sentBytes: () => [...wss.clients].reduce((sum, open) => sum + (wires.get(open)?.bytesWritten ?? 0), 0),
    async drain(signal) {
      draining = true;
      const closed = [...wss.clients].map((open) => new Promise((resolve) => open.once('close', resolve)));
      for (const open of wss.clients) open.close(closeCodes.restart, 'the dashboard restarts');
      await Promise.race([Promise.all(closed), sleep(limits.dashboard.closeMs, signal).catch(() => {})]);
    },
    [Symbol.dispose]() {
      heart[Symbol.dispose]();
      relay[Symbol.dispose]();
      for (const open of wss.clients) open.terminate();
    },
  };
}

/** Errors: NOT_FOUND for what is no address at all. */
function addressOf({ url = '/' }: IncomingMessage): URL {
  const address = URL.parse(url, 'http://dashboard');
  if (!address) throw new AgentError('NOT_FOUND', 'there is no such WebSocket');
  return address;
}

interface Refusal {
  code: number;
  /** Fixed words: a close frame has room for 123 bytes, and what the stranger sent may be longer. */
  reason: string;
}

function passFor(request: IncomingMessage, query: URLSearchParams, { binding, gate }: Dashboard): SocketPass | Refusal {
  try {
    checkOrigin(request, binding);
  } catch {
    return { code: closeCodes.forbidden, reason: 'this Host or Origin is not allowed' };
  }
  const word = gate.mode === 'signIn' ? 'ticket' : 'session token';
  return gate.socketPass(request, query) ?? { code: closeCodes.unauthenticated, reason: `the ${word} is missing or not valid` };
}

/** A stranger that does not answer the close must not hold a place. */
function turnAway(open: WebSocket, { code, reason }: Refusal): void {
  open.close(code, reason);
  const late = setTimeout(() => open.terminate(), limits.dashboard.closeMs).unref();
  open.once('close', () => clearTimeout(late));
}

/** Only a WebSocket is an upgrade here; a request that offers any other protocol is answered as if it offered none (RFC 9110, 7.8). */
export const isSocketRequest = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';
