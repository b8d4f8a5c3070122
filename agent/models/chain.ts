/**
 * A model made of several ways to one: the chosen provider with its keys, then the fallbacks. Owns the retries (before
 * anything was received only), the change of keys and the fallback; what it settled on stays for the rest of its life,
 * which is a turn. Never asks again what had begun to answer, and never blames a provider for trouble of our own.
 */
import { isAgentError, type AgentError, type ErrorCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, sleep } from '../../base/time.ts';
import type { Model, ModelChunk, ModelRequest } from '../ports.ts';
import { Connections } from './connections.ts';
import { CredentialPool, type PoolStrategy } from './credentials.ts';
import { loadAdapter } from './endpoint.ts';
import { guessVision, noFacts, type ModelFacts } from './facts.ts';
import { cutError, failureOf, fixOf, refusedError, type Failure } from './failure.ts';
import { fed } from './feed.ts';
import type { Credential, EndpointSettings } from './kinds.ts';
import type { AssistantContent } from './prompt.ts';
import { clampLevel, levelsOf } from './reasoning.ts';
import { pauseMs } from './retry.ts';
import { AbandonedRoutes, isWelcome, SWITCH_HEADER, welcome, type WelcomeHosts } from './routes.ts';
import { streamOnce, type Try } from './streaming.ts';

export interface ChainParts {
  /** The chosen one first. */
  routes: readonly [EndpointSettings, ...EndpointSettings[]];
  /** Sent where a request names no level. */
  reasoningEffort?: string | undefined;
  /** Shared by all turns of the worker. */
  pool?: CredentialPool;
  abandoned?: AbandonedRoutes;
  connections?: Connections;
  strategyOf?(provider: string): PoolStrategy | undefined;
  facts?: FactsDesk;
  welcomeHosts?: WelcomeHosts;
  /**
   * Access token of a sign-in, renewed when it is about to end, or when the provider refused it (`rejected`). Errors:
   * PROVIDER_SIGN_IN, PROVIDER_SIGN_IN_FAILED.
   */
  renew?(provider: string, options: { rejected?: string | undefined; signal: AbortSignal }): Promise<string>;
  /** The host of the free tier named the model behind it. */
  onSwitch?(settings: EndpointSettings, model: string): void;
  /** Keeps secrets out of what a provider says about a failure. */
  redact?(text: string): string;
  random?: () => number;
}

export interface FactsDesk {
  /** What is known at once. */
  known(settings: EndpointSettings): ModelFacts;
  /** What can be known; never throws. */
  load(settings: EndpointSettings): Promise<ModelFacts>;
}

/** Loads the package of the first provider, so that the first turn need not. */
export async function chainModel(parts: ChainParts): Promise<Model> {
  const [first] = parts.routes;
  await loadAdapter(first.kind);
  const chain = new Chain(parts);
  return {
    provider: first.provider,
    id: first.model,
    scripted: false,
    get contextWindow() {
      return chain.factsOf(chain.route).contextWindow;
    },
    get vision() {
      return chain.seesImages(chain.route);
    },
    effortFor: (level) => clampLevel(level ?? parts.reasoningEffort, levelsOf(chain.route.kind, chain.route.model)),
    stream: (request) =>
      fed(request.signal, (tell, signal) =>
        chain.stream({ ...request, signal, reasoningEffort: request.reasoningEffort ?? parts.reasoningEffort }, tell),
      ),
  };
}

/** What a provider can be blamed for. Anything else an AgentError says is about us: a store, a lock, a disk (lesson 25). */
const PROVIDER_CODES: ReadonlySet<ErrorCode> = new Set([
  'PROVIDER_FAILED',
  'PROVIDER_CUT',
  'REDIRECT_REFUSED',
  'TIMEOUT',
  'PROVIDER_SIGN_IN',
  'PROVIDER_SIGN_IN_FAILED',
]);

type Tell = (chunk: ModelChunk) => void;

class Chain {
  readonly #parts: ChainParts;
  readonly #pool: CredentialPool;
  readonly #abandoned: AbandonedRoutes;
  readonly #connections: Connections;
  readonly #originals = new Map<string, AssistantContent>();
  #routes: EndpointSettings[];
  #at = 0;
  #key: Credential | undefined;

