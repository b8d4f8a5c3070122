/** A real MCP broker on a temporary home, and the MCP servers its tests use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { callTool, listServers, listTools, reload, testServer } from '../../ipc/contracts/mcp.ts';
import type { InputOf } from '../../ipc/method.ts';
import type { Link } from '../../ipc/link.ts';
import { freePort, testHome, type TestHome } from './home.ts';
import { until } from './until.ts';
import { projectRoot, startWorker, type TestWorker } from './worker.ts';

export const everything = join(projectRoot, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
export const fixture = (name: string): string => join(projectRoot, 'test/fixtures/mcp', `${name}.ts`);

/** An entry of `mcp_servers` that runs a script with this Node. */
export const node = (script: string, more: object = {}): object => ({ command: process.execPath, args: [script], ...more });

export interface TestBroker extends AsyncDisposable {
  home: TestHome;
  worker: TestWorker;
  link: Link;
  configure(servers: Record<string, object>): void;
  call(params: InputOf<typeof callTool>, signal?: AbortSignal): Promise<{ text: string; is_error: boolean }>;
  tools(): Promise<string[]>;
  state(name: string): Promise<{ state: string; pid: number | null; error: string | null; tools: number }>;
  test(name: string): Promise<{ ok: boolean; error: string | null; tools: { name: string }[] }>;
  reload(): Promise<{ started: string[]; stopped: string[]; kept: string[] }>;
}

export async function startTestBroker(
  servers: Record<string, object>,
  { home = testHome(), env = '' }: { home?: TestHome; env?: string } = {},
): Promise<TestBroker> {
  const configure = (entries: Record<string, object>) => void home.write('config.yaml', JSON.stringify({ mcp_servers: entries }));
  configure(servers);
  if (env) home.write('.env', env);
  const worker = await startWorker(home, 'mcp', { env: { UNRELATED_SECRET: 'must-not-be-inherited' } });
  const link = await worker.dial();
  return {
    home,
    worker,
    link,
    configure,
    call: (params, signal) => link.call(callTool, params, signal ? { signal } : {}),
    tools: async () => (await link.call(listTools, {})).tools.map((tool) => tool.name),
    async state(name) {
      const { servers: states } = await link.call(listServers, {});
      return states.find((state) => state.name === name)!;
    },
    test: (name) => link.call(testServer, { name }),
    reload: () => link.call(reload, {}),
    async [Symbol.asyncDispose]() {
      link.close();
      await worker.kill('SIGTERM');
      await worker[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

/** server-everything over HTTP on a free port of loopback; `transport` as it names them. */
export async function startHttpServer(transport: 'streamableHttp' | 'sse', port?: number): Promise<{ port: number } & AsyncDisposable> {
  const chosen = port ?? (await freePort());
  const child = spawn(process.execPath, [everything, transport], {
    env: { PATH: process.env.PATH ?? '', PORT: String(chosen) },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await until(`server-everything listens on ${chosen}`, () => accepts(chosen));
  return {
    port: chosen,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Is a process there? A zombie is not. */
export { startTimeOf } from '../../state/processIdentity.ts';
