/**
 * A real OpenID Connect and OAuth server (the certified `oidc-provider` package) on loopback, with one user and
 * hardly a form: whoever comes is Ada. The dashboard signs people in with it, model providers sign in at it (PKCE
 * and device codes). It counts what it was asked and can be told to misbehave.
 */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider, type ClientMetadata, type Configuration } from 'oidc-provider';
import { WebClient, type WebAnswer } from './webClient.ts';

export interface IdentityProvider extends AsyncDisposable {
  issuer: string;
  /** `GET /.well-known/openid-configuration`, `POST /token`, … in order. */
  asked: string[];
  /** Which grants the token endpoint was asked for, in order. */
  grants: string[];
  /** User codes of device sign-ins, the newest last. */
  codes: string[];
  /** Answers instead of the server; undefined = let it answer. */
  intercept?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Changes what the token endpoint answers. */
  rewriteTokens?: ((answer: TokenAnswer) => TokenAnswer) | undefined;
  /** Refuses every sign-in from now on. */
  deny: boolean;
  /** A token of these claims, signed as the server signs. */
  sign(claims: Record<string, unknown>): string;
  /** `providers.<name>.oauth` of config.yaml, as YAML in one line. */
  oauth(flow: 'pkce' | 'device_code', more?: Record<string, string>): string;
  /** Whose access token it is; undefined when it is none of ours, or has ended. */
  subjectOf(bearer: string): Promise<string | undefined>;
  /** No refresh token serves any more. */
  revokeAll(): Promise<void>;
  provider: Provider;
}

export type TokenAnswer = Record<string, unknown> & { id_token?: string; refresh_token?: string };

export interface IdentityProviderOptions {
  /** Beside the one of model providers. */
  clients?: ClientMetadata[];
  alg?: 'RS256' | 'ES256' | 'PS256';
  claims?: Record<string, unknown>;
  configuration?: Configuration;
  /** Lifetime of access tokens. */
  accessSeconds?: number;
}

export const CLIENT_ID = 'agent-dashboard';
/** A program on somebody's machine: always gets a refresh token, which stays the same. */
const NATIVE_ID = 'agent-service-test';

/** A public client as the dashboard is one. */
export const publicClient = (redirectUris: string[], more: Partial<ClientMetadata> = {}): ClientMetadata => ({
  client_id: CLIENT_ID,
  redirect_uris: redirectUris,
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  ...more,
});

const nativeClient = publicClient(['http://127.0.0.1/callback'], {
  client_id: NATIVE_ID,
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
});

export async function startIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const { alg = 'RS256' } = options;
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const issuer = `http://127.0.0.1:${(listener.address() as { port: number }).port}`;
  const provider = new Provider(issuer, configurationOf(options));
  provider.on('server_error', (_context: unknown, error: Error) => process.stderr.write(`oidc-provider: ${error.stack}\n`));
  const refreshTokens: { destroy(): Promise<unknown> }[] = [];
  provider.on('refresh_token.saved', (token) => void refreshTokens.push(token));
  const identity: IdentityProvider = {
    issuer,
    asked: [],
    grants: [],
    codes: [],
    deny: false,
    provider,
    sign(claims) {
      const body = [{ alg, kid: 'test' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      return `${body}.${sign('sha256', Buffer.from(body), keyFor(alg)).toString('base64url')}`;
    },
    oauth(flow, more = {}) {
      const addresses = { authorization_url: `${issuer}/auth`, device_url: `${issuer}/device/auth`, token_url: `${issuer}/token` };
      return JSON.stringify({ flow, ...addresses, client_id: NATIVE_ID, scopes: 'openid offline_access', ...more });
    },
    async subjectOf(bearer) {
      const token = await provider.AccessToken.find(bearer);
      return token && !token.isExpired ? token.accountId : undefined;
    },
    revokeAll: async () => void (await Promise.all(refreshTokens.map((token) => token.destroy()))),
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      listener.closeAllConnections();
      await closed;
    },
  };
  provider.on('device_code.saved', ({ userCode }) => void identity.codes.push(userCode ?? ''));
  watchTokens(provider, identity);
  const answer = provider.callback();
  listener.on('request', (request, response) => {
    const { pathname } = new URL(request.url!, issuer);
    identity.asked.push(`${request.method} ${pathname}`);
    if (identity.intercept?.(request, response)) return;
    void (pathname.startsWith('/interaction/') ? interact(provider, identity, request, response) : answer(request, response));
  });
  return identity;
}

