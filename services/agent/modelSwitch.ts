/**
 * Changing what a session or the profile answers with: model, reasoning level, service tier, for the session, for good,
 * or for one turn. The choice is durable before it is announced; what cannot serve is refused before anything changes.
 */
import type { EndpointSettings } from '../../agent/models/kinds.ts';
import { parseModelName } from '../../agent/models/modelName.ts';
import { serviceTiers, type ServiceTier } from '../../agent/models/fastWindow.ts';
import { clampLevel, levelsOf, requireLevel, type ReasoningLevel } from '../../agent/models/reasoning.ts';
import { welcome } from '../../agent/models/routes.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { within } from '../../base/time.ts';
import { setConfigValue } from '../../state/config/edit.ts';
import type { WorkerContext } from '../worker.ts';
import type { EventLog } from './events.ts';
import { factsOf, type ModelDesk } from './models.ts';
import { infoOf } from './sessions.ts';
import type { SessionRecord, Store } from './store.ts';

export type Scope = 'session' | 'global' | 'once';

export interface SwitchParts {
  context: WorkerContext;
  store: Store;
  events: EventLog;
  desk: ModelDesk;
}

/** What is to change; undefined = stays, null = as the profile has it. */
export interface Change {
  model?: { provider: string | null; model: string | null } | null;
  reasoning?: ReasoningLevel | null;
  tier?: ServiceTier | null;
}

// --- what people write ---

export interface ModelWords {
  /** Empty where only flags were given. */
  name: string;
  provider: string | undefined;
  reasoning: ReasoningLevel | undefined;
  scope: Scope | undefined;
}

/** `[provider:]model [--provider P] [--reasoning LEVEL] [--session|--global|--once]`. Errors: BAD_REQUEST, MODEL_SWITCH_ERR_BAD_REASONING. */
export function parseModelWords(text: string): ModelWords {
  const words: ModelWords = { name: '', provider: undefined, reasoning: undefined, scope: undefined };
  const queue = text.trim().split(/\s+/).filter(Boolean);
  const value = (flag: string, joined: string | undefined): string => {
    const given = joined ?? queue.shift();
    if (!given) throw badWords(`${flag} needs a value`);
    return given;
  };
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const [, flag, joined] = /^(--[a-z]+)(?:=(.*))?$/.exec(word) ?? [];
    if (flag === '--provider') words.provider = value(flag, joined);
    else if (flag === '--reasoning') words.reasoning = requireLevel(value(flag, joined));
    else if (flag === '--session' || flag === '--global' || flag === '--once') words.scope = flag.slice(2) as Scope;
    else if (word.startsWith('--')) throw badWords(`unknown flag ${word}`);
    else if (words.name) throw badWords(`one model at a time, not "${words.name}" and "${word}"`);
    else words.name = word;
  }
  return words;
}

const badWords = (message: string): AgentError =>
  new AgentError('BAD_REQUEST', `value: ${message}`, {
    field: 'value',
    fix: 'write [provider:]model [--provider P] [--reasoning LEVEL] [--session|--global|--once]',
  });

/** `on`, `off` and the tiers. Errors: BAD_REQUEST. */
export function parseTier(text: string): ServiceTier {
  const word = text.trim().toLowerCase();
  const tier = ({ on: 'fast', true: 'fast', off: 'normal', false: 'normal' } as Record<string, ServiceTier>)[word] ?? (word as ServiceTier);
  if (serviceTiers.includes(tier)) return tier;
  throw new AgentError('BAD_REQUEST', `value: "${text}" is not a service tier`, { field: 'value', fix: 'one of on, off, auto, cold' });
}

/**
 * The provider and model meant by a name, proved to be usable. `default` = as configured.
 * Errors: UNKNOWN_MODEL, NO_PROVIDER.
 */
