/** What is said to a provider's endpoints: device codes, tokens for codes, renewals. RFC 6749, 7636, 8628; answers bounded in time and size. */
import { AgentError, errnoOf, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { ProviderOauth } from '../../../state/config/schema.ts';

export interface Client {
  provider: string;
  oauth: ProviderOauth;
  /** Of a client that has one. */
  secret: string | undefined;
}

export interface Tokens {
  access_token: string;
  /** A renewal that brings none leaves the old one in force. */
  refresh_token: string | undefined;
  token_type: string;
  scope: string | undefined;
  /** Milliseconds since the epoch; null = the provider does not say. */
  expiresAt: number | null;
}

export interface DeviceCode {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string | null;
  expiresMs: number;
  intervalMs: number;
}

/** What the token endpoint refuses, in its own word: `authorization_pending`, `invalid_grant`, … */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string, description: string) {
    super(description);
    this.code = code;
  }
}

export const scopeOf = ({ scopes }: ProviderOauth): string => (Array.isArray(scopes) ? scopes.join(' ') : (scopes ?? ''));

/** Errors: PROVIDER_SIGN_IN_FAILED. */
export async function askDeviceCode(client: Client, signal: AbortSignal): Promise<DeviceCode> {
  const { oauth } = client;
  const answer = await post(client, oauth.device_url!, { ...scoped(oauth), ...resource(oauth) }, signal).catch(refusalAsFailure(client));
  const { device_code, user_code } = answer;
  const page = answer.verification_uri ?? answer.verification_url;
  if (typeof device_code !== 'string' || typeof user_code !== 'string' || !isWebAddress(page)) {
    throw failed(client, 'its device endpoint answers without a code');
  }
  const complete = answer.verification_uri_complete;
  return {
    device_code,
    user_code,
    verification_uri: page,
    verification_uri_complete: isWebAddress(complete) ? complete : null,
    expiresMs: Math.min(seconds(answer.expires_in) ?? limits.providerSignIn.flowMs, limits.providerSignIn.flowMaxMs),
    // A timer of many days would fire at once, again and again.
    intervalMs: Math.min(seconds(answer.interval) ?? limits.providerSignIn.pollMs, limits.providerSignIn.flowMaxMs),
  };
}

export type Grant =
  | { grant_type: 'authorization_code'; code: string; redirect_uri: string; code_verifier: string }
  | { grant_type: 'urn:ietf:params:oauth:grant-type:device_code'; device_code: string }
  | { grant_type: 'refresh_token'; refresh_token: string };

/** Errors: Refusal in the provider's words; PROVIDER_SIGN_IN_FAILED for anything that may pass. */
export async function askTokens(client: Client, grant: Grant, signal: AbortSignal): Promise<Tokens> {
  const answer = await post(client, client.oauth.token_url, { ...grant, ...resource(client.oauth) }, signal);
  const { access_token, refresh_token, token_type, scope } = answer;
  if (typeof access_token !== 'string' || access_token === '') throw failed(client, 'its token endpoint answers without a token');
  const lastsMs = seconds(answer.expires_in);
  return {
    access_token,
    refresh_token: typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined,
    token_type: typeof token_type === 'string' ? token_type : 'Bearer',
    scope: typeof scope === 'string' ? scope : undefined,
    // What lasts longer than a date can say has no end.
    expiresAt: lastsMs === undefined || Date.now() + lastsMs > LAST_DATE_MS ? null : Date.now() + lastsMs,
  };
}

/** The last instant of ECMAScript. */
const LAST_DATE_MS = 8.64e15;

type Json = Record<string, unknown>;

async function post(client: Client, url: string, fields: Record<string, string>, signal: AbortSignal): Promise<Json> {
  const { oauth, secret } = client;
  const body = new URLSearchParams({ ...fields, client_id: oauth.client_id, ...(secret ? { client_secret: secret } : {}) });
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      body,
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(limits.providerSignIn.requestMs)]),
    });
    text = await boundedText(response);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    throw failed(client, `${new URL(url).host}: ${errnoOf((thrown as { cause?: unknown }).cause) ?? messageOf(thrown)}`, thrown);
  }
  const said = objectOf(text);
  if (response.ok && said) return said;
  const error = said?.error;
  if (response.status >= 400 && response.status < 500 && response.status !== 429 && typeof error === 'string') {
    throw new Refusal(error.slice(0, 100), String(said?.error_description ?? error).slice(0, limits.models.errorTextMaxChars));
  }
  throw failed(client, `${new URL(url).host} answered ${response.status}${said ? '' : ' without JSON'}`);
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body ?? []) {
    if ((size += chunk.byteLength) > limits.providerSignIn.answerMaxBytes) throw new Error('the answer is far too large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

function objectOf(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

const scoped = (oauth: ProviderOauth): Record<string, string> => (scopeOf(oauth) ? { scope: scopeOf(oauth) } : {});
const resource = ({ resource: named }: ProviderOauth): Record<string, string> => (named ? { resource: named } : {});
const isWebAddress = (value: unknown): value is string => typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value);
const seconds = (value: unknown): number | undefined => {
  const number = Number(value);
  return value !== undefined && value !== null && number > 0 && Number.isFinite(number) ? number * 1_000 : undefined;
};

function refusalAsFailure(client: Client) {
  return (thrown: unknown): never => {
    throw thrown instanceof Refusal ? failed(client, `${thrown.code}: ${thrown.message}`, thrown) : thrown;
  };
}

export function failed({ provider }: Pick<Client, 'provider'>, why: string, cause?: unknown): AgentError {
  return new AgentError('PROVIDER_SIGN_IN_FAILED', `signing in at ${provider}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    fix: `try again; providers.${provider}.oauth in config.yaml names its addresses`,
  });
}
