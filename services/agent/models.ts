/**
 * The desk where models are handed out: resolution with the live configuration of this worker, the chain of a turn
 * (fallbacks, keys, facts), models for side work, and what the status bar says about all that.
 */
import { join } from 'node:path';
import { chainModel, type FactsDesk } from '../../agent/models/chain.ts';
import { loadAdapter } from '../../agent/models/endpoint.ts';
import { CredentialPool } from '../../agent/models/credentials.ts';
import { fastWindow } from '../../agent/models/fastWindow.ts';
import { mergedFacts, tableFacts, writtenFacts, type ModelFacts as KnownFacts } from '../../agent/models/facts.ts';
import type { EndpointSettings } from '../../agent/models/kinds.ts';
import { rehearsalModel, rehearsalName } from '../../agent/models/rehearsal.ts';
import { clampLevel, levelsOf } from '../../agent/models/reasoning.ts';
import { noProvider, resolveModel, resolveNamed, usableProviders, type Resolution, type ResolveInput } from '../../agent/models/resolve.ts';
import { Connections } from '../../agent/models/connections.ts';
import { AbandonedRoutes } from '../../agent/models/routes.ts';
import { warmUp } from '../../agent/models/streaming.ts';
import type { Model } from '../../agent/ports.ts';
import { limits } from '../../base/limits.ts';
import { systemClock } from '../../base/time.ts';
import type { WorkerContext } from '../worker.ts';
import { Catalog } from './catalog.ts';
import { SignIns } from './signIn/signIns.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { Store } from './store.ts';

/** What a session says about its model; null = as configured. */
export interface ModelChoice {
  id?: string;
  model: string | null;
  provider: string | null;
  reasoning_effort?: string | null;
  service_tier?: string | null;
  /** 1: config.yaml chooses nothing for it. */
  safe_mode?: number;
}

export interface ModelDesk {
  /** Without network and without loading anything. */
  resolve(choice?: ModelChoice): Resolution;
  /** The same with a model that is only thought of. */
  resolveAs(named: { model?: string | undefined; provider?: string | undefined }): Resolution;
  /** The model of a turn, with its fallbacks. Errors: NO_PROVIDER. */
  open(choice?: ModelChoice): Promise<Model>;
  /** A model for side work: `auxiliary.<task>`, where that is silent the session's own. Errors: NO_PROVIDER. */
  auxiliary(task: string, choice?: ModelChoice): Promise<Model>;
  /** The model of delegated work: `delegation`, where that is silent the session's own. Errors: NO_PROVIDER. */
  delegation(choice?: ModelChoice): Promise<Model>;
  /** Names of providers that could serve now. */
  usable(): string[];
  /** The level asked for, and the one that is sent. */
  effort(choice?: ModelChoice): { asked: string | null; wire: string | null };
  tier(choice?: ModelChoice): string | null;
  /** For each model call of the turn that begins now: does it ask for the fast tier? */
  fast(choice: ModelChoice, firstTurn: boolean): () => boolean;
  /** Holds for the next turn of a session alone. */
  once(sessionId: string, choice: Omit<ModelChoice, 'id'>): void;
  /** A later choice replaces what was to hold for the next turn alone. */
  dropOnce(sessionId: string): void;
  /** A turn has ended: what held for it alone is forgotten. */
  turnOver(sessionId: string): void;
  facts: FactsDesk;
  catalog: Catalog;
  /** Providers that are signed in to instead of having a key. */
  signIns: SignIns;
  /** What the first turn would wait for: the package of its provider, loaded and run once over nothing (25 ms). */
  prepare(): Promise<void>;
  /** What is wanted soon and by no turn: facts of the model, servers on this machine. */
  lookAround(): Promise<void>;
}

export interface DeskHooks {
  /** The host of the free tier named the model behind it; the session moves there. */
  onSwitch?(sessionId: string | undefined, provider: string, model: string): void;
}

