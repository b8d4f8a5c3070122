/** What a sign-in provider is: one that takes a password, or one that the browser is sent to. */
import type { Person } from './identity.ts';

export interface PasswordProvider {
  kind: 'password';
  id: string;
  label: string;
  /** Of its settings: sessions made under other ones no longer count. */
  fingerprint: string;
  sessionSeconds: number;
  /** Null for a wrong name as for a wrong password, in the same time. Errors: QUEUE_FULL. */
  check(username: string, password: string): Promise<Person | null>;
}

/** Secrets of a sign-in under way; they travel sealed in a cookie of the browser that began it. */
export interface FlowSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

export interface SignedIn {
  person: Person;
  /** How long it counts until it is renewed, or done again. */
  seconds: number;
  refreshToken?: string | undefined;
  /** Only from a provider that ends sessions when a browser brings it one. */
  idToken?: string | undefined;
}

/** OpenID Connect RP-Initiated Logout 1.0 §2. */
export interface Goodbye {
  /** Where the browser comes back to. */
  back: string;
  /** Comes back with it. */
  state: string;
  /** Of the session that ends; spares the person a question. */
  idToken: string | undefined;
}

export interface RedirectProvider {
  kind: 'redirect';
  id: string;
  label: string;
  fingerprint: string;
  /** Where the browser goes. Errors: SIGN_IN_UNAVAILABLE. */
  begin(callback: string): Promise<{ address: URL; secrets: FlowSecrets }>;
  /** `current`: the callback address the browser came back to, query and all. Errors: SIGN_IN_FAILED, SIGN_IN_UNAVAILABLE. */
  finish(current: URL, secrets: FlowSecrets): Promise<SignedIn>;
  /** Without the user. Errors: SIGN_IN_FAILED when the provider refuses, SIGN_IN_UNAVAILABLE. */
  renew(refreshToken: string): Promise<SignedIn>;
  /** Tells the provider that the session is over, where it wants to know. Never throws. */
  revoke(refreshToken: string): Promise<void>;
  /** Where the browser goes so that the provider forgets it too; undefined when it offers that nowhere, or is away. Never throws. */
  farewell(goodbye: Goodbye): Promise<URL | undefined>;
}

export type Provider = PasswordProvider | RedirectProvider;

export const isPassword = (provider: Provider): provider is PasswordProvider => provider.kind === 'password';
