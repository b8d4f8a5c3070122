/** A browser without a screen: keeps cookies per host, follows redirects as a navigation does. */
import { request, type IncomingHttpHeaders } from 'node:http';

export interface WebAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Address that answered. */
  address: string;
  json<T = Record<string, unknown>>(): T;
}

export interface WebAsked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Follow redirects (default false). */
  follow?: boolean;
}

export class WebClient {
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

  #send(url: URL, { method = 'GET', headers = {}, body }: WebAsked): Promise<WebAnswer> {
    const jar = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method,
          agent: false,
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
            const text = Buffer.concat(chunks).toString();
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, address: url.href, json: () => JSON.parse(text) });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const at = pair.indexOf('=');
  const name = pair.slice(0, at);
  const gone = attributes.some((attribute) => /^max-age=0$/i.test(attribute) || /^expires=thu, 01 jan 1970/i.test(attribute));
  if (gone) jar.delete(name);
  else jar.set(name, pair.slice(at + 1));
}
