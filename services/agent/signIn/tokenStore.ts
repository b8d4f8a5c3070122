/**
 * `auth.json` of a profile (0600): tokens of the providers that were signed in to. Every write is merged over what stands
 * there; tokens go only when their owner signs out or the provider says that they are void.
 */
import { renameSync } from 'node:fs';
import { isAgentError, messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { readJson, writeJsonAtomic } from '../../../state/atomicFile.ts';
import { stampOf } from '../../../state/fileStamp.ts';
import { withFileLock } from '../../../state/lock.ts';
import type { Tokens } from './wire.ts';

export interface StoredSignIn {
  access_token: string;
  refresh_token?: string | undefined;
  token_type: string;
  scope?: string | undefined;
  /** RFC 3339; null = it has no end that is known. */
  expires_at: string | null;
  obtained_at: string;
  /** The client they were given to: those of another one are not used. */
  client_id: string;
  token_url: string;
  /** The provider said that they are void: `invalid_grant`. */
  void?: string;
}

interface AuthFile {
  providers?: Record<string, StoredSignIn>;
}

export class TokenStore {
  readonly #path: string;
  readonly #log: Logger;
  readonly #learn: (values: string[]) => void;
  #read: { stamp: string; file: AuthFile } | undefined;

  constructor({ path, log, learn }: { path: string; log: Logger; learn: (values: string[]) => void }) {
    this.#path = path;
    this.#log = log;
    this.#learn = learn;
  }

  /** Read again when the file changed: another process may have renewed them. */
  get(provider: string): StoredSignIn | undefined {
    const providers = this.#file().providers ?? {};
    return Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  }

  /** Merged: what the new tokens do not bring stays. Errors: LOCK_HELD, DISK_FULL, HOME_UNUSABLE. */
  async put(provider: string, { client_id, token_url }: { client_id: string; token_url: string }, tokens: Tokens): Promise<StoredSignIn> {
    this.#learn([tokens.access_token, tokens.refresh_token ?? '']);
    return this.#change((providers) => {
      const before = providers[provider];
      const same = before?.client_id === client_id && before.token_url === token_url;
      const stored: StoredSignIn = {
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token ?? (same ? before?.refresh_token : undefined),
        token_type: tokens.token_type,
        scope: tokens.scope ?? (same ? before?.scope : undefined),
        expires_at: tokens.expiresAt === null ? null : new Date(tokens.expiresAt).toISOString(),
        obtained_at: new Date().toISOString(),
        client_id,
        token_url,
      };
      providers[provider] = stored;
      return stored;
    });
  }

  /** The provider no longer takes this refresh token. One that was stored since is left alone. */
  async markVoid(provider: string, refreshToken: string, why: string): Promise<void> {
    await this.#change((providers) => {
      const stored = providers[provider];
      if (stored?.refresh_token === refreshToken)
        providers[provider] = { ...stored, access_token: '', refresh_token: undefined, void: why };
    });
  }

  async forget(provider: string): Promise<boolean> {
    return this.#change((providers) => {
      const had = Object.hasOwn(providers, provider);
      delete providers[provider];
      return had;
    });
  }

  #file(): AuthFile {
    const stamp = stampOf([this.#path]);
    if (this.#read?.stamp === stamp) return this.#read.file;
    let file: AuthFile = {};
    try {
      file = asFile(readJson(this.#path));
      this.#learn(Object.values(file.providers ?? {}).flatMap(({ access_token, refresh_token = '' }) => [access_token, refresh_token]));
    } catch (thrown) {
      this.#log.warn(`${this.#path} cannot be read: ${messageOf(thrown)}`);
    }
    this.#read = { stamp, file };
    return file;
  }

  async #change<T>(change: (providers: Record<string, StoredSignIn>) => T): Promise<T> {
    return withFileLock(this.#path, () => {
      const file = this.#forWriting();
      const providers = { ...file.providers };
      const result = change(providers);
      writeJsonAtomic(this.#path, { ...file, providers });
      this.#read = undefined;
      return result;
    });
  }

  /** A file that is no JSON is moved aside, never written over. */
  #forWriting(): AuthFile {
    try {
      return asFile(readJson(this.#path));
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError) || isAgentError(thrown)) throw thrown;
      const aside = `${this.#path}.damaged`;
      renameSync(this.#path, aside);
      this.#log.warn(`${this.#path} was damaged; it is kept as ${aside}`);
      return {};
    }
  }
}

const asFile = (value: unknown): AuthFile => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
