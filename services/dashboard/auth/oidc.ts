/**
 * OpenID Connect (self-hosted, and the account portal, which speaks the same): authorization code with
 * PKCE as a public client. The library comes only when somebody signs in. Trusted are the issuer and the
 * client id that the operator wrote, never what a token says about itself.
 */
import type * as openid from 'openid-client';
import { AgentError, isAgentError, messageOf } from '../../../base/errors.ts';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/log.ts';
import { sleep } from '../../../base/time.ts';
import type { OidcSettings } from '../../../state/config/signIn.ts';
import { isLoopbackHost } from '../../../state/config/dashboardAddress.ts';
import { claimText, type Person } from './identity.ts';
import type { RedirectProvider, SignedIn } from './provider.ts';

type Client = typeof openid;

/** Asymmetric ones that every provider has: with a shared secret or none, whoever knows it could make tokens. */
const ALGORITHMS: ReadonlySet<string> = new Set(['RS256', 'ES256']);

export function createOidc(settings: OidcSettings, log: Logger): RedirectProvider {
  const { id, issuer, clientId, scopes, allowedUsers } = settings;
  const connect = createConnection(settings);
  const offline = scopes.split(' ').includes('offline_access');

  /** What the provider said, checked by the library and by us, as a session. */
  const accept = async ({ client, config }: Connected, tokens: Tokens, known?: string): Promise<SignedIn> => {
    requireAlgorithm(tokens.id_token);
    const claims = tokens.claims();
    const sub = claims?.sub ?? known;
    if (sub === undefined) throw failed('the provider sent no ID token');
    const more = await userInfo({ client, config }, tokens, sub, claims);
    const person = personOf(id, sub, { ...more, ...claims });
    if (!isAllowed(allowedUsers, person, { ...more, ...claims })) {
      log.warn(`${id}: ${person.user_id} (${person.email || 'no mail address'}) is not among dashboard.oauth.allowed_users`);
      throw failed('this account may not use this dashboard');
    }
    const idToken = endSessionOf(config) ? tokens.id_token : undefined;
    return { person, seconds: lifetimeOf(tokens), refreshToken: tokens.refresh_token, idToken };
  };

  return {
    kind: 'redirect',
    id,
    label: id === 'portal' ? 'the portal' : new URL(issuer).host,
    fingerprint: digest(JSON.stringify([issuer, clientId, allowedUsers])),
    begin: (callback) =>
      asked(async () => {
        const { client, config } = await connect();
        const secrets = { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
        const address = client.buildAuthorizationUrl(config, {
          redirect_uri: callback,
          scope: scopes,
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(secrets.verifier),
          code_challenge_method: 'S256',
          // OpenID Connect Core §11: without it the wish for a refresh token is passed over.
          ...(offline ? { prompt: 'consent' } : {}),
        });
        return { address, secrets };
      }),
    finish: (current, { state, nonce, verifier }) =>
      asked(async () => {
        const connected = await connect();
        const tokens = await connected.client.authorizationCodeGrant(connected.config, current, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return accept(connected, tokens);
      }),
    renew: (refreshToken) =>
      asked(async () => {
        const connected = await connect();
        const tokens = await connected.client.refreshTokenGrant(connected.config, refreshToken);
        // A provider that does not rotate sends none: the old one stays good.
        return { ...(await accept(connected, tokens)), refreshToken: tokens.refresh_token ?? refreshToken };
      }),
    async revoke(refreshToken) {
      try {
        const { client, config } = await connect();
        if (!config.serverMetadata().revocation_endpoint) return;
        const asking = client.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
        await Promise.race([asking, sleep(limits.signIn.revokeMs)]);
      } catch (thrown) {
        log.warn(`${id}: the session could not be revoked at the provider: ${messageOf(thrown)}`);
      }
    },
    async farewell({ back, state, idToken }) {
      try {
        const { client, config } = await inTime(connect());
        if (!endSessionOf(config)) return undefined;
        // A person who wants to leave is not sent to a door that is shut.
        await inTime(boundedFetch(discoveryOf(issuer), { redirect: 'manual' }).then(requireOk));
        return client.buildEndSessionUrl(config, { post_logout_redirect_uri: back, state, ...(idToken ? { id_token_hint: idToken } : {}) });
      } catch (thrown) {
        log.warn(`${id}: signed out here and not at the provider: ${messageOf(thrown)}`);
        return undefined;
      }
    },
  };
}

/** Where the provider ends its own session; undefined when it does so nowhere, or where no browser should go. */
function endSessionOf(config: openid.Configuration): string | undefined {
  const address = config.serverMetadata().end_session_endpoint;
  return address !== undefined && isTrustworthy(address) ? address : undefined;
}

async function inTime<T>(asking: Promise<T>): Promise<T> {
  const late = new AbortController();
  const limit = sleep(limits.signIn.revokeMs, late.signal).then(() => {
    throw unavailable(`no answer within ${limits.signIn.revokeMs} ms`);
  });
  limit.catch(() => {});
  return Promise.race([asking, limit]).finally(() => late.abort());
}

type Tokens = openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers;
interface Connected {
  client: Client;
  config: openid.Configuration;
}

/** What the provider says about itself, asked at the first sign-in and again after an hour. */
function createConnection({ issuer, clientId }: OidcSettings): () => Promise<Connected> {
  let known: { value: Promise<Connected>; atMs: number } | undefined;
  return () => {
    if (known && performance.now() - known.atMs < limits.signIn.discoverySeconds * 1_000) return known.value;
    const value = discover(issuer, clientId);
    const mine = { value, atMs: performance.now() };
    known = mine;
    // A failure is not kept: the next person asks again.
    value.catch(() => known === mine && (known = undefined));
    return value;
  };
}

async function discover(issuer: string, clientId: string): Promise<Connected> {
  const client = await import('openid-client');
  const metadata = await metadataOf(issuer);
  const config = new client.Configuration(metadata, clientId, undefined, client.None());
  config.timeout = limits.signIn.providerMs / 1_000;
  config[client.customFetch] = (url, options) => boundedFetch(url, options as RequestInit);
  // The library trusts TLS alone for what comes from the token endpoint; the signature costs one look at a key set.
  client.enableNonRepudiationChecks(config);
  if (isPlainLoopback(issuer)) client.allowInsecureRequests(config);
  return { client, config };
}

const isTrustworthy = (address: string): boolean => URL.parse(address)?.protocol === 'https:' || isPlainLoopback(address);

const isPlainLoopback = (address: string): boolean => {
  const url = URL.parse(address);
  return url?.protocol === 'http:' && isLoopbackHost(url.hostname);
};

/** Errors: SIGN_IN_UNAVAILABLE when it cannot be had, or is about another issuer. */
async function metadataOf(issuer: string): Promise<openid.ServerMetadata> {
  const address = discoveryOf(issuer);
  const metadata = (await retried(async () =>
    requireOk(await boundedFetch(address, { headers: { Accept: 'application/json' }, redirect: 'manual' })).json(),
  )) as openid.ServerMetadata;
  const said = typeof metadata?.issuer === 'string' ? metadata.issuer : '';
  if (said.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    throw unavailable(`${address} speaks for "${said.slice(0, 200)}", not for ${issuer}`);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) requireEndpoint(name, metadata[name], true);
  for (const name of ['userinfo_endpoint', 'revocation_endpoint'] as const) requireEndpoint(name, metadata[name], false);
  return metadata;
}

const discoveryOf = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;

function requireOk(answer: Response): Response {
  if (!answer.ok) throw unavailable(`it answers ${answer.status}`);
  return answer;
}

function requireEndpoint(name: string, address: string | undefined, needed: boolean): void {
  if (address === undefined && !needed) return;
  if (isTrustworthy(address ?? '')) return;
  throw unavailable(`the provider's ${name} is "${(address ?? '').slice(0, 200)}", which is no https address`);
}

async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await ask();
    } catch (thrown) {
      if (round >= limits.signIn.discoveryTries) throw isAgentError(thrown) ? thrown : unavailable(reasonOf(thrown), thrown);
      await sleep(limits.signIn.discoveryPauseMs * round);
    }
  }
}

