/** A real dashboard worker on a free port, and requests as a client of it makes them. */
import { existsSync, readFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders } from 'node:http';
import { WebSocket, type ClientOptions } from 'ws';
import { report } from '../../ipc/contracts/peer.ts';
import type { Home } from '../../state/home.ts';
import { codeFor, rememberDashboard } from './loginCode.ts';
import { startWorker, type StartOptions, type TestWorker } from './worker.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Send the session token (default true). */
  token?: boolean;
}

export interface TestDashboard extends AsyncDisposable {
  worker: TestWorker;
  port: number;
  /** With a slash at the end. */
  address: string;
  token: string;
  /** The cookie header of a browser that has shown a login code. */
  provedCookie(): Promise<string>;
  /** The bytes as given: Host and Origin too, which fetch would not allow. */
  ask(path: string, options?: Asked): Promise<Answer>;
  /** A WebSocket of it; `token` false leaves the token out, a string replaces it. */
  socket(path: string, options?: ClientOptions & { token?: boolean | string }): WebSocket;
}

export async function startDashboard(home: Home, { env = {}, ...options }: StartOptions = {}): Promise<TestDashboard> {
  const worker = await startWorker(home, 'dashboard', { ...options, env: { AGENT_DASHBOARD_PORT: '0', ...env } });
  const link = await worker.dial();
  const address = (await link.call(report, {})).facts.listening as string;
  link.close();
  // Where people sign in there is none.
  const token = existsSync(home.run.dashboardToken) ? readFileSync(home.run.dashboardToken, 'utf8').trim() : '';
  const port = Number(new URL(address).port);
  rememberDashboard(port, home);
  return {
    worker,
    port,
    address,
    token,
    async provedCookie() {
      const body = JSON.stringify({ code: await codeFor(port) });
      const { headers } = await ask(port, '/auth/code', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      return headers['set-cookie']![0]!.split(';')[0]!;
    },
    ask: (path, asked = {}) =>
      ask(port, path, { ...asked, headers: { ...(asked.token === false ? {} : { 'X-Agent-Session-Token': token }), ...asked.headers } }),
    socket(path, { token: given = true, ...rest } = {}) {
      const url = new URL(path, address.replace(/^http/, 'ws'));
      if (given !== false) url.searchParams.set('token', given === true ? token : given);
      return new WebSocket(url, { ...rest, autoPong: rest.autoPong ?? true });
    },
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}

function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }) },
        agent: false,
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: () => JSON.parse(text) });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** How a socket ended. */
export function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
}

/** The HTTP status of an upgrade that was refused. */
export function refused(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    socket.on('error', () => {});
  });
}

/** The session token in a page; null for a page without it. */
export const pageToken = (html: string): string | null =>
  JSON.parse(/__AGENT_SESSION_TOKEN__=("(?:[^"\\]|\\.)*"|null)/.exec(html)![1]!) as string | null;