export function createModelDesk(context: WorkerContext, hooks: DeskHooks = {}): ModelDesk {
  const pool = new CredentialPool();
  const abandoned = new AbandonedRoutes();
  const connections = new Connections();
  const signIns = new SignIns(context);
  const once = new Map<string, { choice: Omit<ModelChoice, 'id'>; used: boolean }>();
  const catalog = new Catalog({
    file: join(context.home.cache, `models-${context.profile}.json`),
    ttlMs: () => catalogTtlMs(context),
    log: context.log,
    signal: context.signal,
  });
  const facts = factsDesk(context, catalog);
  const welcomeHosts = new Set(
    (process.env.AGENT_EXTRA_WELCOME_HOSTS ?? '')
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  );

  const overlaid = (choice?: ModelChoice): ModelChoice | undefined => {
    const own = choice?.id === undefined ? undefined : once.get(choice.id)?.choice;
    if (!own || !choice) return choice;
    return {
      ...choice,
      ...(own.model === null && own.provider === null ? {} : { model: own.model, provider: own.provider }),
      reasoning_effort: own.reasoning_effort ?? choice.reasoning_effort ?? null,
      service_tier: own.service_tier ?? choice.service_tier ?? null,
    };
  };
  const input = (session: ResolveInput['session'] = {}, choice?: ModelChoice): ResolveInput => {
    const config = sessionConfig(context, choice);
    const secrets = context.secrets();
    return {
      model: config.model?.default,
      provider: config.model?.provider,
      firstByteSeconds: config.model?.first_byte_timeout_seconds,
      session,
      providers: config.providers,
      aliases: { ...config.model_aliases, ...config.model?.aliases },
      detected: detects(context) ? catalog.detected : [],
      secret: (name) => secrets.get(name),
      bearer: (provider) => signIns.bearer(provider),
      demo: context.demo,
      envFile: context.paths.env,
    };
  };
  const resolve = (choice?: ModelChoice): Resolution => resolveModel(input(named(overlaid(choice)), choice));

  const open = async (
    resolution: Resolution,
    { choice, reasoningEffort }: { choice?: ModelChoice | undefined; reasoningEffort?: string | undefined },
  ) => {
    if (resolution.kind === 'none') throw noProvider(resolution);
    if (resolution.kind === 'rehearsal') return rehearsalModel();
    const config = sessionConfig(context, choice);
    const fallbacks = (config.fallback_providers ?? []).flatMap((name) => {
      const settings = resolveNamed(name, input());
      if (typeof settings !== 'string') return same(settings, resolution.settings) ? [] : [settings];
      context.log.warn(`fallback_providers: ${settings}`);
      return [];
    });
    return chainModel({
      routes: [resolution.settings, ...fallbacks],
      reasoningEffort,
      pool,
      abandoned,
      connections,
      strategyOf: (provider) => config.credential_pool_strategies?.[provider],
      facts,
      renew: (provider, options) => signIns.renew(provider, options),
      welcomeHosts,
      redact: (text) => context.redact(text),
      onSwitch: (settings, model) => hooks.onSwitch?.(choice?.id, settings.provider, model),
    });
  };
  const side = async (
    written: { provider?: string | undefined; model?: string | undefined; reasoning_effort?: string | undefined } = {},
    choice?: ModelChoice,
  ) => {
    const own = written.provider !== undefined || written.model !== undefined;
    const wanted = own ? resolveModel(input({ provider: written.provider, model: written.model }, choice)) : resolve(choice);
    // Side work is done by the model at hand where its own cannot serve.
    const usable = own && wanted.kind !== 'endpoint' ? resolve(choice) : wanted;
    return open(usable, { choice, reasoningEffort: written.reasoning_effort });
  };

  const desk: ModelDesk = {
    resolve,
    resolveAs: (wanted) => resolveModel(input(wanted)),
    async open(choice) {
      const held = choice?.id === undefined ? undefined : once.get(choice.id);
      if (held) held.used = true;
      const { asked } = desk.effort(choice);
      return open(resolve(choice), { choice, reasoningEffort: asked ?? undefined });
    },
    auxiliary: (task, choice) => side(sessionConfig(context, choice).auxiliary?.[task], choice),
    delegation: (choice) => side(sessionConfig(context, choice).delegation, choice),
    usable: () => usableProviders(input()),
    effort(choice) {
      const asked = overlaid(choice)?.reasoning_effort ?? sessionConfig(context, choice).agent?.reasoning_effort ?? null;
      const resolution = resolve(choice);
      const levels = resolution.kind === 'endpoint' ? levelsOf(resolution.settings.kind, resolution.settings.model) : [];
      return { asked, wire: clampLevel(asked ?? undefined, levels) ?? null };
    },
    tier: (choice) => overlaid(choice)?.service_tier ?? sessionConfig(context, choice).agent?.service_tier ?? null,
    fast: (choice, firstTurn) =>
      fastWindow({ tier: desk.tier(choice), seconds: sessionConfig(context, choice).agent?.fast_auto_seconds, firstTurn }, systemClock),
    once: (sessionId, choice) => void once.set(sessionId, { choice, used: false }),
    dropOnce: (sessionId) => void once.delete(sessionId),
    turnOver: (sessionId) => void (once.get(sessionId)?.used && once.delete(sessionId)),
    facts,
    catalog,
    signIns,
    async prepare() {
      const resolution = resolve();
      if (resolution.kind === 'endpoint') await warmUp(await loadAdapter(resolution.settings.kind), resolution.settings);
    },
    async lookAround() {
      const resolution = resolve();
      if (resolution.kind === 'endpoint' && !resolution.settings.detected) await facts.load(resolution.settings);
      else if (detects(context)) await catalog.detect();
    },
  };
  return desk;
}

