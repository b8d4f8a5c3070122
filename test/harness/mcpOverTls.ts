/** A real MCP server over HTTPS on loopback, streamable or of the older SSE kind; with `clients` it wants a client certificate. */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Certificates } from './certificates.ts';

export interface TlsServer extends AsyncDisposable {
  port: number;
  /** Common names of the client certificates seen; null = none was shown. */
  seen: (string | null)[];
}

export async function startTlsServer(certificates: Certificates, { clients = false } = {}): Promise<TlsServer> {
  const seen: (string | null)[] = [];
  const sessions = new Map<string, SSEServerTransport>();
  const server = createServer(
    {
      cert: certificates.read('server.pem'),
      key: certificates.read('server.key'),
      ca: certificates.read('ca.pem'),
      requestCert: clients,
      rejectUnauthorized: clients,
    },
    (request, response) => {
      const name: string | string[] | undefined = (request.socket as TLSSocket).getPeerCertificate()?.subject?.CN;
      seen.push(typeof name === 'string' ? name : null);
      const url = new URL(request.url!, 'https://localhost');
      void (async () => {
        if (url.pathname === '/sse') {
          const transport = new SSEServerTransport('/messages', response);
          sessions.set(transport.sessionId, transport);
          return makeServer().connect(transport);
        }
        if (url.pathname === '/messages') return sessions.get(url.searchParams.get('sessionId')!)!.handlePostMessage(request, response);
        if (request.method !== 'POST') return void response.writeHead(405).end();
        const transport = new StreamableHTTPServerTransport();
        await makeServer().connect(transport);
        return transport.handleRequest(request, response);
      })();
    },
  );
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeServer(): McpServer {
  const server = new McpServer({ name: 'tls', version: '1' });
  server.registerTool('greet', { description: 'Greets.' }, () => ({ content: [{ type: 'text', text: 'hello over TLS' }] }));
  return server;
}
