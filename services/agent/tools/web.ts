/**
 * The public web for tools: bounded requests that connect to the very address that was checked, so that a
 * name which leads elsewhere a moment later (DNS rebinding) or a redirect reaches nothing private.
 */
import { lookup } from 'node:dns/promises';
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Web, WebHit } from '../../../agent/ports.ts';
import { AgentError, errnoOf, isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Config } from '../../../state/config/schema.ts';
import { isPublicAddress } from './publicAddress.ts';

const { webMaxBytes, webMs, webRedirectsMax } = limits.tools;

export interface WebOptions {
  settings: Config['web'];
  /** A value of `.env`. */
  secret(name: string): string | undefined;
}

type Fetched = Awaited<ReturnType<Web['fetch']>>;

export function createWeb({ settings, secret }: WebOptions): Web {
  const allowed = (settings?.allow_hosts ?? []).map((name) => name.toLowerCase());
  const isAllowed = (host: string) => allowed.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name));
  const search = settings?.search;
  return {
    fetch: (url, signal) => fetchPage(url, { signal, isAllowed, headers: {} }),
    search: search?.kind
      ? (query, limit, signal) => {
          const { url, headers, read } = searchRequest(search, { query, limit, key: search.key_env ? secret(search.key_env) : undefined });
          // The owner named this host: it may be a private one. Where it redirects to is checked.
          const own = url.hostname;
          return fetchPage(url.href, { signal, isAllowed: (host) => host === own || isAllowed(host), headers }).then((page) =>
            hitsOf(page, read),
          );
        }
      : null,
  };
}

interface FetchOptions {
  signal: AbortSignal;
  isAllowed(host: string): boolean;
  headers: Record<string, string>;
}

/** Follows redirects, each checked like the first address. Errors: WEB_REFUSED, WEB_FAILED, the signal's reason. */
async function fetchPage(asked: string, { signal, isAllowed, headers }: FetchOptions): Promise<Fetched> {
  const timeout = AbortSignal.timeout(webMs);
  const both = AbortSignal.any([signal, timeout]);
  let url = checkedUrl(asked);
  let sent = headers;
  try {
    for (let hops = 0; hops <= webRedirectsMax; hops++) {
      const response = await ask(url, { addresses: await addressesOf(url, isAllowed), headers: sent, signal: both });
      const next = redirectOf(response, url);
      if (!next) return await readBody(response, url);
      response.destroy();
      // A key is for the host it was given for.
      if (next.origin !== url.origin) sent = {};
      url = next;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (timeout.aborted) throw new AgentError('WEB_FAILED', `${url.href} took longer than ${webMs / 1_000} s`, { cause: thrown });
    if (isAgentError(thrown)) throw thrown;
    throw new AgentError('WEB_FAILED', `cannot reach ${url.href} (${errnoOf(thrown) ?? messageOf(thrown)})`, { cause: thrown });
  }
  throw new AgentError('WEB_FAILED', `${asked} redirects more than ${webRedirectsMax} times`);
}

/** Errors: WEB_REFUSED. */
function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new AgentError('WEB_REFUSED', `${text.slice(0, 200)} is no http or https address`, { fix: 'give the whole address, https://…' });
  }
  if (url.username || url.password) throw new AgentError('WEB_REFUSED', 'an address with a password in it is not fetched');
  return url;
}

interface Address {
  address: string;
  family: 4 | 6;
}

/** Errors: WEB_REFUSED when none of them is public. */
async function addressesOf(url: URL, isAllowed: (host: string) => boolean): Promise<Address[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const literal = isIP(host);
  const all = literal ? [{ address: host, family: literal }] : await lookup(host, { all: true, verbatim: true });
  const usable = isAllowed(host) ? all : all.filter(({ address }) => isPublicAddress(address));
  if (usable.length > 0) return usable as Address[];
  throw new AgentError('WEB_REFUSED', `${host} leads to ${all[0]?.address ?? 'nowhere'}, which is no address of the public web`, {
    fix: `the owner opens it with: agent config set web.allow_hosts '["${host}"]'`,
  });
}

interface Asking {
  addresses: Address[];
  headers: Record<string, string>;
  signal: AbortSignal;
}

