/** An MCP server over streamable HTTP whose answers to `tools/call` a test writes itself. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpRequest {
  method: string;
  session: string | undefined;
  /** JSON-RPC. */
  message: { id?: number; method?: string; params?: Record<string, unknown> };
}

export interface HttpServer extends AsyncDisposable {
  url: string;
  seen: HttpRequest[];
}

type Answer = (request: HttpRequest, response: ServerResponse, raw: IncomingMessage) => void;

export interface HttpServerParts {
  tools?: string[];
  /** By name of the tool. */
  calls?: Record<string, Answer>;
  /** Before anything else; true = it has answered. */
  first?: (request: HttpRequest, response: ServerResponse, raw: IncomingMessage) => boolean;
  list?: (request: HttpRequest) => unknown;
  /** Default: any free one. */
  port?: number;
}

export function answerJson(response: ServerResponse, id: number | undefined, result: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

export async function startMcpOverHttp({
  calls = {},
  tools = Object.keys(calls),
  first,
  list,
  port = 0,
}: HttpServerParts): Promise<HttpServer> {
  const seen: HttpRequest[] = [];
  let sessions = 0;
  const answer = (request: HttpRequest, response: ServerResponse, raw: IncomingMessage): void => {
    const { id, method, params } = request.message;
    if (first?.(request, response, raw)) return;
    if (request.method === 'DELETE') return void response.writeHead(200).end();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize') {
      const capabilities = { tools: { listChanged: true } };
      const hello = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'hand', version: '1' } };
      return answerJson(response, id, hello, { 'mcp-session-id': `session-${++sessions}` });
    }
    if (method === 'tools/list')
      return answerJson(response, id, list?.(request) ?? { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) });
    const call = method === 'tools/call' ? calls[String(params?.name)] : undefined;
    if (call) return call(request, response, raw);
    answerJson(response, id, { content: [{ type: 'text', text: `session ${request.session}` }] });
  };
  const server = createServer((raw, response) => {
    let body = '';
    raw.setEncoding('utf8').on('data', (part: string) => (body += part));
    raw.on('end', () => {
      const message = body ? (JSON.parse(body) as HttpRequest['message']) : {};
      const request = { method: raw.method!, session: raw.headers['mcp-session-id'] as string | undefined, message };
      seen.push(request);
      answer(request, response, raw);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