export function chosenModel(
  { context, desk }: SwitchParts,
  { name, provider }: Pick<ModelWords, 'name' | 'provider'>,
): NonNullable<Change['model']> | null {
  if (name === 'default' && provider === undefined) return null;
  const { config } = context.config();
  const names = { providers: config.providers ?? {}, aliases: { ...config.model_aliases, ...config.model?.aliases } };
  const parsed = name ? parseModelName(name, names) : { provider: undefined, model: '' };
  const model = parsed.model || undefined;
  const wanted = { provider: provider ?? parsed.provider ?? (model && listedBy(desk, model)), model };
  const resolution = desk.resolveAs(wanted);
  const facts = factsOf(resolution);
  const ofThat = wanted.provider === undefined || wanted.provider === facts.provider;
  // The rehearsal stands in for every name; taken for a choice it would be kept when a provider is there.
  if (ofThat && facts.scripted && model !== undefined && model !== facts.model) {
    throw new AgentError('UNKNOWN_MODEL', `${name} cannot be used: only the scripted ${facts.model} answers here`, {
      fix: '`agent model list --all` shows what each provider needs',
    });
  }
  if (ofThat && resolution.kind !== 'none') {
    // A bare name that its provider does not list is a slip; with the provider before it, it is meant.
    const slip = resolution.kind === 'endpoint' && wanted.provider === undefined && isUnlisted(desk, resolution.settings);
    if (!slip) return { provider: facts.provider, model: facts.model };
    throw new AgentError('UNKNOWN_MODEL', `no provider lists a model "${name}"`, {
      fix: `\`agent model list\` shows them; ${facts.provider}:${name} takes it all the same`,
    });
  }
  const because = resolution.kind === 'endpoint' ? null : resolution.because;
  throw new AgentError('UNKNOWN_MODEL', `${name || provider} cannot be used: ${because ?? 'its provider is not known'}`, {
    fix: '`agent model list --all` shows what can be, and what is missing for the rest',
  });
}

/**
 * Refuses what chosenModel refuses. A bare name is looked for in the list of its provider, which is fetched where none is
 * known yet; a list that cannot be had, or not soon, refuses nothing. Errors: UNKNOWN_MODEL, NO_PROVIDER.
 */
export async function requireModel(parts: SwitchParts, words: Pick<ModelWords, 'name' | 'provider'>): Promise<void> {
  const { desk } = parts;
  const resolution = desk.resolveAs({ model: words.name || undefined, provider: words.provider });
  if (words.name && words.provider === undefined && resolution.kind === 'endpoint')
    await within(desk.catalog.list(resolution.settings), { ms: limits.models.listPatienceMs, what: 'listing models' }).catch(() => {});
  chosenModel(parts, words);
}

/** The provider whose list has that model: the one in use before the others. */
function listedBy(desk: ModelDesk, model: string): string | undefined {
  const current = factsOf(desk.resolve()).provider;
  const names = [...(current === null ? [] : [current]), ...desk.usable()];
  return names.find((provider) => {
    const resolution = desk.resolveAs({ provider, model });
    return resolution.kind === 'endpoint' && desk.catalog.known(resolution.settings).models.some(({ id }) => id === model);
  });
}

/** False as long as no list of its provider is known. */
function isUnlisted({ catalog }: ModelDesk, settings: EndpointSettings): boolean {
  const { models } = catalog.known(settings);
  return models.length > 0 && !models.some(({ id }) => id === settings.model);
}

// --- doing it ---

/** Where a plain pick goes: the session, unless the profile says that picks are kept or has no model yet. */
export function plainScope({ context }: Pick<SwitchParts, 'context'>, session: SessionRecord | undefined): Scope {
  const { model } = context.config().config;
  const first = model?.default === undefined && model?.provider === undefined;
  return session === undefined || first || model?.persist_switch_by_default === true ? 'global' : 'session';
}

