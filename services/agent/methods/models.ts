/** Methods of the gateway RPC about the models of a profile: what answers and what it can, side tasks, a pick for good. */
import { kindOf } from '../../../agent/models/kinds.ts';
import { guessVision, tableFacts, writtenFacts } from '../../../agent/models/facts.ts';
import { modelFamily } from '../../../agent/models/family.ts';
import { levelsOf } from '../../../agent/models/reasoning.ts';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { modelAuxiliary, modelInfo, modelSet, sideTasks, type SideTask } from '../../../ipc/contracts/rpcModels.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import type { ParamsOf, ResultOf } from '../../../ipc/method.ts';
import { changeConfig } from '../../../state/config/change.ts';
import { createMasks } from '../../../state/config/mask.ts';
import { factsOf } from '../models.ts';
import { chosenModel, warningOf } from '../modelSwitch.ts';
import type { SessionParts } from '../sessions.ts';

export function modelHandlers(parts: SessionParts): Handler[] {
  return [
    handle(modelInfo, () => info(parts)),
    handle(modelAuxiliary, () => auxiliary(parts)),
    handle(modelSet, (params) => set(parts, params)),
  ];
}

async function info({ context, desk }: SessionParts): Promise<ResultOf<typeof modelInfo>> {
  const { config } = context.config();
  const resolution = desk.resolve();
  const { provider, model, scripted, warning } = factsOf(resolution);
  const settings = resolution.kind === 'endpoint' ? resolution.settings : undefined;
  const facts = settings && (await desk.facts.load(settings));
  const written = settings && writtenFacts(config.providers?.[settings.provider], settings.model).contextWindow;
  const listed = settings && desk.catalog.known(settings).models.find(({ id }) => id === settings.model)?.contextWindow;
  const table = settings && (await tableFacts(settings.kind, settings.model).catch(() => undefined));
  const levels = settings ? [...levelsOf(settings.kind, settings.model)] : [];
  const { asked, wire } = desk.effort();
  return {
    provider,
    model,
    scripted,
    problem: warning,
    auto_context_length: listed ?? table?.contextWindow ?? null,
    config_context_length: written ?? null,
    effective_context_length: facts?.contextWindow ?? null,
    capabilities: {
      supports_tools: facts?.tools ?? true,
      supports_vision: settings ? (facts?.vision ?? guessVision(settings.kind, settings.model)) : false,
      supports_reasoning: levels.length > 0,
      context_window: facts?.contextWindow ?? null,
      max_output_tokens: facts?.maxOutput ?? null,
      model_family: settings ? modelFamily(settings.model) : null,
    },
    reasoning: { asked, sent: wire, levels },
    aliases: { ...config.model_aliases, ...config.model?.aliases },
    fallback_providers: config.fallback_providers ?? [],
  };
}

function auxiliary({ context, desk }: SessionParts): ResultOf<typeof modelAuxiliary> {
  const { config } = context.config();
  const { provider, model, scripted } = factsOf(desk.resolve());
  return {
    tasks: sideTasks.map((task) => {
      const own = writtenOf(config, task);
      return {
        task,
        provider: own.provider ?? null,
        model: own.model ?? null,
        base_url: (own.provider && config.providers?.[own.provider]?.base_url) || null,
        reasoning_effort: own.reasoning_effort ?? null,
      };
    }),
    main: { provider, model, scripted },
  };
}

type Written = { provider?: string | undefined; model?: string | undefined; reasoning_effort?: string | undefined };
type Configuration = ReturnType<SessionParts['context']['config']>['config'];

const writtenOf = (config: Configuration, task: SideTask): Written =>
  (task === 'delegation' ? config.delegation : config.auxiliary?.[task]) ?? {};

// --- model.set ---

type SetParams = ParamsOf<typeof modelSet>;
type SetResult = ResultOf<typeof modelSet>;

async function set(parts: SessionParts, params: SetParams): Promise<SetResult> {
  const { context, desk } = parts;
  const reset = params.task === '__reset__' || params.model === 'default';
  const { model, provider, base_url, reasoning_effort } = params;
  if (!reset && [model, provider, base_url, reasoning_effort].every((value) => value === undefined)) {
    throw new AgentError('BAD_REQUEST', 'model: nothing is to be changed', {
      field: 'model',
      fix: 'name a model, a provider, a base_url or a reasoning_effort',
    });
  }
  const tasks: SideTask[] = params.scope === 'main' ? [] : tasksOf(params);
  if (params.base_url !== undefined) await writeBaseUrl(parts, params);
  const chosen = reset || (params.model === undefined && params.provider === undefined) ? null : chosenOf(parts, params);
  const dear = chosen && !params.confirm_expensive_model ? await dearWords(parts, chosen) : null;
  const current = factsOf(desk.resolve());
  const answer = (more: Partial<SetResult>): SetResult => ({
    ok: true,
    scope: params.scope,
    provider: chosen?.provider ?? current.provider,
    model: chosen?.model ?? current.model,
    tasks,
    reset,
    stale_aux: [],
    warning: null,
    confirm_required: false,
    confirm_message: null,
    ...more,
  });
  if (dear) return answer({ ok: false, confirm_required: true, confirm_message: dear });
  await write(parts, params, { chosen, reset, tasks });
  const now = factsOf(desk.resolve());
  const stale = params.scope === 'main' ? staleTasks(parts, now.provider) : [];
  const asked = desk.effort().asked;
  const warning = params.scope === 'main' ? warningOf(parts, { session: undefined, switched: chosen !== null, asked }) : null;
  if (chosen)
    context.log.info(
      `model chosen for ${params.scope === 'main' ? 'all conversations' : tasks.join(', ')}: ${chosen.provider}:${chosen.model}`,
    );
  return answer({ ...(params.scope === 'main' ? { provider: now.provider, model: now.model } : {}), stale_aux: stale, warning });
}

