/** Methods of the gateway RPC about models and settings. */
import { detects, factsOf } from '../models.ts';
import { serviceTiers } from '../../../agent/models/fastWindow.ts';
import { reasoningLevels, requireLevel } from '../../../agent/models/reasoning.ts';
import { AgentError } from '../../../base/errors.ts';
import { isoTime } from '../../../base/time.ts';
import { clientPing, configGet, configSet, modelOptions, setupRuntimeCheck, setupStatus } from '../../../ipc/contracts/rpcSettings.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import type { ParamsOf, ResultOf } from '../../../ipc/method.ts';
import { parseKeyPath, parseValue, setConfigValue } from '../../../state/config/edit.ts';
import { createMasks } from '../../../state/config/mask.ts';
import { providerRows, renewed } from '../modelRows.ts';
import {
  announce,
  applyChange,
  chosenModel,
  parseModelWords,
  parseTier,
  plainScope,
  warningOf,
  type Change,
  type Scope,
} from '../modelSwitch.ts';
import { infoOf, requireSession, type SessionParts } from '../sessions.ts';
import { readiness } from '../setupWatch.ts';
import type { SessionRecord } from '../store.ts';

/** Whoever has no model yet and asks again after starting a server is not told what was so twenty minutes ago. */
const PROBE_AGE_MS = 5_000;

export function settingMethods(parts: SessionParts): Handler[] {
  const { context, desk } = parts;
  return [
    handle(clientPing, () => ({ at: isoTime(Date.now()) })),
    handle(setupStatus, async () => {
      if (desk.resolve().kind !== 'endpoint' && detects(context)) await desk.catalog.detect({ ageMs: PROBE_AGE_MS });
      return readiness(desk);
    }),
    handle(setupRuntimeCheck, (params) => runtimeCheck(parts, params)),
    handle(modelOptions, (params) => options(parts, params)),
    handle(configGet, (params) => get(parts, params)),
    handle(configSet, (params) => set(parts, params)),
  ];
}

async function runtimeCheck(
  { context, desk }: SessionParts,
  { provider, probe }: ParamsOf<typeof setupRuntimeCheck>,
): Promise<ResultOf<typeof setupRuntimeCheck>> {
  // A host can be asked for its list before any model of it is chosen.
  const any = probe ? { model: context.config().config.providers?.[provider ?? '']?.models?.[0] ?? 'any' } : {};
  const resolution = provider === undefined ? desk.resolve() : desk.resolveAs({ provider, ...any });
  const { provider: found, model, warning } = factsOf(resolution);
  if (resolution.kind !== 'endpoint' || (provider !== undefined && found !== provider)) {
    const because = provider !== undefined && resolution.kind === 'none' ? resolution.because : null;
    const ok = resolution.kind === 'rehearsal' && (provider === undefined || provider === found);
    return {
      ok,
      provider: found,
      model,
      source: ok ? 'rehearsal' : null,
      error: ok ? null : (because ?? warning ?? `${provider} cannot be used`),
    };
  }
  const { settings } = resolution;
  const error = probe ? (await desk.catalog.list(await renewed(desk, settings, context.signal), { refresh: true })).error : null;
  const source = settings.detected ? 'found on this machine' : (settings.keyEnv ?? settings.baseUrl);
  return { ok: error === null, provider: found, model: model === 'any' ? null : model, source, error };
}

async function options(parts: SessionParts, params: ParamsOf<typeof modelOptions>): Promise<ResultOf<typeof modelOptions>> {
  const { context, store, desk } = parts;
  const session = params.session_id === undefined ? undefined : requireSession(store, params.session_id);
  const providers = await providerRows(parts, { refresh: params.refresh === true, all: params.include_unconfigured === true });
  const { provider, model } = factsOf(desk.resolve(session));
  const { config } = context.config();
  return {
    current: { provider, model, reasoning: desk.effort(session).asked },
    providers,
    aliases: { ...config.model_aliases, ...config.model?.aliases },
  };
}

// --- config.get ---

