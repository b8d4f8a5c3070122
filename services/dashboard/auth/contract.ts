/** What the rest of the dashboard sees of its gate, whichever of the two it is. */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { SessionToken } from '../guard.ts';
import type { BrowserProof } from './browserProof.ts';
import type { Clients } from './client.ts';
import type { Identity } from './identity.ts';
import type { OneTime } from './oneTime.ts';
import type { Provider, RedirectProvider, SignedIn } from './provider.ts';
import type { Session } from './session.ts';

/** A WebSocket that may be opened. */
export interface SocketPass {
  who: Identity;
  /** Calls `end` when the session is over or signed out; answers how to stop watching. */
  watch(end: () => void): () => void;
}

export interface Gate extends Disposable {
  mode: 'token' | 'signIn';
  /** Offered on the sign-in page; none with the token. */
  providers: readonly Provider[];
  /** Ways in for programs that ask `/api/status`: `cookie`. */
  flows: readonly string[];
  clients: Clients;
  token: SessionToken;
  /** Codes of login addresses (`agent dashboard`), each good for the session token once. */
  codes: OneTime<true>;
  /** Whose request this is, as it stands: no renewal, no answer. */
  whoIs(request: IncomingMessage): Identity | null;
  /** Whose request this is, or a refusal; renews a session that is about to end. Errors: UNAUTHENTICATED (GateRefusal), FORBIDDEN_REQUEST, SIGN_IN_UNAVAILABLE. */
  admit(request: IncomingMessage, reply: FastifyReply): Promise<Identity>;
  /** A word for one WebSocket, bound to whoever asks. Errors: UNAUTHENTICATED. */
  ticketFor(request: IncomingMessage, reply: FastifyReply): string;
  /** Null: close it with 4401. */
  socketPass(request: IncomingMessage, query: URLSearchParams): SocketPass | null;
  /** Another process has taken over (planned restart). */
  isRelieved(): boolean;
  /** Browsers that may get the page with the token in it; undefined where users sign in. */
  browsers?: BrowserProof;
  /** What only signed-in browsers have; undefined with the token. */
  door?: Door;
}

/** Coming in and going out by way of a provider. */
export interface Door {
  /** Cookies of a new session. Errors: SIGN_IN_FAILED. */
  open(request: IncomingMessage, reply: FastifyReply, provider: Provider, signedIn: SignedIn): Session;
  /** Ends the session here, with every socket of it, and tells the provider. */
  close(request: IncomingMessage, reply: FastifyReply): Promise<Closed>;
  /** Whether this browser was sent to the provider on its way out, and is back. */
  isBack(request: IncomingMessage, reply: FastifyReply): boolean;
  begin(request: IncomingMessage, reply: FastifyReply, provider: RedirectProvider, next: string): Promise<URL>;
  /** Errors: SIGN_IN_FAILED, SIGN_IN_UNAVAILABLE. */
  finish(request: IncomingMessage, reply: FastifyReply): Promise<{ session: Session; next: string }>;
  /** Errors: SIGN_IN_FAILED, TOO_MANY_TRIES, QUEUE_FULL. */
  checkPassword(request: IncomingMessage, reply: FastifyReply, given: { username: string; password: string }): Promise<Session>;
}

export interface Closed {
  /** Null: nobody was signed in. */
  who: Identity | null;
  /** Of the provider, where the browser ends the session it has there. */
  farewell: URL | undefined;
}

/** What both gates have. */
export interface SharedParts {
  token: SessionToken;
  clients: Clients;
  codes: OneTime<true>;
}