function configurationOf({
  clients = [],
  alg = 'RS256',
  claims = { name: 'Ada Lovelace', email: 'ada@example.org', email_verified: true },
  configuration = {},
  accessSeconds = 3_600,
}: IdentityProviderOptions): Configuration {
  const isNative = (clientId: string | undefined) => clientId === NATIVE_ID;
  return {
    clients: [nativeClient, ...clients].map((client) => ({ id_token_signed_response_alg: alg, ...client })),
    jwks: { keys: [{ ...keyFor(alg).export({ format: 'jwk' }), alg, use: 'sig', kid: 'test' }] },
    clientDefaults: { id_token_signed_response_alg: alg },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'PS256'] },
    claims: { profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims }) }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    issueRefreshToken: (_ctx, client, code) =>
      Promise.resolve(client.grantTypeAllowed('refresh_token') && (isNative(client.clientId) || code.scopes.has('offline_access'))),
    rotateRefreshToken: ({ oidc }) => !isNative(oidc.client?.clientId),
    cookies: { keys: ['a key of a test'] },
    ttl: {
      AccessToken: accessSeconds,
      IdToken: accessSeconds,
      RefreshToken: 86_400,
      DeviceCode: 600,
      Interaction: 600,
      Session: 86_400,
      Grant: 86_400,
    },
    ...configuration,
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource },
      ...configuration.features,
    },
  };
}

/** Whoever comes without a proof that it was us is asked as well: the server asks always. */
function logoutSource(context: { body: unknown }, form: string): void {
  const button = '<button name="logout" value="yes">Sign out of the provider</button></form>';
  context.body = `<!doctype html><html lang="en"><title>Sign out</title>${form.replace('</form>', button)}</html>`;
}

/** Counts the grants, and lets a test change the answers. */
function watchTokens(provider: Provider, identity: IdentityProvider): void {
  provider.use(async (context, next) => {
    await next();
    if (context.path !== '/token') return;
    identity.grants.push(String(context.oidc?.params?.grant_type).split(':').at(-1)!);
    if (identity.rewriteTokens) context.body = identity.rewriteTokens(context.body as TokenAnswer);
  });
}

/** What a person would do on the server's own pages. */
async function interact(provider: Provider, { deny }: IdentityProvider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (deny) return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'the user said no' });
  if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope));
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const keys = new Map<string, KeyObject>();

/** Made once: an RSA key takes half a second. */
function keyFor(alg: string): KeyObject {
  const kind = alg === 'ES256' ? 'ec' : 'rsa';
  const known = keys.get(kind);
  if (known) return known;
  const { privateKey } =
    kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2_048 });
  keys.set(kind, privateKey);
  return privateKey;
}

interface Walk {
  /** What the person fills in; other fields are sent as they stand. */
  fields?: Record<string, string>;
  /** An address that is not opened any more. */
  stopAt?: RegExp;
  web?: WebClient;
}

/** A person with a browser: opens an address, sends every form that comes until none does. Answers where it ended. */
export async function walkForms(
  address: string,
  { fields = {}, stopAt, web = new WebClient() }: Walk = {},
): Promise<{ url: string; text: string }> {
  let url = new URL(address);
  let body: Record<string, string> | undefined;
  for (let step = 0; step < 30; step++) {
    if (stopAt?.test(url.href)) return { url: url.href, text: '' };
    const answer: WebAnswer = await (body ? web.form(url, body) : web.get(url));
    body = undefined;
    const to = answer.headers.location;
    if (to !== undefined) {
      url = new URL(to, url);
      continue;
    }
    const form = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(answer.text);
    if (!form || answer.status !== 200) return { url: url.href, text: answer.text };
    url = new URL(form[1]!.replaceAll('&amp;', '&'), url);
    body = {};
    for (const [input] of form[2]!.matchAll(/<(?:input|button)[^>]*>/g)) {
      const name = /\bname="([^"]*)"/.exec(input)?.[1];
      if (name) body[name] = fields[name] ?? /\bvalue="([^"]*)"/.exec(input)?.[1] ?? '';
    }
  }
  throw new Error(`the pages lead in circles at ${url.href}`);
}
