/** `agent model`: which model answers, for conversations and for side tasks; a picker on a terminal, plain forms everywhere. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { modelSet, sideTasks, type SideTask } from '../../ipc/contracts/rpcModels.ts';
import {
  configGet,
  modelOptions,
  reasoningLevels,
  setupRuntimeCheck,
  type ModelRow,
  type ProviderRow,
  type ReasoningLevel,
} from '../../ipc/contracts/rpcSettings.ts';
import type { Link } from '../../ipc/link.ts';
import { hasFlag, jsonOption, textOption, type Command, type Input, type Option } from '../command.ts';
import { withProgress } from '../progress.ts';
import { note, out, print, printJson, printProblem, table } from '../terminal.ts';
import { withAgent } from '../withAgent.ts';

const forOption: Option = { flags: '--for <task>', summary: 'a side task instead of the main model', choices: sideTasks };
const reasoningOption: Option = { flags: '--reasoning <level>', summary: `how much it thinks: ${reasoningLevels.join(', ')}` };

export const command: Command = {
  name: 'model',
  summary: 'Choose the model that answers',
  details:
    'On a terminal and without a word after it, it asks: for what, which provider, which model, how much reasoning. Otherwise it asks nothing.',
  options: [jsonOption],
  examples: [
    { line: 'agent model', does: 'pick one' },
    { line: 'agent model set anthropic:claude-sonnet-5 --reasoning high', does: 'choose without asking' },
  ],
  commands: [
    {
      name: 'show',
      summary: 'Show what answers now',
      options: [jsonOption],
      examples: [{ line: 'agent model show --json', does: 'model, reasoning level asked for and sent, side tasks' }],
      run: (input) => withAgent(input, (link) => show(link, input)),
    },
    {
      name: 'list',
      summary: 'List the models of every usable provider',
      options: [
        { flags: '--all', summary: 'providers too that lack something, with what it is' },
        { flags: '--refresh', summary: 'fetch the lists now' },
        jsonOption,
      ],
      examples: [{ line: 'agent model list --all', does: 'and what the others need' }],
      run: (input) => withAgent(input, (link) => list(link, input)),
    },
    {
      name: 'test',
      summary: 'Try whether a provider answers',
      details: 'Asks it for its list of models: nothing is spent. Without a name it tries the provider in use.',
      arguments: [{ name: 'provider', summary: 'openai, anthropic, ollama, …, or one of config.yaml', optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent model test openai', does: 'exit code 0 when its key is good' }],
      run: (input) => withAgent(input, (link) => test(link, input)),
    },
    {
      name: 'set',
      summary: 'Choose a model for good',
      arguments: [{ name: 'model', summary: '[provider:]model, an alias, or default' }],
      options: [{ flags: '--provider <name>', summary: 'its provider' }, reasoningOption, forOption, jsonOption],
      examples: [
        { line: 'agent model set ollama:qwen3:8b', does: 'a server on this machine' },
        { line: 'agent model set gpt-5-mini --for title', does: 'a small one for titles' },
      ],
      run: (input) => withAgent(input, (link) => set(link, input)),
    },
  ],
  run: (input) => withAgent(input, (link) => (interactive(input) ? pick(link) : show(link, input))),
};

const interactive = ({ json }: Input): boolean => !json && process.stdin.isTTY === true && process.stdout.isTTY === true;

// --- test ---

/** Exit code 1 when it cannot be used. */
async function test(link: Link, input: Input): Promise<number> {
  const [provider] = input.args;
  const done = await withProgress(`asking ${provider ?? 'the provider'}`, () =>
    link.call(setupRuntimeCheck, { ...(provider === undefined ? {} : { provider }), probe: true }),
  );
  if (input.json) printJson(done);
  else if (done.ok) print(`${done.provider} answers${done.model ? ` (${done.model})` : ''}`);
  else
    printProblem(
      {
        code: 'NO_PROVIDER',
        message: done.error ?? `${provider} cannot be used`,
        fix: 'agent model list --all says what each provider needs',
      },
      false,
    );
  return done.ok ? exitCodes.ok : exitCodes.failed;
}

// --- show ---

interface Shown {
  provider: string | null;
  model: string | null;
  scripted: boolean;
  reasoning: { asked: string | null; sent: string | null };
  service_tier: string;
  auxiliary: Record<string, SideModel>;
  delegation: SideModel | null;
  fallback_providers: string[];
}
interface SideModel {
  provider?: string;
  model?: string;
  reasoning_effort?: string;
}

async function shownBy(link: Link): Promise<Shown> {
  const get = async (key: string) => link.call(configGet, { key });
  const [main, reasoning, tier, auxiliary, delegation, fallbacks] = await Promise.all([
    get('model'),
    get('reasoning'),
    get('service_tier'),
    get('auxiliary'),
    get('delegation'),
    get('fallback_providers'),
  ]);
  return {
    provider: main.provider as string | null,
    model: main.value as string | null,
    scripted: main.scripted === true,
    reasoning: { asked: reasoning.value as string | null, sent: (reasoning.wire ?? null) as string | null },
    service_tier: tier.value as string,
    auxiliary: (auxiliary.value ?? {}) as Record<string, SideModel>,
    delegation: delegation.value as SideModel | null,
    fallback_providers: (fallbacks.value ?? []) as string[],
  };
}

async function show(link: Link, input: Input): Promise<number> {
  const shown = await shownBy(link);
  if (input.json) printJson(shown);
  else print(shownLines(shown));
  return exitCodes.ok;
}

