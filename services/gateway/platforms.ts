/**
 * The platforms of this gateway: which are wanted, the state of each, and one life per platform that
 * connects, and connects again with backoff. A platform that cannot work because of its settings is
 * `fatal` and says what to change; the others go on.
 */
import { AgentError, errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { jitteredDelayMs, sleep } from '../../base/time.ts';
import type { PlatformState } from '../../ipc/contracts/gateway.ts';
import { interpolate, type Secrets } from '../../state/env.ts';
import type { WorkerContext } from '../worker.ts';
import { SendError, type Adapter, type AdapterHost } from './adapter.ts';
import { catalog, secretsOf } from './catalog.ts';

export interface Platforms {
  states(): PlatformState[];
  /** Settings of a platform that is wanted; undefined = unknown or switched off. */
  settings(platform: string): Record<string, unknown> | undefined;
  isReady(platform: string, chat: string): boolean;
  split(platform: string, chat: string, text: string): string[];
  /** What `split` leaves out; empty = nothing. */
  rest(platform: string, chat: string, text: string): string;
  /** Errors: SendError. */
  send(platform: string, chat: string, part: string, signal: AbortSignal): Promise<void>;
  /** Connects all that are wanted; each goes its own way. */
  connect(): void;
  /** Platforms whose settings or secrets are others than those they run with: a restart takes them over. */
  pending(): string[];
  close(): Promise<void>;
}

export interface PlatformsParts {
  context: WorkerContext;
  host(platform: string): AdapterHost;
  /** A state has changed. */
  onState(): void;
}

interface Slot {
  name: string;
  settings: Record<string, unknown>;
  state: PlatformState;
  adapter: Adapter | undefined;
  life: AbortController;
  done: Promise<void>;
}

export function createPlatforms({ context, host, onState }: PlatformsParts): Platforms {
  const slots = new Map<string, Slot>();
  const before = stampsOf(context);
  for (const { name, settings, state } of wanted(context)) {
    slots.set(name, { name, settings, state, adapter: undefined, life: new AbortController(), done: Promise.resolve() });
  }

  const set = (slot: Slot, change: Partial<PlatformState>): void => {
    const next = { ...slot.state, ...change };
    if (next.state === slot.state.state && next.error_message === slot.state.error_message) return;
    slot.state = { ...next, updated_at: new Date().toISOString() };
    onState();
  };

  return {
    states: () => [...slots.values()].map((slot) => slot.state),
    pending() {
      const now = stampsOf(context);
      return [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
    },
    settings(platform) {
      const slot = slots.get(platform);
      return slot && slot.state.state !== 'disabled' && catalog[platform] ? slot.settings : undefined;
    },
    isReady: (platform, chat) => slots.get(platform)?.adapter?.isReady(chat) ?? false,
    split: (platform, chat, text) => slots.get(platform)?.adapter?.split(chat, text) ?? [text],
    rest: (platform, chat, text) => slots.get(platform)?.adapter?.rest?.(chat, text) ?? '',
    async send(platform, chat, part, signal) {
      const adapter = slots.get(platform)?.adapter;
      if (!adapter) throw new SendError('transient', `${platform} is not connected`);
      await adapter.send(chat, part, signal);
    },
    connect() {
      for (const slot of slots.values()) {
        if (slot.state.state !== 'connecting') continue;
        slot.done = live(slot, { context, host: host(slot.name), set: (change) => set(slot, change) });
      }
    },
    async close() {
      for (const slot of slots.values()) slot.life.abort();
      await Promise.all(
        [...slots.values()].map(async (slot) => {
          await slot.adapter?.cleanup();
          await slot.done;
        }),
      );
    },
  };
}

interface LifeParts {
  context: WorkerContext;
  host: AdapterHost;
  set(change: Partial<PlatformState>): void;
}

/** The whole life of one platform. Never rejects. */
async function live(slot: Slot, { context, host, set }: LifeParts): Promise<void> {
  const { signal } = slot.life;
  let failures = 0;
  try {
    const adapter = (await catalog[slot.name]!.load())(host);
    slot.adapter = adapter;
    adapter.provision({ settings: slot.settings, secrets: context.secrets() });
    adapter.validate();
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        const connection = await adapter.connect(signal);
        host.log.info(`${slot.name}: connected`);
        set({ state: 'connected', error_code: null, error_message: null, retrying_since: null });
        host.readinessChanged();
        throw await connection.closed;
      } catch (thrown) {
        if (signal.aborted) return;
        if (isAgentError(thrown) && thrown.code === 'CONFIG_INVALID') throw thrown;
        failures = performance.now() - startedAt > limits.gateway.reconnectMaxMs ? 0 : failures + 1;
        host.log.warn(`${slot.name}: ${withFix(thrown)}; trying again`);
        set({
          state: 'retrying',
          error_code: isAgentError(thrown) ? thrown.code : (errnoOf(thrown) ?? 'PLATFORM_DOWN'),
          error_message: withFix(thrown),
          retrying_since: slot.state.retrying_since ?? new Date().toISOString(),
        });
      }
      const pauseMs =
        limits.gateway.reconnectMinMs / 2 +
        jitteredDelayMs(failures - 1, { baseMs: limits.gateway.reconnectMinMs, maxMs: limits.gateway.reconnectMaxMs });
      await sleep(pauseMs, signal).catch(() => {});
    }
  } catch (thrown) {
    if (signal.aborted) return;
    host.log.error(`${slot.name} cannot work: ${withFix(thrown)}`);
    set({ state: 'fatal', error_code: isAgentError(thrown) ? thrown.code : 'INTERNAL', error_message: withFix(thrown) });
    await slot.adapter?.cleanup();
  }
}

