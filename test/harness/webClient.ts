/** A browser without a screen: keeps cookies per host, follows redirects as a navigation does. */
import { request, type Agent, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';

export interface WebAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Empty for what is only bytes. */
  text: string;
  bytes: Buffer;
  /** Address that answered. */
  address: string;
  json<T = Record<string, unknown>>(): T;
}

export interface WebAsked {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Kept connections; a new one for each request without. */
  agent?: Agent;
  /** Follow redirects (default false). */
  follow?: boolean;
}

export interface WebOptions {
  /** A certificate to trust, in PEM: every name is then on this machine. */
  ca?: string;
  /** The address it comes from. */
  from?: string;
}

export class WebClient {
  readonly #connection: RequestOptions & { ca?: string };

  constructor({ ca, from }: WebOptions = {}) {
    this.#connection = { ...(ca ? { ca, lookup: onThisMachine } : {}), ...(from ? { localAddress: from } : {}) };
  }

  /** Cookies by `host:port`, then by name; in the form they are sent. */
  readonly cookies = new Map<string, Map<string, string>>();

  get(address: string | URL, options: WebAsked = {}): Promise<WebAnswer> {
    return this.ask(address, options);
  }

  form(address: string | URL, fields: Record<string, string>, options: WebAsked = {}): Promise<WebAnswer> {
    const { origin } = new URL(address);
    return this.ask(address, {
      ...options,
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: origin,
        'Sec-Fetch-Site': 'same-origin',
        ...options.headers,
      },
    });
  }

  /** A call as the page makes it. */
  api(address: string | URL, { headers = {}, ...options }: WebAsked = {}): Promise<WebAnswer> {
    return this.ask(address, { ...options, headers: { 'X-Agent-Requested-With': 'agent', 'Sec-Fetch-Site': 'same-origin', ...headers } });
  }

  cookie(address: string | URL, name: string): string | undefined {
    return this.cookies.get(new URL(address).host)?.get(name);
  }

  async ask(address: string | URL, options: WebAsked = {}): Promise<WebAnswer> {
    let url = new URL(address);
    let { method = 'GET', body } = options;
    for (let hops = 0; ; hops++) {
      const answer = await this.#send(url, { ...options, method, ...(body === undefined ? {} : { body }) });
      if (!options.follow || ![301, 302, 303, 307].includes(answer.status) || hops > 15) return answer;
      url = new URL(answer.headers.location!, url);
      method = 'GET';
      body = undefined;
    }
  }

  /** What it would send as `Cookie`. */
  cookieHeader(address: string | URL): string {
    return [...(this.cookies.get(new URL(address).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #send(url: URL, { method = 'GET', headers = {}, body, agent }: WebAsked): Promise<WebAnswer> {
    const jar = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, jar);
    const cookie = this.cookieHeader(url);
    return new Promise((resolve, reject) => {
      const sent = (url.protocol === 'https:' ? secureRequest : request)(
        url,
        {
          ...this.#connection,
          // What a certificate is checked against; a Host header says something else where a test lies.
          servername: url.hostname,
          method,
          agent: agent ?? false,
          headers: {
            ...(cookie ? { Cookie: cookie } : {}),
            ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (answer) => {
          for (const line of answer.headers['set-cookie'] ?? []) keep(jar, line);
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const text = answer.headers['content-type'] === 'application/octet-stream' ? '' : bytes.toString();
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text,
              bytes,
              address: url.href,
              json: () => JSON.parse(text),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

/** As a line in /etc/hosts would say. */
export const onThisMachine: NonNullable<RequestOptions['lookup']> = (_name, options, found) =>
  options.all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4);

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const at = pair.indexOf('=');
  const name = pair.slice(0, at);
  const gone = attributes.some((attribute) => /^max-age=0$/i.test(attribute) || /^expires=thu, 01 jan 1970/i.test(attribute));
  if (gone) jar.delete(name);
  else jar.set(name, pair.slice(at + 1));
}
