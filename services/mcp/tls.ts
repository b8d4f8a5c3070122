/**
 * TLS of MCP servers that want a client certificate or have one of their own authority (interface spec,
 * `client_cert`, `client_key`, `ssl_verify`). Node's own `fetch` takes none of these, so that such servers are
 * asked over `node:https`. Files are read at each connect: a renewed certificate needs no restart.
 */
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';

export interface TlsSettings {
  /** PEM file with the certificate, and with the key where no other file has it. */
  cert?: string;
  key?: string;
  /** Of the key; secret. */
  passphrase?: string;
  /** False = the certificate of the server is not checked; a path = the authorities of that PEM file alone. */
  verify: boolean | string;
}

export interface TlsFetch {
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes what is kept open. */
  close(): void;
}

/** Errors: MCP_FAILED, permanent, for a file that is missing, unreadable or not what it should be. */
export function createTlsFetch({ cert, key, passphrase, verify }: TlsSettings): TlsFetch {
  const certificate = cert === undefined ? {} : { cert: readPem(cert, 'client certificate'), key: readPem(key ?? cert, 'client key') };
  const options: SecureContextOptions = {
    ...certificate,
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(typeof verify === 'string' ? { ca: readPem(verify, 'CA bundle') } : {}),
  };
  try {
    createSecureContext(options);
  } catch (cause) {
    throw unusable(`its client certificate cannot be used: ${messageOf(cause)}`, {
      cause,
      fix: 'client_cert and client_key are PEM files that belong together; a key with a password needs [cert, key, password]',
    });
  }
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: verify !== false, ...options });
  return { fetch: (input, init) => ask(agent, new URL(input), init), close: () => agent.destroy() };
}

function ask(agent: Agent, url: URL, { method = 'GET', headers, body, signal }: RequestInit = {}): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { method, headers: Object.fromEntries(new Headers(headers)), ...(signal ? { signal } : {}) };
    // The SSE wire follows the address that the server names: of the same origin, so it is https as well.
    const sent = url.protocol === 'https:' ? httpsRequest(url, { ...options, agent }) : httpRequest(url, options);
    sent.once('error', reject);
    sent.once('response', (answer) => {
      const status = answer.statusCode ?? 500;
      const empty = status === 204 || status === 205 || status === 304;
      if (empty) answer.resume();
      const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const stream = empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
      resolve(new Response(stream, { status, headers: pairs }));
    });
    sent.end(body as string | undefined);
  });
}

function readPem(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const code = errnoOf(cause);
    const sentence = code === 'ENOENT' ? `its ${what} ${path} was not found` : `its ${what} ${path} cannot be read (${code ?? 'error'})`;
    throw unusable(sentence, { cause, fix: `correct the path in config.yaml, or put the file there` });
  }
}

const unusable = (message: string, detail: { cause: unknown; fix: string }): AgentError =>
  new AgentError('MCP_FAILED', message, { ...detail, facts: { kind: 'broken', permanent: true } });

/** What a failed handshake needs; undefined where TLS was not the cause. */
export function tlsFix(thrown: unknown): string | undefined {
  const code = codeOf(thrown) ?? codeOf((thrown as { cause?: unknown } | null)?.cause);
  if (code === undefined) return undefined;
  if (/^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET|VERIFY)\w*)$/.test(code))
    return 'name the PEM file of its authority in ssl_verify';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'look at the clock here and at the certificate there';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'use the name that its certificate bears in the url';
  return /^ERR_SSL_/.test(code) ? 'it may want a client certificate: client_cert and client_key' : undefined;
}

function codeOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
