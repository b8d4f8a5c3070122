/**
 * A Unix socket of the house: hello with token before anything else, a cap on connections, a socket
 * file that appears only when it serves and is never stolen from a living owner.
 */
import { timingSafeEqual } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { AgentError, errnoOf } from '../base/errors.ts';
import { digest, hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { hello, type Hello } from './contracts/peer.ts';
import { dial } from './dial.ts';
import { handle, Link, type Handler, type NoticeHandler } from './link.ts';

export interface ServeOptions {
  path: string;
  slot: string;
  token: string;
  code: string;
  nonce: string;
  handlers: Handler[];
  notices?: NoticeHandler[];
  /** Names of methods open to relayed browsers; all others answer "unknown method" to them. */
  relayMethods?: ReadonlySet<string>;
  /** Called after the hello of each peer, before its first call is answered. */
  onLink?: (link: Link) => void;
}

export interface SocketServer extends AsyncDisposable {
  readonly path: string;
  readonly links: ReadonlySet<Link>;
  /** Refuses new connections, keeps the open ones. */
  stopListening(): void;
}

/** Errors: ALREADY_RUNNING when a living process serves that path, HOME_UNUSABLE when it cannot be made. */
export async function serve(options: ServeOptions): Promise<SocketServer> {
  await refuseIfAlive(options);
  const links = new Set<Link>();
  let sockets = 0;
  const server = createServer((socket) => {
    sockets++;
    socket.once('close', () => sockets--);
    if (sockets > limits.ipc.connectionsMax) return refuseConnection(socket);
    greet(socket, options, links);
  });
  const inode = await bindAtomically(server, options.path);
  const stopListening = () => {
    if (!server.listening) return;
    if (statSync(options.path, { throwIfNoEntry: false })?.ino === inode) rmSync(options.path, { force: true });
    server.close();
  };
  return {
    path: options.path,
    links,
    stopListening,
    async [Symbol.asyncDispose]() {
      stopListening();
      for (const link of links) link.close();
      await Promise.all([...links].map((link) => link.closed));
    },
  };
}

function greet(socket: Socket, options: ServeOptions, links: Set<Link>): void {
  const link = new Link(socket, { slot: 'unknown', pid: 0, code: '', relay: false });
  const late = setTimeout(() => link.destroy(), limits.ipc.helloMs);
  void link.closed.then(() => {
    clearTimeout(late);
    links.delete(link);
  });
  link.handle(
    handle(hello, (said) => {
      clearTimeout(late);
      const refusal = refuseHello(said, options);
      if (refusal) {
        setImmediate(() => link.close());
        throw refusal;
      }
      link.peer = { slot: said.slot, pid: said.pid, code: said.code, relay: said.relay ?? false };
      links.add(link);
      const open = said.relay ? options.handlers.filter((h) => options.relayMethods?.has(h.method.name)) : options.handlers;
      link.handle(...open);
      if (!said.relay) link.on(...(options.notices ?? []));
      // The answer goes out first, then whatever the service says on its own.
      setImmediate(() => options.onLink?.(link));
      const { slot, code, nonce } = options;
      return { protocol: limits.ipc.protocol, slot, pid: process.pid, code, nonce };
    }),
  );
}

function refuseHello(said: Hello, { token }: ServeOptions): AgentError | undefined {
  if (!timingSafeEqual(Buffer.from(digest(said.token)), Buffer.from(digest(token)))) {
    return new AgentError('BAD_TOKEN', 'the token is not that of this home', { fix: 'use the same AGENT_HOME as the service' });
  }
  if (said.protocol !== limits.ipc.protocol) {
    return new AgentError('PROTOCOL_MISMATCH', `this process speaks protocol ${limits.ipc.protocol}, the caller ${said.protocol}`, {
      fix: 'run `agent restart` after an update so that every process runs the same release',
    });
  }
  return undefined;
}

function refuseConnection(socket: Socket): void {
  socket.on('error', () => {});
  socket.end();
  socket.destroySoon();
}

/** A path with a living listener is never taken over. */
async function refuseIfAlive({ path, token, slot }: ServeOptions): Promise<void> {
  try {
    const link = await dial(path, { token, slot });
    const { pid } = link.peer;
    link.destroy();
    throw new AgentError('ALREADY_RUNNING', `${slot} already runs as process ${pid}`, { facts: { pid } });
  } catch (thrown) {
    const code = (thrown as AgentError).code;
    if (code === 'PEER_UNREACHABLE' || code === 'PEER_GONE') return;
    if (code === 'TIMEOUT' || code === 'BAD_TOKEN' || code === 'PROTOCOL_MISMATCH') {
      throw new AgentError('ALREADY_RUNNING', `another process listens at ${path}`, { cause: thrown });
    }
    throw thrown;
  }
}

/** Binds under a temporary name and renames, so the path never points at a socket that does not serve. */
async function bindAtomically(server: Server, path: string): Promise<number> {
  const temporary = `${path}.${hexId(4)}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(temporary, resolve);
    });
    chmodSync(temporary, 0o600);
    const { ino } = statSync(temporary);
    renameSync(temporary, path);
    return ino;
  } catch (cause) {
    server.close();
    try {
      unlinkSync(temporary);
    } catch {
      // it was never made
    }
    throw new AgentError('HOME_UNUSABLE', `cannot make the socket ${path} (${errnoOf(cause) ?? cause})`, {
      cause,
      fix: `check that ${dirname(path)} exists, is writable and has room`,
    });
  }
}
