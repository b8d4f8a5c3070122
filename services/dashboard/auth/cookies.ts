/** Cookies of the gate: all HttpOnly, Lax unless they say Strict; on https Secure and, unless they serve one path alone, bound to this very host by their name. */
import type { IncomingMessage } from 'node:http';

export interface CookieJar {
  /** `path`: what it was set with, `/` unless given. */
  get(name: string, path?: string): string | undefined;
  /** Names that begin so, as `get` takes them, the oldest first as browsers send them. */
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
    get: (name, path = '/') => found.get(written(name, { secure, path })),
    names(prefix) {
      const start = written(prefix, { secure, path: '/' });
      return [...found.keys()].filter((name) => name.startsWith(start)).map((name) => prefix + name.slice(start.length));
    },
  };
}

/**
 * A `__Host-` cookie can be set neither by a neighbouring name nor over plain http; browsers take it on https alone, and for
 * the path `/` alone. What stands below a path must be proof against a neighbour's by what it holds.
 */
function written(name: string, { secure, path }: { secure: boolean; path: string }): string {
  if (!secure) return name;
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`;
}

export interface CookieOptions {
  secure: boolean;
  /** 0 removes it. */
  seconds: number;
  /** Sent there alone; `/` unless given. */
  path?: string;
  /** Default Lax. */
  sameSite?: 'Lax' | 'Strict';
}

/** A Set-Cookie line. Values are base64url, so nothing needs escaping. */
export function setCookie(name: string, value: string, { secure, seconds, path = '/', sameSite = 'Lax' }: CookieOptions): string {
  const attributes = [`Path=${path}`, 'HttpOnly', `SameSite=${sameSite}`, `Max-Age=${Math.floor(seconds)}`, ...(secure ? ['Secure'] : [])];
  return [`${written(name, { secure, path })}=${value}`, ...attributes].join('; ');
}
