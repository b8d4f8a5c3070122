/** Providers and their models as a picker shows them: the lists of providers, what config.yaml names, and what is known of each. */
import { mergedFacts, tableFacts, writtenFacts, guessVision } from '../../agent/models/facts.ts';
import type { CatalogModel } from '../../agent/models/catalog.ts';
import { implicitKinds, kindOf, kindTable, localKinds, type EndpointSettings } from '../../agent/models/kinds.ts';
import { levelsOf } from '../../agent/models/reasoning.ts';
import { isoTime } from '../../base/time.ts';
import type { ModelRow, ProviderRow } from '../../ipc/contracts/rpcSettings.ts';
import type { WorkerContext } from '../worker.ts';
import { detects, type ModelDesk } from './models.ts';

export interface RowsParts {
  context: WorkerContext;
  desk: ModelDesk;
}

/** Asks those lists that are due, all at once. */
export async function providerRows(
  parts: RowsParts,
  { refresh = false, all = false }: { refresh?: boolean; all?: boolean },
): Promise<ProviderRow[]> {
  const { context, desk } = parts;
  if (detects(context)) await desk.catalog.detect({ ageMs: refresh ? 0 : undefined });
  const configured = Object.keys(context.config().config.providers ?? {});
  const usable = desk.usable();
  const others = all ? [...implicitKinds, ...localKinds] : [];
  const names = [...new Set([...configured, ...usable, ...others])];
  return Promise.all(names.map((name) => providerRow(parts, name, refresh)));
}

async function providerRow({ context, desk }: RowsParts, name: string, refresh: boolean): Promise<ProviderRow> {
  const entry = context.config().config.providers?.[name];
  const kind = kindOf(name, entry?.kind);
  const resolution = desk.resolveAs({ provider: name, model: entry?.models?.[0] ?? 'any' });
  if (resolution.kind !== 'endpoint') {
    const problem = resolution.kind === 'none' || resolution.kind === 'rehearsal' ? resolution.because : null;
    return { name, kind, usable: false, problem: problem ?? 'not running', detected: false, models: [], fetched_at: null, error: null };
  }
  const { settings } = resolution;
  // A server on this machine that nobody configured and nobody found is not there.
  const absent = entry === undefined && localKinds.includes(settings.kind) && !settings.detected;
  if (absent) {
    const problem = `nothing answers on port ${kindTable[settings.kind].localPort}`;
    return { name, kind, usable: false, problem, detected: false, models: [], fetched_at: null, error: null };
  }
  const list = await desk.catalog.list(await renewed(desk, settings, context.signal), { refresh });
  const listed = new Map(list.models.map((model) => [model.id, model]));
  const written = (entry?.models ?? []).filter((id) => !listed.has(id)).map((id): CatalogModel => ({ id }));
  return {
    name,
    kind,
    usable: true,
    problem: null,
    detected: settings.detected,
    models: await Promise.all([...written, ...list.models].map((model) => modelRow(settings, model, entry))),
    fetched_at: list.fetchedAt === null ? null : isoTime(list.fetchedAt),
    error: list.error,
  };
}

/** With a token that serves now, where there is a sign-in; where it cannot be had the list says why. */
export async function renewed({ signIns }: ModelDesk, settings: EndpointSettings, signal: AbortSignal): Promise<EndpointSettings> {
  if (!settings.signedIn) return settings;
  const apiKey = await signIns.renew(settings.provider, { signal }).catch(() => settings.apiKey);
  return { ...settings, apiKey };
}

async function modelRow(settings: EndpointSettings, model: CatalogModel, entry: Parameters<typeof writtenFacts>[0]): Promise<ModelRow> {
  const { kind } = settings;
  const facts = mergedFacts(writtenFacts(entry, model.id), model, await tableFacts(kind, model.id).catch(() => ({})));
  return {
    id: model.id,
    name: facts.name ?? model.id,
    context_window: facts.contextWindow,
    max_output: facts.maxOutput,
    price: facts.price && { input: facts.price.input, output: facts.price.output, cache_read: facts.price.cacheRead },
    reasoning: [...levelsOf(kind, model.id)],
    vision: facts.vision ?? guessVision(kind, model.id),
    tools: facts.tools ?? true,
  };
}