const withFix = (thrown: unknown): string => `${messageOf(thrown)}${isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : ''}`;

interface Wanted {
  name: string;
  settings: Record<string, unknown>;
  state: PlatformState;
}

/** Platforms of config.yaml and of the environment; an explicit `enabled: false` wins over both (interface spec, cfg.15). */
function wanted({ config, secrets }: WorkerContext): Wanted[] {
  const configured = config().config.platforms ?? {};
  const fromSecrets = Object.entries(catalog).flatMap(([name, entry]) => (entry.fromSecrets(secrets()) ? [name] : []));
  return [...new Set([...Object.keys(configured), ...fromSecrets])].map((name) => {
    const entry = catalog[name];
    const settings = { ...entry?.fromSecrets(secrets()), ...(withSecrets(configured[name] ?? {}, secrets()) as Record<string, unknown>) };
    if (settings.enabled === false) return { name, settings, state: stateOf(name, 'disabled') };
    if (entry) return { name, settings, state: stateOf(name, 'connecting') };
    const known = Object.keys(catalog).join(', ');
    return {
      name,
      settings,
      state: stateOf(name, 'fatal', new AgentError('CONFIG_INVALID', `there is no platform "${name}"; known are: ${known}`)),
    };
  });
}

/** What each platform is configured with, as digests. */
function stampsOf(context: WorkerContext): Map<string, string> {
  const secrets = context.secrets();
  return new Map(
    wanted(context).map(({ name, settings }) => [name, digest(JSON.stringify([settings, secretsOf(name, secrets)]), 20)] as const),
  );
}

/** As a platform would be started now. */
export const wantedNow = (context: WorkerContext, name: string): Record<string, unknown> | undefined =>
  wanted(context).find((one) => one.name === name)?.settings;

function stateOf(platform: string, state: PlatformState['state'], error?: AgentError): PlatformState {
  return {
    platform,
    state,
    error_code: error?.code ?? null,
    error_message: error?.message ?? null,
    retrying_since: null,
    updated_at: new Date().toISOString(),
  };
}

/** `${NAME}` in any text of the settings is read from the secrets. */
function withSecrets(value: unknown, secrets: Secrets): unknown {
  if (typeof value === 'string') return interpolate(value, secrets);
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, secrets));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withSecrets(item, secrets)]));
}
