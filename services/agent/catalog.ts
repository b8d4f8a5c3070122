/**
 * The catalogue of models: each provider's own list, kept in memory and in the cache folder, so that a restart asks
 * nobody. One request at a time a provider, and none while its list is young. Servers found on this machine are kept
 * beside it. Nothing here is on the path of a turn.
 */
import { readFileSync } from 'node:fs';
import { findLocalServers, listModels, type CatalogModel } from '../../agent/models/catalog.ts';
import type { EndpointSettings } from '../../agent/models/kinds.ts';
import type { DetectedServer } from '../../agent/models/resolve.ts';
import { messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';

export interface CatalogEntry {
  models: readonly CatalogModel[];
  /** Milliseconds since the epoch; null = never. */
  fetchedAt: number | null;
  error: string | null;
}

interface Kept extends CatalogEntry {
  /** Address and dialect it came from: another one under the same name is another list. */
  from: string;
  /** The last try, whether or not it answered. */
  askedAt: number;
}

interface CacheFile {
  providers: Record<string, Kept>;
  detected: DetectedServer[];
  probedAt: number;
}

export interface CatalogParts {
  /** Of the cache folder; losing it costs a request. */
  file: string;
  ttlMs(): number;
  log: Logger;
  signal: AbortSignal;
  now?: () => number;
}

const NOTHING: CatalogEntry = { models: [], fetchedAt: null, error: null };
/** A list that could not be had is asked for again after this. */
const FAILED_TTL_MS = 60_000;

export class Catalog {
  readonly #parts: CatalogParts;
  readonly #now: () => number;
  readonly #asking = new Map<string, Promise<CatalogEntry>>();
  #probing: Promise<readonly DetectedServer[]> | undefined;
  #cache: CacheFile | undefined;

  constructor(parts: CatalogParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** As it is known now, without asking anybody. */
  known(settings: EndpointSettings): CatalogEntry {
    const kept = this.#kept.providers[settings.provider];
    return kept?.from === originOf(settings) ? kept : NOTHING;
  }

  /** Fetches the list when it is older than its time, or at once. Never throws: `error` says why a list is old. */
  async list(settings: EndpointSettings, { refresh = false }: { refresh?: boolean } = {}): Promise<CatalogEntry> {
    const kept = this.#kept.providers[settings.provider];
    if (!refresh && kept?.from === originOf(settings) && this.#isYoung(kept)) return kept;
    const name = `${settings.provider} ${originOf(settings)}`;
    let asking = this.#asking.get(name);
    if (!asking) this.#asking.set(name, (asking = this.#fetch(settings).finally(() => this.#asking.delete(name))));
    return asking;
  }

  /** Servers on this machine, as they were found last. */
  get detected(): readonly DetectedServer[] {
    return this.#kept.detected;
  }

  /** Looks for them, unless that was done within the time of a list, or within `ageMs`. */
  async detect({ ageMs = this.#parts.ttlMs() }: { ageMs?: number | undefined } = {}): Promise<readonly DetectedServer[]> {
    if (this.#now() - this.#kept.probedAt < ageMs) return this.detected;
    return (this.#probing ??= this.#probe().finally(() => (this.#probing = undefined)));
  }

  async #probe(): Promise<readonly DetectedServer[]> {
    const detected = await findLocalServers(this.#parts.signal);
    this.#save({ ...this.#kept, detected, probedAt: this.#now() });
    return detected;
  }

  async #fetch(settings: EndpointSettings): Promise<CatalogEntry> {
    const from = originOf(settings);
    const askedAt = this.#now();
    let kept: Kept;
    try {
      kept = { from, models: await listModels(settings, this.#parts.signal), fetchedAt: this.#now(), askedAt, error: null };
    } catch (thrown) {
      // The old list is better than none.
      kept = { from, ...this.known(settings), askedAt, error: messageOf(thrown) };
    }
    const providers = Object.entries({ ...this.#kept.providers, [settings.provider]: kept })
      .toSorted(([, a], [, b]) => b.askedAt - a.askedAt)
      .slice(0, limits.models.catalogProvidersMax);
    this.#save({ ...this.#kept, providers: Object.fromEntries(providers) });
    return kept;
  }

  #isYoung({ askedAt, error }: Kept): boolean {
    const ttlMs = error === null ? this.#parts.ttlMs() : Math.min(FAILED_TTL_MS, this.#parts.ttlMs());
    return this.#now() - askedAt < ttlMs;
  }

  get #kept(): CacheFile {
    return (this.#cache ??= readCache(this.#parts.file));
  }

  #save(cache: CacheFile): void {
    this.#cache = cache;
    try {
      writeFileAtomic(this.#parts.file, JSON.stringify(cache), { durable: false });
    } catch (thrown) {
      this.#parts.log.warn('the list of models could not be kept on disk', errorFields(thrown));
    }
  }
}

const originOf = ({ kind, baseUrl }: EndpointSettings): string => `${kind} ${baseUrl}`;

/** A damaged or foreign file counts as none. */
function readCache(file: string): CacheFile {
  const empty: CacheFile = { providers: {}, detected: [], probedAt: 0 };
  try {
    const cache = JSON.parse(readFileSync(file, 'utf8')) as Partial<CacheFile>;
    const whole = typeof cache.providers === 'object' && Array.isArray(cache.detected) && typeof cache.probedAt === 'number';
    return whole ? { ...empty, ...cache } : empty;
  } catch {
    return empty;
  }
}
