/** Cookies of the gate: all HttpOnly and Lax; on https Secure and bound to this very host by their name. */
import type { IncomingMessage } from 'node:http';

export interface CookieJar {
  get(name: string): string | undefined;
  /** Names that begin so, without the `__Host-` prefix. */
  names(prefix: string): string[];
}

/** Cookies of a request under their plain names. Of two with one name the first counts: browsers send the more specific one first. */
export function cookiesOf({ headers }: Pick<IncomingMessage, 'headers'>, secure: boolean): CookieJar {
  const found = new Map<string, string>();
  for (const pair of (headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    if (at > 0 && !found.has(name)) found.set(name, pair.slice(at + 1).trim());
  }
  return {
    get: (name) => found.get(written(name, secure)),
    names: (prefix) => {
      const start = written(prefix, secure);
      return [...found.keys()].filter((name) => name.startsWith(start)).map((name) => name.slice(start.length - prefix.length));
    },
  };
}

/** A `__Host-` cookie can be set neither by a neighbouring name nor over plain http; browsers take it on https alone. */
const written = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name);

/** A Set-Cookie line; `seconds` 0 removes it. Values are base64url, so nothing needs escaping. */
export function setCookie(name: string, value: string, { secure, seconds }: { secure: boolean; seconds: number }): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax', `Max-Age=${Math.floor(seconds)}`, ...(secure ? ['Secure'] : [])];
  return [`${written(name, secure)}=${value}`, ...attributes].join('; ');
}