function shownLines({ provider, model, scripted, reasoning, service_tier, auxiliary, delegation, fallback_providers }: Shown): string {
  const paint = painter(out);
  const { asked, sent } = reasoning;
  const level = asked === null ? "the model's own" : asked === sent ? asked : `${asked} (${sent ?? 'none'} is sent)`;
  const side = Object.entries({ ...auxiliary, ...(delegation ? { delegation } : {}) }).filter(
    ([, own]) => own.model ?? own.provider ?? own.reasoning_effort,
  );
  return table([
    [
      paint('dim', 'model'),
      model === null
        ? 'none; `agent model list --all` shows what is missing'
        : `${provider}:${model}${scripted ? ' (scripted rehearsal)' : ''}`,
    ],
    [paint('dim', 'reasoning'), level],
    [paint('dim', 'service tier'), service_tier],
    ...(fallback_providers.length > 0 ? [[paint('dim', 'then'), fallback_providers.join(', ')]] : []),
    ...side.map(([task, own]) => [
      paint('dim', task),
      [[own.provider, own.model].filter(Boolean).join(':') || 'as above', own.reasoning_effort && `reasoning ${own.reasoning_effort}`]
        .filter(Boolean)
        .join(', '),
    ]),
  ]);
}

// --- list ---

async function list(link: Link, input: Input): Promise<number> {
  const found = await withProgress('asking the providers', () =>
    link.call(modelOptions, { refresh: hasFlag(input, 'refresh'), include_unconfigured: hasFlag(input, 'all') }),
  );
  if (input.json) printJson(found);
  else {
    const usable = found.providers.filter((provider) => provider.usable);
    if (usable.length > 0) print(modelTable(usable));
    else note(`agent: no provider is usable${hasFlag(input, 'all') ? '' : ' — agent model list --all shows what each of them needs'}`);
    for (const provider of found.providers) noteProvider(provider);
  }
  return exitCodes.ok;
}

function noteProvider({ name, problem, error, detected }: ProviderRow): void {
  if (problem) note(`${name}: ${problem}`);
  if (error) note(`${name}: its list is not fresh: ${error}`);
  if (detected) note(`${name}: found running on this machine`);
}

function modelTable(providers: readonly ProviderRow[]): string {
  const paint = painter(out);
  const head = ['MODEL', 'WINDOW', '$ IN / OUT', 'REASONING'].map((text) => paint('dim', text));
  const rows = providers.flatMap((provider) => provider.models.map((model) => [`${provider.name}:${model.id}`, ...traitsOf(model)]));
  return table([head, ...rows]);
}

/** Window, price of a million tokens, levels. */
export function traitsOf({ context_window, price, reasoning }: ModelRow): string[] {
  return [
    context_window === null ? '–' : `${Math.round(context_window / 1_000)}k`,
    price === null ? '–' : `${price.input} / ${price.output}`,
    reasoning.length === 0 ? '–' : `${reasoning[0]}…${reasoning.at(-1)}`,
  ];
}

// --- set ---

async function set(link: Link, input: Input): Promise<number> {
  const model = input.args[0]!;
  const task = textOption(input, 'for');
  const provider = textOption(input, 'provider');
  const reasoning = checkedLevel(textOption(input, 'reasoning'));
  await choose(link, { task, provider, model, reasoning }, { confirmed: true, quiet: input.json });
  return show(link, input);
}

/** Errors: MODEL_SWITCH_ERR_BAD_REASONING. */
function checkedLevel(level: string | undefined): ReasoningLevel | undefined {
  if (level === undefined || (reasoningLevels as readonly string[]).includes(level)) return level as ReasoningLevel | undefined;
  throw new AgentError('MODEL_SWITCH_ERR_BAD_REASONING', `"${level}" is no reasoning level`, {
    fix: `one of ${reasoningLevels.join(', ')}`,
  });
}

export interface ModelChoice {
  /** Undefined = the main model. */
  task: string | undefined;
  provider?: string | undefined;
  /** `default` = as configured; of side work: as the main model. */
  model?: string | undefined;
  reasoning?: ReasoningLevel | undefined;
}

/** Whoever wrote the name of an expensive model has confirmed it. Errors: UNKNOWN_MODEL where its provider cannot serve. */
export async function choose(
  link: Link,
  { task, provider, model, reasoning }: ModelChoice,
  { confirmed, quiet = false }: { confirmed: boolean; quiet?: boolean },
): Promise<string | null> {
  const { warning, stale_aux, confirm_message } = await link.call(modelSet, {
    scope: task === undefined ? 'main' : 'auxiliary',
    task: task as SideTask | undefined,
    provider,
    model,
    reasoning_effort: reasoning,
    confirm_expensive_model: confirmed,
  });
  if (quiet || confirm_message !== null) return confirm_message;
  if (warning) note(`agent: ${warning}`);
  if (stale_aux.length > 0) {
    note(`agent: side work stays with another provider: ${stale_aux.join(', ')} — agent model set default --for <task> takes it back`);
  }
  return null;
}

// --- pick ---

async function pick(link: Link): Promise<number> {
  const { pickModel } = await import('../modelPicker.ts');
  const options = () => withProgress('asking the providers', () => link.call(modelOptions, {}));
  const choice = await pickModel({ options, tasks: sideTasks });
  if (!choice) {
    note('Nothing changed.');
    return exitCodes.ok;
  }
  const wanted = { ...choice, reasoning: checkedLevel(choice.reasoning) };
  const asked = await choose(link, wanted, { confirmed: false });
  if (asked !== null) {
    if (!(await confirm(asked))) {
      note('Nothing changed.');
      return exitCodes.ok;
    }
    await choose(link, wanted, { confirmed: true });
  }
  print(shownLines(await shownBy(link)));
  return exitCodes.ok;
}

async function confirm(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(`${question} [y/N] `);
  lines.close();
  return /^y/i.test(answer.trim());
}
