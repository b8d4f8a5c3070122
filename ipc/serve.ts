/**
 * A Unix socket of the house: hello with token before anything else, a cap on connections, a socket
 * file that appears only when it serves and is never stolen from a living owner.
 */
import { timingSafeEqual } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { AgentError, isAgentError } from '../base/errors.ts';
import { digest } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { sleep, within } from '../base/time.ts';
import { bindSocket, fileAt, isSameFile } from './bind.ts';
import { hello, type Hello } from './contracts/peer.ts';
import { dial } from './dial.ts';
import { handle, Link, type Handler, type NoticeHandler } from './link.ts';

/** A listener that hangs up this often in a row without a hello is someone else's. */
const HANG_UPS_MAX = 20;
/** A link that is closed ends within a second by itself. */
const CLOSE_MS = 2_000;

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
  /** Take the path over from a living owner, in one step: the successor of a planned restart. */
  replace?: boolean;
  /** Called after the hello of each peer, before its first call is answered. */
  onLink?: (link: Link) => void;
}

export interface SocketServer extends AsyncDisposable {
  readonly path: string;
  readonly links: ReadonlySet<Link>;
  /** Refuses new connections, keeps the open ones. */
  stopListening(): void;
  /**
   * Puts the socket back when somebody removed or overwrote its file; open connections are not touched. True
   * when that was needed. A living successor at the path is left alone.
   */
  mend(): Promise<boolean>;
}

/** Errors: ALREADY_RUNNING when a living process serves that path, HOME_UNUSABLE when it cannot be made. */
export async function serve(options: ServeOptions): Promise<SocketServer> {
  const links = new Set<Link>();
  /** Connected, but not yet with a hello. */
  const strangers = new Set<Link>();
  const accept = (socket: Socket) => {
    const connections = links.size + strangers.size;
    if (connections >= limits.ipc.connectionsMax + limits.ipc.refusalsMax) return void socket.destroy();
    const full = connections >= limits.ipc.connectionsMax;
    const link = greet(socket, { options, links, strangers, full });
    strangers.add(link);
    void link.closed.then(() => (links.delete(link), strangers.delete(link)));
  };
  let server = createServer(accept);
  let ownFile = await bindSocket(server, options.path, options.replace ? 'replace' : () => refuseIfAlive(options));
  const stopListening = () => {
    if (!server.listening) return;
    if (isSameFile(fileAt(options.path), ownFile)) rmSync(options.path, { force: true });
    server.close();
  };
  const mend = async (): Promise<boolean> => {
    if (!server.listening || isSameFile(fileAt(options.path), ownFile)) return false;
    const next = createServer(accept);
    try {
      ownFile = await bindSocket(next, options.path, () => refuseIfAlive(options));
    } catch (thrown) {
      if (isAgentError(thrown) && thrown.code === 'ALREADY_RUNNING') return false;
      throw thrown;
    }
    server.close();
    server = next;
    return true;
  };
  return {
    path: options.path,
    links,
    stopListening,
    mend: joined(mend),
    async [Symbol.asyncDispose]() {
      stopListening();
      for (const link of strangers) link.destroy();
      const open = [...links];
      for (const link of open) link.close();
      // A closing link does not hold the event loop; this wait does, so that the process does not end in it.
      await within(Promise.all(open.map((link) => link.closed)), { ms: CLOSE_MS, what: 'closing the connections' }).catch(() => {});
    },
  };
}

/** A second call while the first runs is the first. */
function joined<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () =>
    (running ??= run().finally(() => {
      running = undefined;
    }));
}

interface Greeting {
  options: ServeOptions;
  links: Set<Link>;
  strangers: Set<Link>;
  /** As many are served as may be: this one learns so and goes. */
  full: boolean;
}

function greet(socket: Socket, { options, links, strangers, full }: Greeting): Link {
  const link = new Link(socket, { slot: 'unknown', pid: 0, code: '', relay: false });
  const late = setTimeout(() => link.destroy(), limits.ipc.helloMs);
  void link.closed.then(() => clearTimeout(late));
  const turnAway = (refusal: AgentError): AgentError => {
    // After the answer has gone out.
    setImmediate(() => link.close());
    return refusal;
  };
  link.onUnknown((name) => turnAway(new AgentError('BAD_TOKEN', `${name} came before the hello`)));
  link.handle(
    handle(hello, (said) => {
      clearTimeout(late);
      const refusal = full ? tooMany(options) : refuseHello(said, options);
      if (refusal) throw turnAway(refusal);
      strangers.delete(link);
      links.add(link);
      link.peer = { slot: said.slot, pid: said.pid, code: said.code, relay: said.relay ?? false };
      link.onUnknown((name) => new AgentError('METHOD_NOT_FOUND', `unknown method ${name}`));
      // Who a link is, is said once: a second hello could lift the bounds of a relay.
      link.handle(handle(hello, () => Promise.reject(new AgentError('PROTOCOL_MISMATCH', 'the hello was said already'))));
      const open = said.relay ? options.handlers.filter((h) => options.relayMethods?.has(h.method.name)) : options.handlers;
      link.handle(...open);
      if (!said.relay) link.on(...(options.notices ?? []));
      // The answer goes out first, then whatever the service says on its own.
      setImmediate(() => options.onLink?.(link));
      const { slot, code, nonce } = options;
      return { protocol: limits.ipc.protocol, slot, pid: process.pid, code, nonce };
    }),
  );
  return link;
}

function tooMany({ slot }: ServeOptions): AgentError {
  return new AgentError('TOO_MANY_CONNECTIONS', `${slot} already holds ${limits.ipc.connectionsMax} connections`, {
    retryAfterMs: 1_000,
    fix: 'close clients that are no longer needed, or repeat in a moment',
  });
}

function refuseHello(said: Hello, { token }: ServeOptions): AgentError | undefined {
  if (!timingSafeEqual(Buffer.from(digest(said.token)), Buffer.from(digest(token)))) {
    return new AgentError('BAD_TOKEN', 'the token is not that of this home', { fix: 'use the same AGENT_HOME as the service' });
  }
  if (said.protocol !== limits.ipc.protocol) {
    return new AgentError('PROTOCOL_MISMATCH', `this process speaks protocol ${limits.ipc.protocol}, the caller ${said.protocol}`, {
      fix: 'run `agent down`, then `agent up`, so that every process runs the same release',
    });
  }
  return undefined;
}

/** A path with a living listener is never taken over. Returns when nobody listens there. Errors: ALREADY_RUNNING. */
async function refuseIfAlive({ path, token, slot }: ServeOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const link = await dial(path, { token, slot });
      const { pid } = link.peer;
      link.destroy();
      throw new AgentError('ALREADY_RUNNING', `${slot} already runs as process ${pid}`, { facts: { pid } });
    } catch (thrown) {
      const { code, facts } = thrown as AgentError;
      if (code === 'ALREADY_RUNNING') throw thrown;
      // Only a refused connection proves that nobody is there; who hangs up may be leaving, or a stranger.
      if (code === 'PEER_UNREACHABLE' && (facts?.errno === 'ECONNREFUSED' || facts?.errno === 'ENOENT')) return;
      if (code !== 'PEER_GONE' || tries >= HANG_UPS_MAX)
        throw new AgentError('ALREADY_RUNNING', `another process listens at ${path}`, { cause: thrown });
      await sleep(limits.ipc.redialMinMs);
    }
  }
}