const named = (choice?: ModelChoice) => ({ model: choice?.model ?? undefined, provider: choice?.provider ?? undefined });
const same = (a: EndpointSettings, b: EndpointSettings) => a.provider === b.provider && a.model === b.model;

/** `model_catalog.detect_local: false` looks at no port, and a server that was found before is not used. */
export const detects = (context: WorkerContext): boolean => context.config().config.model_catalog?.detect_local !== false;

/** Interface spec: minutes, unless an older file says hours. */
export function catalogTtlMs(context: Pick<WorkerContext, 'config'>): number {
  const { ttl_hours, ttl_minutes } = context.config().config.model_catalog ?? {};
  return ttl_hours === undefined ? (ttl_minutes ?? limits.models.catalogTtlMinutes) * 60_000 : ttl_hours * 3_600_000;
}

function factsDesk(context: WorkerContext, catalog: Catalog): FactsDesk {
  const tables = new Map<string, Partial<KnownFacts>>();
  const nameOf = ({ kind, model }: EndpointSettings) => `${kind} ${model}`;
  const known = (settings: EndpointSettings): KnownFacts =>
    mergedFacts(
      writtenFacts(context.config().config.providers?.[settings.provider], settings.model),
      catalog.known(settings).models.find(({ id }) => id === settings.model),
      tables.get(nameOf(settings)),
    );
  return {
    known,
    async load(settings) {
      const name = nameOf(settings);
      if (!tables.has(name)) tables.set(name, await tableFacts(settings.kind, settings.model).catch(() => ({})));
      return known(settings);
    },
  };
}

/** Nothing has ended in this session yet: what runs is its first turn. */
export const isFirstTurn = (store: Store, sessionId: string): boolean =>
  store.one("SELECT 1 FROM turns WHERE session_id = ? AND status <> 'running' LIMIT 1", sessionId) === undefined;

export interface ModelFacts {
  provider: string | null;
  model: string | null;
  scripted: boolean;
  /** Why nothing, or not what was configured, is used. */
  warning: string | null;
}

export function factsOf(resolution: Resolution): ModelFacts {
  switch (resolution.kind) {
    case 'endpoint':
      return { provider: resolution.settings.provider, model: resolution.settings.model, scripted: false, warning: null };
    case 'rehearsal':
      return { provider: rehearsalName.provider, model: rehearsalName.model, scripted: true, warning: resolution.because };
    case 'none':
      return { provider: null, model: null, scripted: false, warning: `${resolution.message} — ${resolution.fix}` };
  }
}
