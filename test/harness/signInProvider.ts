/** A real OAuth provider (oidc-provider) for sign-ins at model providers: PKCE and device codes, and a person who fills in its pages. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface SignInServer extends AsyncDisposable {
  issuer: string;
  /** `providers.<name>.oauth`, as YAML in one line. */
  oauth(flow: 'pkce' | 'device_code', more?: Record<string, string>): string;
  /** Which grants the token endpoint was asked for, in order. */
  grants: string[];
  /** User codes of device sign-ins, the newest last. */
  codes: string[];
  /** Whose access token it is; undefined when it is none of ours, or has ended. */
  subjectOf(bearer: string): Promise<string | undefined>;
  /** Lets the token endpoint answer 503 as long as it is true. */
  down: boolean;
  /** Leaves the refresh token out of answers to a renewal. */
  quiet: boolean;
  /** No refresh token serves any more. */
  revokeAll(): Promise<void>;
}

export interface SignInServerOptions {
  /** Lifetime of access tokens. */
  accessSeconds?: number;
}

const CLIENT = 'agent-service-test';

export async function startSignInServer({ accessSeconds = 3_600 }: SignInServerOptions = {}): Promise<SignInServer> {
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        redirect_uris: ['http://127.0.0.1/callback'],
      },
    ],
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access'],
    issueRefreshToken: () => Promise.resolve(true),
    rotateRefreshToken: false,
    ttl: {
      AccessToken: accessSeconds,
      RefreshToken: 86_400,
      DeviceCode: 600,
      Session: 3_600,
      Interaction: 600,
      Grant: 86_400,
      IdToken: 3_600,
    },
    cookies: { keys: ['key of the test'] },
    jwks: { keys: [signingKey()] },
  });
  provider.on('server_error', (_context: unknown, error: Error) => process.stderr.write(`oidc-provider: ${error.stack}\n`));
  const grants: string[] = [];
  const refreshTokens: { destroy(): Promise<unknown> }[] = [];
  const codes: string[] = [];
  provider.on('device_code.saved', ({ userCode }) => void codes.push(userCode ?? ''));
  const state = { down: false, quiet: false };
  provider.on('refresh_token.saved', (token) => void refreshTokens.push(token));
  provider.use(async (context, next) => {
    if (context.path !== '/token') return next();
    if (state.down) return void (context.status = 503);
    await next();
    const grant = String(context.oidc?.params?.grant_type);
    grants.push(grant.split(':').at(-1)!);
    if (state.quiet && grant === 'refresh_token') delete (context.body as Record<string, unknown>).refresh_token;
    return undefined;
  });
  const handle = provider.callback();
  listener.on('request', (request, response) => void handle(request, response));
  return Object.assign(state, {
    issuer,
    grants,
    codes,
    oauth(flow: 'pkce' | 'device_code', more: Record<string, string> = {}) {
      const fields = {
        flow,
        authorization_url: `${issuer}/auth`,
        device_url: `${issuer}/device/auth`,
        token_url: `${issuer}/token`,
        client_id: CLIENT,
        scopes: 'openid offline_access',
        ...more,
      };
      return JSON.stringify(fields);
    },
    async subjectOf(bearer: string) {
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
  });
}

function signingKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };
}

/**
 * A person with a browser: opens an address, fills in every form that comes (any name, any password, consent) until none
 * does. Answers the address and the text where it ended. `stopAt`: an address that is not opened any more.
 */
export async function walkForms(
  address: string,
  { fields = {}, stopAt }: { fields?: Record<string, string>; stopAt?: RegExp } = {},
): Promise<{ url: string; text: string }> {
  const cookies = new Map<string, Map<string, string>>();
  let url = new URL(address);
  let body: URLSearchParams | undefined;
  for (let step = 0; step < 30; step++) {
    if (stopAt?.test(url.href)) return { url: url.href, text: '' };
    const jar = cookies.get(url.host) ?? new Map<string, string>();
    cookies.set(url.host, jar);
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body ? { method: 'POST', body } : {}),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    body = undefined;
    const to = answer.headers.get('location');
    const text = await answer.text();
    if (to !== null) {
      url = new URL(to, url);
      continue;
    }
    const form = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(text);
    if (!form || !answer.ok) return { url: url.href, text };
    url = new URL(form[1]!.replaceAll('&amp;', '&'), url);
    body = new URLSearchParams();
    for (const [input] of form[2]!.matchAll(/<input[^>]*>/g)) {
      const name = /\bname="([^"]*)"/.exec(input)?.[1];
      if (name) body.set(name, fields[name] ?? /\bvalue="([^"]*)"/.exec(input)?.[1] ?? 'alice');
    }
    if (/name="confirm"|device-user-code|confirm/.test(form[0]) && !body.has('confirm') && /user_code/.test(form[0]))
      body.set('confirm', 'yes');
  }
  throw new Error(`the pages lead in circles at ${url.href}`);
}