/** A provider that sends without end is cut; one that says nothing is given up. */
export async function boundedFetch(address: string | URL, options: RequestInit = {}): Promise<Response> {
  const late = AbortSignal.timeout(limits.signIn.providerMs);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  const answer = await fetch(address, { ...options, signal });
  const body = await boundedBody(answer);
  return new Response(body.length === 0 ? null : new Uint8Array(body), { status: answer.status, headers: answer.headers });
}

async function boundedBody(answer: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limits.signIn.providerAnswerMaxBytes) throw unavailable('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The library takes whatever the provider announces; we take two. */
function requireAlgorithm(idToken: string | undefined): void {
  if (idToken === undefined) return;
  const { alg } = JSON.parse(Buffer.from(idToken.split('.', 1)[0]!, 'base64url').toString()) as { alg?: unknown };
  if (!ALGORITHMS.has(String(alg))) throw failed(`its ID token is signed with ${String(alg).slice(0, 20)}; RS256 and ES256 are accepted`);
}

type Claims = Record<string, unknown>;

/** Names and addresses stand in the ID token with some providers, and behind the userinfo endpoint with others. */
async function userInfo({ client, config }: Connected, tokens: Tokens, sub: string, claims: Claims | undefined): Promise<Claims> {
  const complete = claims && (claims.name ?? claims.preferred_username) !== undefined && claims.email !== undefined;
  if (complete || !config.serverMetadata().userinfo_endpoint) return {};
  try {
    return await client.fetchUserInfo(config, tokens.access_token, sub);
  } catch {
    // Who it is stands in the ID token; the rest is ornament.
    return {};
  }
}

function personOf(provider: string, sub: string, claims: Claims): Person {
  const { name, preferred_username: preferred, nickname, email, org_id: org, organization, groups } = claims;
  const group = Array.isArray(groups) ? groups.map(claimText).filter(Boolean).join(',') : '';
  return {
    user_id: claimText(sub),
    email: claimText(email),
    display_name: [name, preferred, nickname, email].map(claimText).find(Boolean) ?? '',
    org_id: claimText([org, organization].map(claimText).find(Boolean) ?? group),
    provider,
  };
}

/** A mail address counts only when the provider has verified it: elsewhere users write what they like there. */
function isAllowed(allowed: string[], { user_id, email }: Person, claims: Claims): boolean {
  if (allowed.length === 0 || allowed.includes(user_id)) return true;
  return email !== '' && claims.email_verified === true && allowed.some((entry) => entry.toLowerCase() === email.toLowerCase());
}

/** With a refresh token a short while, so that a user blocked there is soon out here; without one a working day. */
function lifetimeOf(tokens: Tokens): number {
  if (tokens.refresh_token === undefined) return limits.signIn.passwordSessionSeconds;
  const { sessionMinSeconds, renewableSessionSeconds } = limits.signIn;
  return Math.min(renewableSessionSeconds, Math.max(sessionMinSeconds, tokens.expiresIn() ?? renewableSessionSeconds));
}

/** Errors of the library and of the network as ours. */
async function asked<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (isAgentError(thrown)) throw thrown;
    throw isAboutTheNetwork(thrown) ? unavailable(reasonOf(thrown), thrown) : failed(reasonOf(thrown), thrown);
  }
}

function isAboutTheNetwork(thrown: unknown): boolean {
  const { code, name, status } = thrown as { code?: string; name?: string; status?: number };
  return code === 'OAUTH_TIMEOUT' || name === 'TimeoutError' || thrown instanceof TypeError || (status ?? 0) >= 500;
}

function reasonOf(thrown: unknown): string {
  const { error, error_description: description, cause } = thrown as { error?: string; error_description?: string; cause?: unknown };
  if (error) return [error, description].filter(Boolean).join(': ').slice(0, 300);
  const inner = cause instanceof Error && cause.message !== messageOf(thrown) ? ` (${cause.message})` : '';
  return `${messageOf(thrown)}${inner}`.slice(0, 300);
}

const failed = (why: string, cause?: unknown): AgentError =>
  new AgentError('SIGN_IN_FAILED', `the sign-in failed: ${why}`, { cause, fix: 'sign in again' });
const unavailable = (why: string, cause?: unknown): AgentError =>
  new AgentError('SIGN_IN_UNAVAILABLE', `the identity provider cannot be used: ${why}`, {
    cause,
    retryAfterMs: 5_000,
    fix: 'try again; `agent logs gui` has the details',
  });
