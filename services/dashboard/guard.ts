/**
 * Who may speak to the dashboard at all. Host and Origin stop a web page of somebody else that reaches
 * this machine through the user's browser (DNS rebinding, cross-site requests); the token says who is
 * the user. Loopback alone protects nothing: every site the user visits can send requests there.
 */
import { timingSafeEqual } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { readRegularText } from '../../base/regularFile.ts';
import { AgentError } from '../../base/errors.ts';
import { digest, hexId } from '../../base/ids.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import { isLoopbackHost } from '../../state/config/dashboardAddress.ts';
import { isOtherUser } from '../../state/peerUser.ts';
import type { Binding } from './binding.ts';
import { MalformedRequest } from './problem.ts';

/** RFC 9112, 3.2. Node keeps the first Host alone: a proxy in front may have routed by the second. Errors: MalformedRequest (400). */
export function requireOneHost({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new MalformedRequest('the request has more than one Host header');
}

/** Errors: FORBIDDEN_ORIGIN. The opaque Origin `null` (a desktop window loaded from a file) is left to the token check. */
export function checkOrigin({ headers }: Pick<IncomingMessage, 'headers'>, binding: Binding): void {
  const host = headers.host ?? '';
  if (!binding.isAllowedHost(nameOf(host))) {
    throw new AgentError('FORBIDDEN_ORIGIN', `this dashboard is not served as "${host.slice(0, 100)}"`, {
      fix: 'use the address that `agent status` shows; behind a proxy, set dashboard.public_url',
    });
  }
  const { origin } = headers;
  if (origin === undefined || origin === 'null' || origin === `http://${host}` || origin === `https://${host}`) return;
  // A proxy may speak to us under another name than the one that people type.
  if (origin === binding.settings.publicUrl?.origin) return;
  throw new AgentError('FORBIDDEN_ORIGIN', `requests from ${origin.slice(0, 100)} are refused`);
}

/** Headers that proxies, tunnels and content networks add; a browser on this machine sends none of them. */
const FORWARDED =
  /^(?:forwarded|via|true-client-ip|(?:x-)?(?:real|client|cluster-client)-ip|(?:x-forwarded|x-original|x-proxy|x-envoy|x-amzn|cf|fly|fastly|cdn)-.*)$/;

/**
 * Whether a request comes straight from a program of this user on this machine, as far as can be seen: a loopback bind
 * and Host, no header of a proxy, HTTP/1.1 (plain proxies speak 1.0 unless configured), and no other user's socket.
 */
export function isDirect({ headers, httpVersion, socket }: IncomingMessage, { loopback }: Pick<Binding, 'loopback'>): boolean {
  return (
    loopback &&
    httpVersion !== '1.0' &&
    isLoopbackHost(nameOf(headers.host ?? '')) &&
    !Object.keys(headers).some((name) => FORWARDED.test(name)) &&
    !isOtherUser({ theirs: socket.remotePort ?? 0, ours: socket.localPort ?? 0 })
  );
}

/** Host header without port and brackets, lower case. */
function nameOf(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.trim().toLowerCase());
  return match?.[1] ?? match?.[2] ?? '';
}

export interface TokenUse {
  relieves: boolean;
  /** False where people sign in: the token opens no page there, so no address must carry it. */
  shown: boolean;
}

export interface SessionToken extends Disposable {
  readonly value: string;
  matches(candidate: string | null | undefined): boolean;
  /** Another process has taken over and written its own. */
  isRelieved(): boolean;
}

/**
 * Pinned by AGENT_DASHBOARD_SESSION_TOKEN; else fresh for this process, unless it relieves another in a planned
 * restart: then open pages go on with the token they have. It also stands in a private file, so that `agent up` can print an address that logs the browser in: no log, argument list,
 * status or environment ever holds it.
 */
export function openSessionToken(path: string, { relieves, shown }: TokenUse, env: NodeJS.ProcessEnv = process.env): SessionToken {
  const value = env.AGENT_DASHBOARD_SESSION_TOKEN || (relieves && tokenIn(path)) || hexId(64);
  // No child of this process may inherit it.
  delete env.AGENT_DASHBOARD_SESSION_TOKEN;
  const expected = Buffer.from(digest(value));
  if (shown) writeFileAtomic(path, `${value}\n`, { mode: 0o600, durable: false });
  else rmSync(path, { force: true });
  const ino = statSync(path, { throwIfNoEntry: false })?.ino;
  return {
    value,
    matches: (candidate) => Boolean(candidate) && timingSafeEqual(Buffer.from(digest(candidate!)), expected),
    isRelieved: () => (statSync(path, { throwIfNoEntry: false })?.ino ?? ino) !== ino,
    [Symbol.dispose]() {
      try {
        // A successor has written its own file by now.
        if (ino !== undefined && statSync(path).ino === ino) rmSync(path);
      } catch {
        // it is gone already
      }
    },
  };
}

function tokenIn(path: string): string | undefined {
  try {
    return /^[0-9a-f]{64}\n?$/.exec(readRegularText(path))?.[0].trim();
  } catch {
    return undefined;
  }
}

/** The token of a request: header, or query of a WebSocket and of the login address. */
export function tokenOf({ headers }: Pick<IncomingMessage, 'headers'>, query?: URLSearchParams): string | null {
  const header = headers['x-agent-session-token'];
  return (typeof header === 'string' ? header : null) ?? query?.get('token') ?? null;
}
