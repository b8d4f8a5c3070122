/** What a page or a command asks about models beside the pick itself: facts of the one in use, side tasks, and a pick for good. */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';
import { ReasoningLevel } from './rpcSettings.ts';

/** Side work that may have a model of its own. `delegation` stands under its own key of config.yaml. */
export const sideTasks = ['compression', 'title', 'btw', 'web_extract', 'vision', 'delegation'] as const;
export type SideTask = (typeof sideTasks)[number];

const Main = z.object({ provider: z.string().nullable(), model: z.string().nullable(), scripted: z.boolean() });

/** Reference §1.4. Lengths are tokens; null = not known. `config_context_length` is what config.yaml says, `auto_…` what the provider or the table says. */
export const modelInfo = rpcMethod('model.info', {
  params: z.strictObject({}),
  result: Main.extend({
    /** Why nothing, or not what was configured, answers. */
    problem: z.string().nullable(),
    auto_context_length: z.number().nullable(),
    config_context_length: z.number().nullable(),
    effective_context_length: z.number().nullable(),
    capabilities: z.object({
      supports_tools: z.boolean(),
      supports_vision: z.boolean(),
      supports_reasoning: z.boolean(),
      context_window: z.number().nullable(),
      max_output_tokens: z.number().nullable(),
      model_family: z.string().nullable(),
    }),
    reasoning: z.object({
      /** As configured; null = the model's own. */
      asked: z.string().nullable(),
      /** What is sent of it. */
      sent: z.string().nullable(),
      /** What this model knows; empty = it has no levels. */
      levels: z.array(ReasoningLevel),
    }),
    aliases: z.record(z.string(), z.string()),
    fallback_providers: z.array(z.string()),
  }),
});

/** Null = as the main model. */
const SideModel = z.object({
  task: z.enum(sideTasks),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  base_url: z.string().nullable(),
  reasoning_effort: z.string().nullable(),
});

export const modelAuxiliary = rpcMethod('model.auxiliary', {
  params: z.strictObject({}),
  result: z.object({ tasks: z.array(SideModel), main: Main }),
});

/** A pick for good: what `model.set` and `POST /api/model/set` take. */
export const ModelPick = z.strictObject({
  scope: z.enum(['main', 'auxiliary']),
  provider: z.string().max(200).optional(),
  model: z.string().max(300).optional(),
  /** Written to the provider. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  task: z.enum([...sideTasks, '', '__reset__']).optional(),
  /** `default` = the model's own. */
  reasoning_effort: z.enum([...ReasoningLevel.options, 'default']).optional(),
  confirm_expensive_model: z.boolean().optional(),
});

/**
 * Chooses for good: the main model, or that of side work (`task` '' = all tasks; '__reset__' = all as the main model;
 * model 'default' = this one as the main model). `stale_aux`: tasks that stay pinned to another provider when the main
 * model moves. An expensive model is only taken with `confirm_expensive_model`: until then `confirm_required`, and
 * nothing is written. Errors: UNKNOWN_MODEL, NO_PROVIDER, CONFIG_INVALID, CONFIG_KEY, LOCK_HELD, DISK_FULL.
 */
export const modelSet = rpcMethod('model.set', {
  params: ModelPick,
  result: z.object({
    ok: z.boolean(),
    scope: z.enum(['main', 'auxiliary']),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    tasks: z.array(z.string()),
    reset: z.boolean(),
    stale_aux: z.array(z.string()),
    warning: z.string().nullable(),
    confirm_required: z.boolean(),
    confirm_message: z.string().nullable(),
  }),
});

export const modelMethods: readonly Method[] = [modelInfo, modelAuxiliary, modelSet];