function ask(url: URL, { addresses, headers, signal }: Asking): Promise<IncomingMessage> {
  const checked: LookupFunction = (_host, { all }, callback) =>
    all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family);
  const options: RequestOptions = {
    lookup: checked,
    signal,
    agent: false,
    headers: {
      'user-agent': 'Mozilla/5.0 (compatible; agent-service)',
      accept: 'text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.5',
      'accept-encoding': 'gzip, deflate, br',
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(url, options, resolve) : requestHttp(url, options, resolve);
    request.once('error', reject);
    request.end();
  });
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, url: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location) return undefined;
  return checkedUrl(URL.parse(headers.location, url.href)?.href ?? headers.location);
}

/** Errors: WEB_FAILED for an answer that is an error. */
async function readBody(response: IncomingMessage, url: URL): Promise<Fetched> {
  const { statusCode = 0, headers } = response;
  if (statusCode < 200 || statusCode > 299) {
    response.destroy();
    throw new AgentError('WEB_FAILED', `${url.href} answered ${statusCode} ${response.statusMessage ?? ''}`.trim());
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  for await (const chunk of decompressed(response) as AsyncIterable<Buffer>) {
    const room = webMaxBytes - bytes;
    chunks.push(chunk.subarray(0, room));
    bytes += Math.min(chunk.length, room);
    if (chunk.length > room) {
      truncated = true;
      break;
    }
  }
  response.destroy();
  return { url: url.href, mediaType: headers['content-type'] ?? '', body: Buffer.concat(chunks), truncated };
}

function decompressed(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase();
  const unpack =
    encoding === 'gzip' ? createGunzip() : encoding === 'br' ? createBrotliDecompress() : encoding === 'deflate' ? createInflate() : null;
  if (!unpack) return response;
  response.once('error', (cause) => unpack.destroy(cause));
  return response.pipe(unpack);
}

// --- search services ---

type SearchSettings = NonNullable<NonNullable<Config['web']>['search']>;

interface SearchRequest {
  url: URL;
  headers: Record<string, string>;
  read(answer: unknown): WebHit[];
}

/** Errors: WEB_FAILED when what it needs is not configured. */
function searchRequest(
  { kind, base_url, key_env }: SearchSettings,
  { query, limit, key }: { query: string; limit: number; key: string | undefined },
): SearchRequest {
  if (kind === 'searxng') {
    if (!base_url)
      throw new AgentError('WEB_FAILED', 'web.search has no base_url', {
        fix: 'agent config set web.search.base_url http://127.0.0.1:8888',
      });
    const url = new URL(`${base_url.replace(/\/$/, '')}/search`);
    url.search = new URLSearchParams({ q: query, format: 'json' }).toString();
    return { url, headers: {}, read: (answer) => rowsOf((answer as { results?: unknown }).results, 'content') };
  }
  if (!key) {
    throw new AgentError('WEB_FAILED', `the search service needs a key and ${key_env ?? 'web.search.key_env'} is not set`, {
      fix: 'write the key into .env and name its variable in web.search.key_env',
    });
  }
  const url = new URL(`${(base_url ?? 'https://api.search.brave.com').replace(/\/$/, '')}/res/v1/web/search`);
  url.search = new URLSearchParams({ q: query, count: String(limit) }).toString();
  const read = (answer: unknown) => rowsOf((answer as { web?: { results?: unknown } }).web?.results, 'description');
  return { url, headers: { accept: 'application/json', 'x-subscription-token': key }, read };
}

function rowsOf(rows: unknown, snippet: string): WebHit[] {
  if (!Array.isArray(rows)) return [];
  return (rows as Record<string, unknown>[])
    .filter((row) => typeof row?.url === 'string')
    .map((row) => ({ title: plain(row.title), url: String(row.url), snippet: plain(row[snippet]) }));
}

/** Services mark the words they found with tags. */
const plain = (text: unknown): string =>
  (typeof text === 'string' ? text : '')
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 500);

function hitsOf({ url, body }: Fetched, read: SearchRequest['read']): WebHit[] {
  try {
    return read(JSON.parse(Buffer.from(body).toString('utf8')));
  } catch (cause) {
    throw new AgentError('WEB_FAILED', `the search service at ${new URL(url).host} did not answer JSON`, {
      cause,
      fix: 'SearXNG: allow the json format under search.formats in its settings',
    });
  }
}