  constructor(parts: ChainParts) {
    this.#parts = parts;
    this.#pool = parts.pool ?? new CredentialPool();
    this.#abandoned = parts.abandoned ?? new AbandonedRoutes();
    this.#connections = parts.connections ?? new Connections();
    this.#routes = [...parts.routes];
  }

  get route(): EndpointSettings {
    return this.#routes[this.#at]!;
  }

  factsOf(settings: EndpointSettings): ModelFacts {
    return this.#parts.facts?.known(settings) ?? noFacts;
  }

  seesImages(settings: EndpointSettings): boolean {
    return this.factsOf(settings).vision ?? guessVision(settings.kind, settings.model);
  }

  async stream(request: ModelRequest, tell: Tell): Promise<void> {
    let failed: { settings: EndpointSettings; failure: Failure }[] = [];
    for (;;) {
      const { route } = this;
      const closed = this.#abandoned.why(route);
      const failure = closed === undefined ? await this.#ask(route, request, tell) : closedRoute(closed);
      if (!failure) return;
      if (failure.trouble === 'overflow') throw refusedError(route, failure);
      failed = [...failed, { settings: route, failure }];
      if (this.#at + 1 >= this.#routes.length) throw exhausted(failed);
      this.#at++;
      this.#key = undefined;
      tell({ type: 'fallback', provider: this.route.provider, model: this.route.model, reason: fallbackReason(route, failure) });
    }
  }

  /** One provider with all its keys and tries. Answers what went wrong, or nothing when it answered. */
  async #ask(settings: EndpointSettings, request: ModelRequest, tell: Tell): Promise<Failure | undefined> {
    const { random } = this.#parts;
    this.#key ??= this.#pick(settings, this.#at + 1 < this.#routes.length);
    if (settings.keys.length > 0 && !this.#key) return closedRoute('all its keys rest after they were refused');
    // Tries with this key, and tries that broke off in the middle of its thoughts.
    let tries = 0;
    let thoughtOnly = 0;
    let renewed = false;
    for (;;) {
      const outcome = await this.#once(settings, request, tell);
      if (!outcome) return undefined;
      const { failure, received } = outcome;
      if (received === 'answer' || (received === 'thought' && ++thoughtOnly > 1)) throw cutError(settings, failure);
      if (failure.trouble === 'auth' && settings.signedIn && !renewed) {
        renewed = true;
        try {
          if (await this.#renew(settings, request.signal, this.#key?.value)) continue;
        } catch (thrown) {
          if (request.signal.aborted) throw abortReason(request.signal);
          // The refusal says why the token no longer serves; this says what to do about it.
          if (isAgentError(thrown) && thrown.code === 'PROVIDER_SIGN_IN') return this.#failureOf(thrown, settings);
        }
      }
      const next = this.#after(failure, settings, tries);
      if (next === 'key') {
        const from = this.#key!.env;
        this.#key = this.#pick(settings, true);
        if (!this.#key) return failure;
        tries = 0;
        tell({
          type: 'fallback',
          provider: settings.provider,
          model: settings.model,
          reason: `${from}: ${failure.says}; ${this.#key.env} takes over`,
        });
        continue;
      }
      const waitMs = next === 'again' ? pauseMs(tries, failure.askedMs, random) : undefined;
      if (waitMs === undefined) return failure;
      tries++;
      tell({ type: 'retry', attempt: tries, waitMs, reason: `${settings.provider}: ${failure.says}` });
      await sleep(waitMs, request.signal);
    }
  }

  /** What comes after a failure before which nothing was received. */
  #after({ trouble, says, askedMs }: Failure, settings: EndpointSettings, tries: number): 'again' | 'key' | 'leave' {
    const pooled = settings.keys.length > 1 && this.#key !== undefined;
    switch (trouble) {
      case 'route':
        this.#abandoned.abandon(settings, says);
        return 'leave';
      case 'rate': {
        const waits = pauseMs(tries, askedMs) !== undefined;
        if (!pooled) return waits && tries < limits.turn.providerRetriesMax ? 'again' : 'leave';
        if (waits && tries < limits.models.keyRetriesMax) return 'again';
        this.#pool.rest(settings.provider, this.#key!, trouble);
        return 'key';
      }
      case 'auth':
      case 'unpaid':
        if (!pooled) return 'leave';
        this.#pool.rest(settings.provider, this.#key!, trouble);
        return 'key';
      case 'slow':
        return tries < limits.turn.providerSlowRetriesMax ? 'again' : 'leave';
      case 'passing':
        return tries < limits.turn.providerRetriesMax ? 'again' : 'leave';
      default:
        return 'leave';
    }
  }

  #pick({ provider, keys }: EndpointSettings, rested: boolean): Credential | undefined {
    return this.#pool.pick(provider, keys, { strategy: this.#parts.strategyOf?.(provider), rested });
  }

  /** One try. Answers nothing when it came to its end. */
  async #once(
    settings: EndpointSettings,
    request: ModelRequest,
    tell: Tell,
  ): Promise<{ failure: Failure; received: 'nothing' | 'thought' | 'answer' } | undefined> {
    let received: 'nothing' | 'thought' | 'answer' = 'nothing';
    try {
      if (settings.signedIn) await this.#renew(settings, request.signal);
      const attempt: Try = {
        adapter: await loadAdapter(settings.kind),
        connections: this.#connections,
        settings,
        key: this.#key,
        request,
        vision: this.seesImages(settings),
        originals: this.#originals,
        price: async () => (await this.#parts.facts?.load(settings))?.price ?? null,
        onHeaders: (headers) => this.#heed(settings, headers),
      };
      await streamOnce(attempt, (chunk) => {
        if (chunk.type !== 'reasoning') received = 'answer';
        else if (received === 'nothing') received = 'thought';
        tell(chunk);
      });
      return undefined;
    } catch (thrown) {
      if (request.signal.aborted) throw abortReason(request.signal);
      if (isAgentError(thrown) && !PROVIDER_CODES.has(thrown.code)) throw thrown;
      return { failure: this.#failureOf(thrown, settings), received };
    }
  }

  /** Takes over the token of the sign-in that serves now. True when it is another one than `rejected`. */
  async #renew({ provider }: EndpointSettings, signal: AbortSignal, rejected?: string): Promise<boolean> {
    const { renew } = this.#parts;
    if (!renew || !this.#key) return false;
    this.#key = { ...this.#key, value: await renew(provider, { rejected, signal }) };
    return this.#key.value !== rejected;
  }

  /** The next call goes to the model that is named; only the host of the free tier may name one. */
  #heed(settings: EndpointSettings, headers: Record<string, string>): void {
    const named = headers[SWITCH_HEADER]?.trim();
    if (!named || named === settings.model || !(settings.provider === welcome.provider || this.#isWelcome(settings))) return;
    this.#routes = this.#routes.map((route) => (route === settings ? { ...route, model: named } : route));
    this.#parts.onSwitch?.(settings, named);
  }

  #failureOf(thrown: unknown, settings: EndpointSettings): Failure {
    return failureOf(thrown, { welcome: this.#isWelcome(settings), redact: this.#parts.redact });
  }

  #isWelcome(settings: EndpointSettings): boolean {
    return this.#parts.welcomeHosts !== undefined && isWelcome(settings, this.#parts.welcomeHosts);
  }
}

/** What only the user can change is named although another model answers. */
const fallbackReason = (route: EndpointSettings, failure: Failure): string =>
  `${route.provider}: ${failure.says}${failure.trouble === 'notFree' ? ` (${fixOf(failure, route)})` : ''}`;

const closedRoute = (says: string): Failure => ({
  trouble: 'route',
  status: undefined,
  askedMs: undefined,
  says,
  hasAnswered: false,
  reason: undefined,
  alternates: [],
  upgradeUrl: undefined,
  cause: undefined,
});

/** The chosen provider's trouble is the one to mend; the others are told beside it. */
function exhausted([first, ...others]: readonly { settings: EndpointSettings; failure: Failure }[]): AgentError {
  const { settings, failure } = first!;
  return refusedError(
    settings,
    failure,
    others.map((other) => `${other.settings.provider} (${other.settings.model}): ${other.failure.says}`),
  );
}
