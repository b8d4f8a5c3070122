/** Who speaks to the dashboard. Fields a provider does not tell are empty, as clients of such services expect. */

export interface Identity {
  user_id: string;
  email: string;
  display_name: string;
  org_id: string;
  /** `local` (the session token), `basic`, `self-hosted`, `portal`. */
  provider: string;
  /** ISO time; null for the session token, which lasts as long as its process. */
  expires_at: string | null;
}

/** What a provider says of a user; how long that counts is the session's business. */
export type Person = Omit<Identity, 'expires_at'>;

/** Whoever has the session token owns the home. */
export const localIdentity: Identity = {
  user_id: 'local',
  email: '',
  display_name: '',
  org_id: '',
  provider: 'local',
  expires_at: null,
};

/** OpenID Connect Core §2: a subject has up to 255 characters. */
const FIELD_MAX_CHARS = 255;

/** A claim as text that fits a cookie; empty for anything that is no text. */
export const claimText = (value: unknown): string =>
  typeof value === 'string' ? value.trim().slice(0, FIELD_MAX_CHARS) : typeof value === 'number' ? String(value) : '';
