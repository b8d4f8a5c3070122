/**
 * One POST and the bytes of its answer, over Node's own client: `fetch` puts each piece of an answer through web
 * streams (docs/adr/0028). Connections are kept by Node's agent. Redirects are left to `fetchAtOrigin`.
 */
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import { fetchAtOrigin } from '../../../base/fetchAtOrigin.ts';

export interface Posting {
  url: URL;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
}

export interface Answered {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Readable;
}

/** Errors: of the network, below an error that says so; REDIRECT_REFUSED; the signal's. */
export type Post = (posting: Posting) => Promise<Answered>;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export const post: Post = async (posting) => {
  const response = await send(posting);
  const { statusCode: status = 0, headers } = response;
  if (REDIRECTS.has(status) && headers.location) {
    response.resume();
    return viaFetch(posting);
  }
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: decoded(response),
  };
};

/** Loads what a first request would load, and answers one word from nowhere. */
export const rehearse: Post = async ({ url }) => {
  clientOf(url);
  const frame = 'data: {"choices":[{"delta":{"content":"."},"finish_reason":"stop"}]}\n\n';
  return { status: 200, headers: {}, body: Readable.from([frame], { objectMode: false }) };
};

const clientOf = (url: URL): { request: typeof plainRequest } =>
  url.protocol === 'https:' ? process.getBuiltinModule('node:https') : { request: plainRequest };

function send({ url, headers, body, signal }: Posting): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) },
    ...(signal ? { signal } : {}),
  };
  const sent = clientOf(url).request(url, options, resolve);
  // It stays: a connection may break after its answer has begun, and the answer tells so itself.
  sent.on('error', (cause) => reject(networkError(cause)));
  sent.end(body);
  return promise;
}

/** failure.ts reads the code of the system below it. */
export const networkError = (cause: unknown): Error => new Error('the connection to the provider broke', { cause });

/** Not asked for, and sent by some proxies all the same. */
function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return response;
  const zlib = process.getBuiltinModule('node:zlib');
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH };
  const decoder =
    encoding === 'br' ? zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }) : zlib.createUnzip(flush);
  return process.getBuiltinModule('node:stream').pipeline(response, decoder, () => {});
}

async function viaFetch({ url, headers, body, signal }: Posting): Promise<Answered> {
  const response = await fetchAtOrigin(url, { method: 'POST', headers, body, ...(signal ? { signal } : {}) });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: response.body ? Readable.fromWeb(response.body) : Readable.from([]),
  };
}
