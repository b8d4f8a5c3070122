/**
 * Sessions of signed-in browsers, without a store: the identity travels signed in a cookie, the provider's
 * refresh token sealed in another. A change of a provider's settings ends the sessions it made, because
 * the key of the signature is made from them.
 */
import { z } from 'zod';
import { hexId } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import type { Identity, Person } from './identity.ts';
import type { Provider } from './provider.ts';
import { createSeal, type Seal } from './seal.ts';
import type { SignInFile } from './signInFile.ts';

/** Reference §1.1. */
export const ACCESS_COOKIE = 'agent_session_at';
export const REFRESH_COOKIE = 'agent_session_rt';
/** The ID token, for the way out; browsers send it there alone. */
export const HINT_COOKIE = { name: 'agent_session_it', path: '/auth/logout' } as const;

const Signed = z.object({
  sid: z.string(),
  /** Of the sign-in itself; renewals keep it. */
  began: z.number(),
  until: z.number(),
  user_id: z.string(),
  email: z.string(),
  display_name: z.string(),
  org_id: z.string(),
  provider: z.string(),
});
export type Session = z.infer<typeof Signed>;

const Renewal = z.object({ sid: z.string(), began: z.number(), provider: z.string(), refreshToken: z.string() });
export type Renewal = z.infer<typeof Renewal>;

const Hint = z.object({ sid: z.string(), idToken: z.string() });

export interface Sessions {
  begin(person: Person, seconds: number): Session;
  renewed(old: Renewal, person: Person, seconds: number): Session;
  /** The text of the access cookie. */
  sign(session: Session): string;
  /** Expired ones too: who was here is told so. Undefined for a forged, foreign or ended one. */
  read(cookie: string | undefined): Session | undefined;
  /** Undefined when it does not fit a cookie. */
  seal(session: Session, refreshToken: string): string | undefined;
  unseal(cookie: string | undefined): Renewal | undefined;
  /** Undefined when it does not fit a cookie. */
  sealHint(session: Session, idToken: string): string | undefined;
  /** The ID token of this very session. */
  hintOf(session: Session, cookie: string | undefined): string | undefined;
}

export function createSessions(providers: readonly Provider[], secret: string, file: Pick<SignInFile, 'hasEnded'>): Sessions {
  const seals = new Map<string, Seal>(providers.map(({ id, fingerprint }) => [id, createSeal(secret, `${id} ${fingerprint}`)]));
  /** The provider stands outside, so that the key is found before anything inside is believed. */
  const sealOf = (cookie: string) => seals.get(cookie.slice(0, cookie.indexOf('~')));
  const bodyOf = (cookie: string) => cookie.slice(cookie.indexOf('~') + 1);
  const make = (person: Person, { sid, began }: { sid: string; began: number }, seconds: number): Session => ({
    ...person,
    sid,
    began,
    until: Math.min(Date.now() + seconds * 1_000, began + limits.signIn.renewalsMaxSeconds * 1_000),
  });
  return {
    begin: (person, seconds) => make(person, { sid: hexId(32), began: Date.now() }, seconds),
    renewed: (old, person, seconds) => make(person, old, seconds),
    sign: (session) => `${session.provider}~${seals.get(session.provider)!.sign(session)}`,
    read(cookie = '') {
      const session = Signed.safeParse(sealOf(cookie)?.verify(bodyOf(cookie))).data;
      return session && !file.hasEnded(session.sid) ? session : undefined;
    },
    seal({ sid, began, provider }, refreshToken) {
      const text = `${provider}~${seals.get(provider)!.seal({ sid, began, provider, refreshToken } satisfies Renewal)}`;
      return text.length <= limits.signIn.cookieMaxBytes ? text : undefined;
    },
    sealHint({ sid, provider }, idToken) {
      const text = `${provider}~${seals.get(provider)!.seal({ sid, idToken } satisfies z.infer<typeof Hint>)}`;
      return text.length <= limits.signIn.hintMaxBytes ? text : undefined;
    },
    hintOf({ sid }, cookie = '') {
      const hint = Hint.safeParse(sealOf(cookie)?.unseal(bodyOf(cookie))).data;
      return hint?.sid === sid ? hint.idToken : undefined;
    },
    unseal(cookie = '') {
      const renewal = Renewal.safeParse(sealOf(cookie)?.unseal(bodyOf(cookie))).data;
      if (!renewal || file.hasEnded(renewal.sid)) return undefined;
      return Date.now() - renewal.began < limits.signIn.renewalsMaxSeconds * 1_000 ? renewal : undefined;
    },
  };
}

export const isOver = ({ until }: Session): boolean => until <= Date.now();

export const identityOf = ({ user_id, email, display_name, org_id, provider, until }: Session): Identity => ({
  user_id,
  email,
  display_name,
  org_id,
  provider,
  expires_at: new Date(until).toISOString(),
});
