/**
 * Sign-ins at model providers: what config.yaml offers, the flows that run, and the token that serves a request, renewed
 * in time by one caller for all. A flow lives in memory and ends with the worker; tokens live in auth.json.
 */
import { createHash, randomBytes } from 'node:crypto';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { hexId } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import { sleep } from '../../../base/time.ts';
import type { SignInProvider, SignInStarted, SignInState } from '../../../ipc/contracts/rpcSignIn.ts';
import type { WorkerContext } from '../../worker.ts';
import { nextFlow, type FlowEvent, type FlowState } from './flow.ts';
import { listenForReturn } from './loopback.ts';
import { TokenStore, type StoredSignIn } from './tokenStore.ts';
import { askDeviceCode, askTokens, failed, Refusal, scopeOf, type Client, type DeviceCode, type Grant } from './wire.ts';

type SignInContext = Pick<WorkerContext, 'config' | 'secrets' | 'paths' | 'log' | 'redact' | 'signal'>;

interface Flow {
  id: string;
  client: Client;
  expiresAt: number;
  state: FlowState;
  /** Of a browser flow: turns the code that came back into tokens. */
  redeem?: (code: string) => Promise<void>;
  /** What a return has to carry. */
  expects?: string;
  closing: AbortController;
}

export class SignIns {
  readonly #context: SignInContext;
  readonly #store: TokenStore;
  readonly #flows = new Map<string, Flow>();
  readonly #renewing = new Map<string, Promise<string>>();

  constructor(context: SignInContext) {
    this.#context = context;
    this.#store = new TokenStore({ path: context.paths.auth, log: context.log, learn: (values) => context.redact.learn(values) });
  }

  // --- what there is ---

