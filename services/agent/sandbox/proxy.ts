/**
 * The way out of a sandboxed session: an HTTP proxy (CONNECT and plain requests) that reaches listed hosts alone. It
 * connects to the very address that it checked, and logs host and bytes.
 */
import { lookup } from 'node:dns/promises';
import { createServer, request as requestHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { judgeHost, type HostRequest } from '../../../agent/sandbox/hosts.ts';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isPublicAddress } from '../tools/publicAddress.ts';

export interface ProxyOptions {
  /** `sandbox.hosts`, read for each request. */
  hosts(): readonly string[];
  /** Called once per connection or refusal. */
  onUse(use: ProxyUse): void;
}

export interface ProxyUse extends HostRequest {
  /** Undefined = it was not refused. */
  refused?: string;
  sentBytes: number;
  receivedBytes: number;
}

const { connectionsMax, connectMs, silenceMs } = limits.sandbox;

/** Not listening yet. */
export function createProxy(options: ProxyOptions): Server {
  const server = createServer((request, response) => void forward(options, request, response));
  server.maxConnections = connectionsMax;
  server.setTimeout(silenceMs);
  server.on('connect', (request, socket, head) => void tunnel(options, request, socket, head));
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

// --- CONNECT ---

async function tunnel(options: ProxyOptions, { url = '' }: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
  client.on('error', () => client.destroy());
  const target = targetOf(`http://${url}`);
  let upstream: Socket;
  try {
    upstream = await connectTo(options, target);
  } catch (thrown) {
    client.end(`HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${refusal(options, target, thrown)}\n`);
    return;
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  client.pipe(upstream).pipe(client);
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.once('close', () => {
    client.destroy();
    options.onUse({ ...target!, sentBytes: upstream.bytesWritten, receivedBytes: upstream.bytesRead });
  });
}

// --- plain requests ---

async function forward(options: ProxyOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = targetOf(request.url);
  let upstream: Socket;
  try {
    upstream = await connectTo(options, target);
  } catch (thrown) {
    response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(`${refusal(options, target, thrown)}\n`);
    return;
  }
  const { pathname, search, host } = new URL(request.url!);
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = request.headers;
  const outgoing = requestHttp({
    createConnection: () => upstream,
    method: request.method,
    path: `${pathname}${search}`,
    // The request goes to the host that was checked, whatever it says itself.
    headers: { ...headers, host, connection: 'close' },
  });
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  upstream.once('close', () => options.onUse({ ...target!, sentBytes: upstream.bytesWritten, receivedBytes: upstream.bytesRead }));
  request.pipe(outgoing);
}

// --- both ---

function targetOf(url: string | undefined): HostRequest | undefined {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed?.protocol !== 'http:' || parsed.hostname === '') return undefined;
  return { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port || 80) };
}

/** Errors: WEB_REFUSED (not listed, or not public), WEB_FAILED (unreachable). */
async function connectTo({ hosts }: ProxyOptions, target: HostRequest | undefined): Promise<Socket> {
  if (!target) throw new AgentError('WEB_REFUSED', 'the proxy takes http and https requests alone');
  const { host, port } = target;
  const verdict = judgeHost(hosts(), target);
  if (!verdict.allowed) {
    throw new AgentError('WEB_REFUSED', `${host}:${port} is not listed in sandbox.hosts`, { fix: 'ask the user to add the host' });
  }
  const found = isIP(host) ? [{ address: host }] : await lookup(host, { all: true });
  const address = found.find((one) => verdict.literal || isPublicAddress(one.address))?.address;
  if (address === undefined) {
    throw new AgentError('WEB_REFUSED', `${host} leads to an address of this machine or its network`, {
      fix: 'list the address itself in sandbox.hosts if it is meant',
    });
  }
  return connected(address, port);
}

function connected(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port });
  socket.setTimeout(connectMs, () => socket.destroy(new Error('it did not answer in time')));
  return new Promise((resolve, reject) => {
    socket.once('connect', () => {
      socket.setTimeout(silenceMs);
      socket.off('error', reject);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

function refusal({ onUse }: ProxyOptions, target: HostRequest | undefined, thrown: unknown): string {
  const message = messageOf(thrown);
  onUse({ host: target?.host ?? '', port: target?.port ?? 0, refused: message, sentBytes: 0, receivedBytes: 0 });
  return message;
}
