/**
 * The cookie by which the dashboard recognises a browser that has shown a login code once. Only such a browser gets
 * the page with the session token in it. The key is kept in a private file, so the cookie survives a restart.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { limits } from '../../../base/limits.ts';
import { cookiesOf, setCookie } from './cookies.ts';
import { createSeal } from './seal.ts';

export interface BrowserProof {
  /** Sets the cookie, valid for `limits.signIn.browserSeconds` from now. */
  give(request: IncomingMessage, reply: FastifyReply): void;
  isProved(request: IncomingMessage): boolean;
}

export function createBrowserProof(secret: string): BrowserProof {
  const seal = createSeal(secret, 'browser');
  const seconds = limits.signIn.browserSeconds;
  return {
    give(request, reply) {
      const value = seal.sign({ until: Date.now() + seconds * 1_000 });
      void reply.header('Set-Cookie', setCookie(nameFor(request), value, { secure: false, seconds, sameSite: 'Strict' }));
    },
    isProved(request) {
      const cookie = seal.verify(cookiesOf(request, false).get(nameFor(request))) as { until?: number } | undefined;
      return (cookie?.until ?? 0) > Date.now();
    },
  };
}

/** Cookies ignore ports: without one in the name, two dashboards of a machine would overwrite each other's. */
const nameFor = ({ socket }: IncomingMessage): string => `agent_browser_${socket.localPort ?? 0}`;