/** Errors: CONFIG_INVALID, LOCK_HELD, DISK_FULL, STORE_BUSY. Nothing of a session changes where the file refused. */
export async function applyChange(parts: SwitchParts, scope: Scope, session: SessionRecord | undefined, change: Change): Promise<void> {
  const { store, desk } = parts;
  if (scope === 'global') await writeProfile(parts.context, change);
  if (!session) return;
  if (scope === 'once') {
    const { model, reasoning, tier } = change;
    desk.once(session.id, {
      model: model?.model ?? null,
      provider: model?.provider ?? null,
      reasoning_effort: reasoning ?? null,
      service_tier: tier ?? null,
    });
    return;
  }
  if (change.model !== undefined) desk.dropOnce(session.id);
  // What is now the profile's own is no longer this session's exception.
  const value = <T>(given: T | null | undefined): T | null => (scope === 'global' ? null : (given ?? null));
  const columns: Record<string, string | null> = {
    ...(change.model === undefined ? {} : { model: value(change.model?.model), provider: value(change.model?.provider) }),
    ...(change.reasoning === undefined ? {} : { reasoning_effort: value(change.reasoning) }),
    ...(change.tier === undefined ? {} : { service_tier: value(change.tier) }),
  };
  const names = Object.keys(columns);
  if (names.length === 0) return;
  store.run(`UPDATE sessions SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`, ...Object.values(columns), session.id);
}

async function writeProfile({ paths }: WorkerContext, { model, reasoning, tier }: Change): Promise<void> {
  const write = (key: string, value: string | null | undefined) => setConfigValue(paths.config, key, value ?? undefined);
  if (model !== undefined) {
    await write('model.provider', model?.provider);
    await write('model.default', model?.model);
  }
  if (reasoning !== undefined) await write('agent.reasoning_effort', reasoning);
  if (tier !== undefined) await write('agent.service_tier', tier);
}

/** `session_info` for everybody who has the session on screen. */
export function announce({ context, store, events, desk }: SwitchParts, session: SessionRecord, running: boolean): SessionRecord {
  const now = store.session(session.id) ?? session;
  events.emit(now.id, null, 'session_info', infoOf({ context, store, desk }, now, running));
  return now;
}

/** What the user should know of a change: of the model, where `switched`, and of the level asked for. */
export function warningOf(
  { desk }: SwitchParts,
  { session, switched, asked }: { session: SessionRecord | undefined; switched: boolean; asked: string | null },
): string | null {
  const resolution = desk.resolve(session);
  if (resolution.kind === 'rehearsal') return resolution.because;
  if (resolution.kind === 'none') return resolution.message;
  const { settings } = resolution;
  const said: string[] = [];
  const levels = levelsOf(settings.kind, settings.model);
  const wire = clampLevel(asked ?? undefined, levels);
  if (asked && wire === undefined) said.push(`${settings.model} has no reasoning levels: none is sent`);
  else if (asked && wire !== asked) said.push(`${settings.model} has no level ${asked}: ${wire} is sent`);
  if (switched && isUnlisted(desk, settings)) said.push(`${settings.provider} does not list ${settings.model}`);
  if (switched && session) said.push('the next prompt is read afresh, without the cache of the model before');
  return said.length > 0 ? said.join('; ') : null;
}

/** The free tier named the model behind it: the session moves there, and the default that still names the welcome model. */
export async function followPortal(
  parts: SwitchParts,
  { sessionId, provider, model }: { sessionId: string | undefined; provider: string; model: string },
): Promise<void> {
  const { context, store } = parts;
  try {
    if (context.config().config.model?.default === welcome.model) await setConfigValue(context.paths.config, 'model.default', model);
    const session = sessionId === undefined ? undefined : store.session(sessionId);
    if (!session) return;
    await applyChange(parts, 'session', session, { model: { provider, model } });
    announce(parts, session, true);
    context.log.info(`${provider} moved a session to ${model}`, { session_id: session.id });
  } catch (thrown) {
    context.log.warn('the model that the provider named could not be taken over', errorFields(thrown));
  }
}