  providers(): SignInProvider[] {
    return Object.entries(this.#context.config().config.providers ?? {}).flatMap(([id, { oauth }]) => {
      if (!oauth) return [];
      const stored = this.#stored(id);
      const loggedIn = stored !== undefined && this.#serves(stored);
      return [
        {
          id,
          name: oauth.name ?? id,
          flow: oauth.flow,
          cli_command: `agent auth login ${id}`,
          docs_url: oauth.docs_url ?? null,
          status: {
            logged_in: loggedIn,
            source: loggedIn ? 'auth.json' : null,
            source_label: loggedIn ? `signed in since ${stored.obtained_at}` : null,
            token_preview: loggedIn ? '••••' : null,
            expires_at: loggedIn ? stored.expires_at : null,
            error: stored && !loggedIn ? `${stored.void ?? 'the access token has ended'}: sign in again` : null,
          },
        },
      ];
    });
  }

  /** The token as it is, for the choice of a provider: no network. Undefined = a sign-in is needed. */
  bearer(provider: string): string | undefined {
    const stored = this.#stored(provider);
    return stored && this.#serves(stored) ? stored.access_token : undefined;
  }

  /** A token that serves now. `rejected`: the provider refused that one. Errors: PROVIDER_SIGN_IN, PROVIDER_SIGN_IN_FAILED. */
  async renew(provider: string, { rejected, signal }: { rejected?: string | undefined; signal: AbortSignal }): Promise<string> {
    const stored = this.#stored(provider);
    if (!stored || !this.#serves(stored)) throw needsSignIn(provider, stored?.void);
    const fresh = stored.access_token !== rejected && leftMs(stored) > limits.providerSignIn.renewMs;
    if (fresh) return stored.access_token;
    if (!stored.refresh_token) {
      if (stored.access_token === rejected) throw needsSignIn(provider, 'its access token is no longer taken');
      return stored.access_token;
    }
    let renewing = this.#renewing.get(provider);
    if (!renewing) {
      renewing = this.#renewNow(provider, stored.refresh_token).finally(() => this.#renewing.delete(provider));
      this.#renewing.set(provider, renewing);
    }
    try {
      return await untilAborted(renewing, signal);
    } catch (thrown) {
      // Trouble on the way to the renewal: the old one may serve a little longer.
      if (signal.aborted || needsAgain(thrown) || stored.access_token === rejected || leftMs(stored) <= 0) throw thrown;
      return stored.access_token;
    }
  }

  async #renewNow(provider: string, refreshToken: string): Promise<string> {
    const client = this.#client(provider);
    try {
      const tokens = await askTokens(client, { grant_type: 'refresh_token', refresh_token: refreshToken }, this.#context.signal);
      this.#context.log.info(`the sign-in of ${provider} was renewed`);
      return (await this.#store.put(provider, client.oauth, tokens)).access_token;
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (thrown.code !== 'invalid_grant') throw failed(client, `${thrown.code}: ${thrown.message}`, thrown);
      // Somebody else may have renewed with the same token a moment before.
      const now = this.#store.get(provider);
      if (now?.refresh_token && now.refresh_token !== refreshToken) return now.access_token;
      await this.#store.markVoid(provider, refreshToken, 'the provider ended the sign-in');
      this.#context.log.warn(`${provider} no longer takes the sign-in: agent auth login ${provider}`);
      throw needsSignIn(provider, 'the provider ended the sign-in');
    }
  }

  async signOut(provider: string): Promise<void> {
    this.#endFlowsOf(provider);
    const had = await this.#store.forget(provider);
    if (!had && !this.#context.config().config.providers?.[provider]?.oauth) this.#client(provider);
    if (had) this.#context.log.info(`signed out of ${provider}`);
  }

  // --- flows ---

  async start(provider: string): Promise<SignInStarted> {
    const client = this.#client(provider);
    this.#endFlowsOf(provider);
    for (const { id, state } of this.#flows.values()) if (state.phase !== 'pending') this.#flows.delete(id);
    if (this.#flows.size >= limits.providerSignIn.flowsMax) {
      throw new AgentError('QUEUE_FULL', `${this.#flows.size} sign-ins are open`, { fix: 'finish or cancel one of them first' });
    }
    return client.oauth.flow === 'device_code' ? this.#startDevice(client) : this.#startBrowser(client);
  }

  async #startDevice(client: Client): Promise<SignInStarted> {
    const code = await askDeviceCode(client, this.#context.signal);
    const flow = this.#open(client, code.expiresMs);
    void this.#askUntilApproved(flow, code);
    return {
      flow: 'device_code',
      flow_id: flow.id,
      user_code: code.user_code,
      verification_url: code.verification_uri,
      verification_url_complete: code.verification_uri_complete,
      expires_in: Math.round(code.expiresMs / 1_000),
      poll_interval: Math.max(1, Math.round(code.intervalMs / 1_000)),
    };
  }

  async #askUntilApproved(flow: Flow, { device_code, intervalMs }: DeviceCode): Promise<void> {
    const { signal } = flow.closing;
    let pauseMs = intervalMs;
    while (flow.state.phase === 'pending') {
      try {
        await sleep(pauseMs, signal);
        await this.#exchange(flow, { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code });
      } catch (thrown) {
        if (signal.aborted) return;
        if (thrown instanceof Refusal && thrown.code === 'slow_down') pauseMs += limits.providerSignIn.slowDownMs;
        else if (!(thrown instanceof Refusal && thrown.code === 'authorization_pending')) this.#step(flow, eventOf(thrown));
      }
    }
  }

  async #startBrowser(client: Client): Promise<SignInStarted> {
    const { oauth } = client;
    const state = randomBytes(24).toString('base64url');
    const verifier = randomBytes(48).toString('base64url');
    const flow = this.#open(client, limits.providerSignIn.flowMs);
    let redirectUri = oauth.redirect_uri;
    if (redirectUri === undefined) {
      const back = await listenForReturn(state, (query) => void this.#returned(flow, query)).catch((thrown: unknown) => {
        this.#flows.delete(flow.id);
        throw failed(client, `no port of this machine could be opened: ${messageOf(thrown)}`, thrown);
      });
      flow.closing.signal.addEventListener('abort', () => back[Symbol.dispose](), { once: true });
      ({ redirectUri } = back);
    }
    const redirect_uri = redirectUri;
    flow.expects = state;
    flow.redeem = (code) => this.#exchange(flow, { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier });
    const url = new URL(oauth.authorization_url!);
    const query = {
      response_type: 'code',
      client_id: oauth.client_id,
      redirect_uri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(scopeOf(oauth) ? { scope: scopeOf(oauth) } : {}),
      ...(oauth.resource ? { resource: oauth.resource } : {}),
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return { flow: 'pkce', flow_id: flow.id, auth_url: url.href, expires_in: Math.round(limits.providerSignIn.flowMs / 1_000) };
  }

  /** What the browser brought: a code, or a refusal. */
  async #returned(flow: Flow, query: URLSearchParams): Promise<void> {
    const error = query.get('error');
    const code = query.get('code');
    if (error !== null) {
      const message = query.get('error_description') ?? error;
      this.#step(flow, {
        type: error === 'access_denied' ? 'denied' : 'failed',
        message: message.slice(0, limits.models.errorTextMaxChars),
      });
    } else if (code !== null) {
      await this.#redeem(flow, code);
    }
  }

  async #redeem(flow: Flow, code: string): Promise<void> {
    if (flow.state.phase !== 'pending' || !flow.redeem) return;
    // A code is good once: a second return of the same browser must not undo the first.
    const redeem = flow.redeem;
    delete flow.redeem;
    try {
      await redeem(code);
    } catch (thrown) {
      flow.redeem = redeem;
      this.#step(flow, eventOf(thrown));
    }
  }

  /** The code, or the whole address where the browser ended. */
  async submit(id: string, text: string): Promise<{ ok: boolean; status: SignInState; message: string | null }> {
    const flow = this.#flow(id);
    const query = returnOf(text.trim());
    const state = query.get('state');
    if (flow.expects === undefined) return { ok: false, status: flow.state.phase, message: 'this sign-in needs no code here' };
    if (state !== null && state !== flow.expects) {
      return { ok: false, status: flow.state.phase, message: 'that address belongs to another sign-in' };
    }
    await this.#returned(flow, query);
    const { phase, message } = flow.state;
    return { ok: phase === 'approved', status: phase, message };
  }

  poll(id: string): { flow_id: string; status: SignInState; error_message: string | null; expires_at: string } {
    const { state, expiresAt } = this.#flow(id);
    return { flow_id: id, status: state.phase, error_message: state.message, expires_at: new Date(expiresAt).toISOString() };
  }

  cancel(id: string): void {
    this.#flow(id).closing.abort();
    this.#flows.delete(id);
  }

  async #exchange(flow: Flow, grant: Grant): Promise<void> {
    const { client, closing } = flow;
    const tokens = await askTokens(client, grant, closing.signal);
    if (closing.signal.aborted) return;
    await this.#store.put(client.provider, client.oauth, tokens);
    this.#context.log.info(`signed in at ${client.provider}`);
    this.#step(flow, { type: 'approved' });
  }

  #open(client: Client, lastsMs: number): Flow {
    const flow: Flow = {
      id: hexId(32),
      client,
      expiresAt: Date.now() + lastsMs,
      state: { phase: 'pending', message: null },
      closing: new AbortController(),
    };
    this.#flows.set(flow.id, flow);
    const over = setTimeout(() => this.#step(flow, { type: 'expired' }), lastsMs).unref();
    const leave = () => flow.closing.abort();
    this.#context.signal.addEventListener('abort', leave, { once: true });
    flow.closing.signal.addEventListener(
      'abort',
      () => {
        clearTimeout(over);
        this.#context.signal.removeEventListener('abort', leave);
      },
      { once: true },
    );
    return flow;
  }

  #step(flow: Flow, event: FlowEvent): void {
    const { state, effects } = nextFlow(flow.state, event);
    flow.state = state;
    if (effects.includes('close')) flow.closing.abort();
  }

  #endFlowsOf(provider: string): void {
    for (const { id, client } of this.#flows.values()) if (client.provider === provider) this.cancel(id);
  }

  #flow(id: string): Flow {
    const flow = this.#flows.get(id);
    if (flow) return flow;
    throw new AgentError('NOT_FOUND', 'there is no such sign-in; it may have ended with a restart', { fix: 'begin again' });
  }

  /** Errors: NOT_FOUND. */
  #client(provider: string): Client {
    const providers = this.#context.config().config.providers ?? {};
    const oauth = Object.hasOwn(providers, provider) ? providers[provider]!.oauth : undefined;
    if (!oauth) {
      throw new AgentError('NOT_FOUND', `provider ${provider} offers no sign-in`, {
        fix: `describe it under providers.${provider}.oauth in config.yaml: docs/models.md, Signing in`,
      });
    }
    return { provider, oauth, secret: oauth.client_secret_env ? this.#context.secrets().get(oauth.client_secret_env) : undefined };
  }

  /** Tokens of another client of the same name are not this one's. */
  #stored(provider: string): StoredSignIn | undefined {
    const oauth = this.#context.config().config.providers?.[provider]?.oauth;
    const stored = oauth && this.#store.get(provider);
    return stored && stored.client_id === oauth.client_id && stored.token_url === oauth.token_url ? stored : undefined;
  }

  #serves(stored: StoredSignIn): boolean {
    return stored.access_token !== '' && (stored.refresh_token !== undefined || leftMs(stored) > 0);
  }
}

const leftMs = ({ expires_at }: StoredSignIn): number => (expires_at === null ? Infinity : Date.parse(expires_at) - Date.now());

/** Refusals end a flow, trouble on the way does not. */
function eventOf(thrown: unknown): FlowEvent {
  if (!(thrown instanceof Refusal)) return { type: 'troubled', message: messageOf(thrown) };
  if (thrown.code === 'access_denied') return { type: 'denied', message: thrown.message };
  if (thrown.code === 'expired_token') return { type: 'expired' };
  return { type: 'failed', message: `${thrown.code}: ${thrown.message}` };
}

function returnOf(text: string): URLSearchParams {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text).searchParams;
  // Some pages show `code#state`.
  const [code = '', state] = text.split('#', 2);
  return new URLSearchParams(state ? { code, state } : { code });
}

const needsAgain = (thrown: unknown): boolean => thrown instanceof AgentError && thrown.code === 'PROVIDER_SIGN_IN';

function needsSignIn(provider: string, why?: string): AgentError {
  return new AgentError('PROVIDER_SIGN_IN', `${provider} needs a sign-in${why ? ` (${why})` : ''}: agent auth login ${provider}`, {
    fix: `agent auth login ${provider}, or Models in the dashboard`,
  });
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason as Error);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