function get({ context, store, desk }: SessionParts, { key, session_id }: ParamsOf<typeof configGet>): ResultOf<typeof configGet> {
  const session = session_id === undefined ? undefined : requireSession(store, session_id);
  switch (key) {
    case 'model': {
      const { provider, model, scripted } = factsOf(desk.resolve(session));
      return { key, value: model, provider, scripted };
    }
    case 'reasoning': {
      const { asked, wire } = desk.effort(session);
      return { key, value: asked, wire, levels: reasoningLevels };
    }
    case 'fast':
    case 'service_tier':
      return { key, value: desk.tier(session) ?? 'normal', tiers: serviceTiers };
    default:
      return { key, value: configValue({ context }, key) };
  }
}

/** The value at a dotted path; null when it is not set. Secrets that stand in the file leave it as masks, as from `GET /api/config`. */
function configValue({ context }: Pick<SessionParts, 'context'>, key: string): unknown {
  let value: unknown = context.config().config;
  const path = parseKeyPath(key);
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return null;
    value = Object.hasOwn(value, part) ? (value as Record<string | number, unknown>)[part] : undefined;
  }
  return createMasks(context.secrets().values()).hide(value, path) ?? null;
}

// --- config.set ---

type SetResult = ResultOf<typeof configSet>;

async function set(parts: SessionParts, params: ParamsOf<typeof configSet>): Promise<SetResult> {
  const session = params.session_id === undefined ? undefined : requireSession(parts.store, params.session_id);
  const text = String(params.value);
  switch (params.key) {
    case 'model': {
      const words = parseModelWords(text);
      if (!words.name && words.provider === undefined && words.reasoning === undefined) throw noValue();
      const model = words.name || words.provider !== undefined ? chosenModel(parts, words) : undefined;
      const scope = params.scope ?? words.scope ?? (model === undefined ? ownScope(session) : plainScope(parts, session));
      return change(
        parts,
        { key: 'model', scope, session },
        { ...(model === undefined ? {} : { model }), ...(words.reasoning ? { reasoning: words.reasoning } : {}) },
      );
    }
    case 'reasoning': {
      const reasoning = text === 'default' ? null : requireLevel(text);
      return change(parts, { key: 'reasoning', scope: params.scope ?? ownScope(session), session }, { reasoning });
    }
    case 'fast':
    case 'service_tier': {
      const tier = text === 'default' ? null : parseTier(text);
      return change(parts, { key: params.key, scope: params.scope ?? ownScope(session), session }, { tier });
    }
    default:
      return setOther(parts, params);
  }
}

const ownScope = (session: SessionRecord | undefined): Scope => (session ? 'session' : 'global');

async function change(
  parts: SessionParts,
  { key, scope, session }: { key: 'model' | 'reasoning' | 'fast' | 'service_tier'; scope: Scope; session: SessionRecord | undefined },
  wanted: Change,
): Promise<SetResult> {
  const { desk, store, turns } = parts;
  if (scope !== 'global' && !session) {
    throw new AgentError('MISSING_SESSION', `a change for ${scope === 'once' ? 'one turn' : 'a session'} needs a session_id`, {
      field: 'session_id',
      fix: 'name the session, or use the scope global',
    });
  }
  await applyChange(parts, scope, session, wanted);
  const now = session && announce(parts, session, turns.isRunning(session.id));
  const { model, reasoning } = wanted;
  const asked = reasoning ?? (model === undefined ? null : desk.effort(now).asked);
  const warning = warningOf(parts, { session: now, switched: model !== undefined, asked });
  const value = get(parts, { key, session_id: now?.id }).value;
  return { key, value, scope, warning, info: now ? infoOf({ ...parts, store }, now, turns.isRunning(now.id)) : null };
}

/** Any other key is one of config.yaml, for the whole profile. Errors: CONFIG_KEY, CONFIG_INVALID, BAD_REQUEST. */
async function setOther({ context }: SessionParts, { key, value, scope }: ParamsOf<typeof configSet>): Promise<SetResult> {
  if (scope === 'session' || scope === 'once') {
    throw new AgentError('BAD_REQUEST', `scope: ${key} is a setting of the whole profile`, { field: 'scope', fix: 'leave the scope out' });
  }
  const { after } = await setConfigValue(context.paths.config, key, typeof value === 'string' ? parseValue(value) : value);
  return { key, value: after, scope: 'global', warning: null, info: null };
}

const noValue = (): AgentError =>
  new AgentError('BAD_REQUEST', 'value: names no model', {
    field: 'value',
    fix: 'write [provider:]model, or flags such as --reasoning high',
  });
