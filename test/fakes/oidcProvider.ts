/**
 * A real OpenID Connect server (the certified `oidc-provider` package) on loopback, with one user and no
 * forms: whoever comes is Ada. It counts what it was asked and can be told to misbehave.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { Provider, type ClientMetadata, type Configuration } from 'oidc-provider';

export interface FakeProvider extends AsyncDisposable {
  issuer: string;
  /** `GET /.well-known/openid-configuration`, `POST /token`, … in order. */
  asked: string[];
  /** Answers instead of the server; undefined = let it answer. */
  intercept?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Changes ID tokens on their way to the client. */
  rewriteIdToken?: ((idToken: string) => string) | undefined;
  /** A token of these claims, signed as the server signs (RS256). */
  sign(claims: Record<string, unknown>): string;
  /** Refuses every sign-in from now on. */
  deny: boolean;
  provider: Provider;
}

export interface FakeProviderOptions {
  clients?: ClientMetadata[];
  alg?: 'RS256' | 'ES256' | 'PS256';
  claims?: Record<string, unknown>;
  configuration?: Configuration;
  /** Seconds of access tokens. */
  accessSeconds?: number;
}

export const CLIENT_ID = 'agent-dashboard';

/** A public client as the dashboard is one. */
export const publicClient = (redirectUris: string[], more: Partial<ClientMetadata> = {}): ClientMetadata => ({
  client_id: CLIENT_ID,
  redirect_uris: redirectUris,
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  ...more,
});

export async function startFakeProvider({
  clients = [],
  alg = 'RS256',
  claims = { name: 'Ada Lovelace', email: 'ada@example.org', email_verified: true },
  configuration = {},
  accessSeconds = 3_600,
}: FakeProviderOptions = {}): Promise<FakeProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const provider = new Provider(issuer, {
    clients: clients.map((client) => ({ id_token_signed_response_alg: alg, ...client })),
    jwks: { keys: [{ ...keyFor(alg).export({ format: 'jwk' }), alg, use: 'sig', kid: 'test' }] },
    clientDefaults: { id_token_signed_response_alg: alg },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'PS256'] },
    claims: { profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims }) }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    cookies: { keys: ['a key of a test'] },
    ttl: { AccessToken: accessSeconds, IdToken: accessSeconds, RefreshToken: 86_400, Interaction: 600, Session: 86_400, Grant: 86_400 },
    ...configuration,
    features: { devInteractions: { enabled: false }, revocation: { enabled: true }, ...configuration.features },
  });
  const fake: FakeProvider = {
    issuer,
    asked: [],
    deny: false,
    sign(claims) {
      const body = [{ alg, kid: 'test' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      return `${body}.${sign('sha256', Buffer.from(body), keyFor(alg)).toString('base64url')}`;
    },
    provider,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  serve(server, provider, fake);
  return fake;
}

function serve(server: Server, provider: Provider, fake: FakeProvider): void {
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url!, fake.issuer);
    fake.asked.push(`${request.method} ${pathname}`);
    if (fake.intercept?.(request, response)) return;
    if (pathname === '/token' && fake.rewriteIdToken) rewriteBody(response, fake.rewriteIdToken);
    if (pathname.startsWith('/interaction/')) void interact(provider, fake, request, response);
    else void answer(request, response);
  });
}

/** What a person would do on the server's own pages. */
async function interact(provider: Provider, fake: FakeProvider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (fake.deny) return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'the user said no' });
  if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope));
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

/** Holds the answer until it is whole. */
function rewriteBody(response: ServerResponse, rewrite: (idToken: string) => string): void {
  const end = response.end.bind(response);
  response.end = ((body?: string | Buffer) => {
    const answer = JSON.parse(String(body)) as { id_token?: string };
    const changed = JSON.stringify({ ...answer, ...(answer.id_token ? { id_token: rewrite(answer.id_token) } : {}) });
    response.setHeader('Content-Length', Buffer.byteLength(changed));
    return end(changed);
  }) as typeof response.end;
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