function tasksOf({ task }: SetParams): SideTask[] {
  if (task === undefined) {
    throw new AgentError('BAD_REQUEST', 'task: side work is named by its task', {
      field: 'task',
      fix: `one of ${sideTasks.join(', ')}, '' for all of them, '__reset__' to take all back`,
    });
  }
  return task === '' || task === '__reset__' ? [...sideTasks] : [task];
}

/** Errors: UNKNOWN_MODEL. */
function chosenOf(parts: SessionParts, { model, provider }: SetParams): { provider: string; model: string } {
  const chosen = chosenModel(parts, { name: model ?? '', provider });
  if (!chosen?.provider || !chosen.model) throw new AgentError('UNKNOWN_MODEL', 'no model is named', { fix: 'agent model list' });
  return { provider: chosen.provider, model: chosen.model };
}

async function dearWords({ context, desk }: SessionParts, chosen: { provider: string; model: string }): Promise<string | null> {
  const current = factsOf(desk.resolve());
  if (current.provider === chosen.provider && current.model === chosen.model) return null;
  const resolution = desk.resolveAs(chosen);
  if (resolution.kind !== 'endpoint') return null;
  const { price } = await desk.facts.load(resolution.settings);
  if (!price || (price.input < limits.models.expensiveInput && price.output < limits.models.expensiveOutput)) return null;
  context.log.info(`${chosen.provider}:${chosen.model} asks to be confirmed`);
  return `${chosen.model} costs $${price.input} a million tokens in and $${price.output} out: every turn sends the whole conversation. Take it all the same?`;
}

/** Nothing of the model is known before its provider has an address. */
async function writeBaseUrl({ context }: SessionParts, { provider, base_url }: SetParams): Promise<void> {
  if (provider === undefined) {
    throw new AgentError('BAD_REQUEST', 'base_url: it belongs to a provider', { field: 'base_url', fix: 'name the provider' });
  }
  const entry = context.config().config.providers?.[provider];
  const kind = entry?.kind ?? (kindOf(provider, undefined) === provider ? undefined : 'openai-compatible');
  await save(context, { providers: { [provider]: { base_url, ...(kind && !entry ? { kind } : {}) } } });
}

async function write(
  { context }: SessionParts,
  { scope, reasoning_effort }: SetParams,
  { chosen, reset, tasks }: { chosen: { provider: string; model: string } | null; reset: boolean; tasks: SideTask[] },
): Promise<void> {
  const effort = reasoning_effort === undefined ? {} : { reasoning_effort: reasoning_effort === 'default' ? null : reasoning_effort };
  if (scope === 'main') {
    const model = reset ? { provider: null, default: null } : chosen ? { provider: chosen.provider, default: chosen.model } : {};
    await save(context, withoutEmpty({ model, agent: effort }));
    return;
  }
  const side = { ...(reset ? { provider: null, model: null, reasoning_effort: null } : (chosen ?? {})), ...effort };
  const patch: Record<string, object> = { auxiliary: {} };
  for (const task of tasks) {
    if (task === 'delegation') patch.delegation = side;
    else (patch.auxiliary as Record<string, unknown>)[task] = side;
  }
  await save(context, withoutEmpty(patch));
}

/** A section without a change would be written as `{}`. */
const withoutEmpty = (patch: Record<string, object>): Record<string, object> =>
  Object.fromEntries(Object.entries(patch).filter(([, section]) => Object.keys(section).length > 0));

async function save({ paths }: SessionParts['context'], values: Record<string, unknown>): Promise<void> {
  await changeConfig(paths.config, { values }, { masks: createMasks([]) });
}

/** Side work that stays with another provider when the main model moves. */
function staleTasks({ context }: SessionParts, provider: string | null): string[] {
  const { config } = context.config();
  return sideTasks.filter((task) => {
    const own = writtenOf(config, task).provider;
    return own !== undefined && own !== provider;
  });
}
