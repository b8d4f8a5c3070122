/** Commands that change how it answers: model, reasoning, speed, looks. */
import { ownSurfaces, split, talking, terminals, text, usage, type CommandResult, type Invocation, type SlashCommand } from './command.ts';
import { AgentError } from '../../base/errors.ts';
import { may } from '../authority/may.ts';

const levels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const CHOICES_MAX = 60;

/** Keys of config.yaml that change how it answers. Any other can open a platform, a program or a key, and is not set from a chat. */
const SHAPES_ANSWERS =
  /^\s*(?:model|reasoning|fast|timezone|model\.(?:default|provider)|agent\.(?:max_turns|reasoning_effort|service_tier|fast_auto_seconds|system_prompt)|(?:clarify|compression|display|model_aliases|personalities)\.\S+)\s/;

const isGlobal = (args: string): boolean => /(?:^|\s)--global(?:[\s=]|$)/i.test(args);

export const configurationCommands: readonly SlashCommand[] = [
  {
    name: 'model',
    needs: (args) => (isGlobal(args) ? 'configure' : args ? 'choose_model' : 'converse'),
    takes: '[[provider:]model] [--provider P] [--reasoning LEVEL] [--session | --global | --once]',
    summary: 'show or switch the model',
    category: 'configuration',
    busy: 'allowed',
    completes: 'model',
    run: model,
  },
  {
    name: 'reasoning',
    needs: (args) => (isGlobal(args) || /^(?:show|hide)\b/i.test(args) ? 'configure' : args ? 'choose_model' : 'converse'),
    takes: `[${levels.join(' | ')} | show | hide] [--global]`,
    summary: 'how long it thinks, and whether that is shown',
    category: 'configuration',
    busy: 'allowed',
    completes: [...levels, 'show', 'hide'],
    run: reasoning,
  },
  {
    name: 'fast',
    needs: (args) => (args && args !== 'status' ? 'choose_model' : 'converse'),
    takes: '[auto | cold | on | off | status]',
    summary: 'ask for the fast tier: always, in the first seconds of a turn, or on the first turn',
    category: 'configuration',
    busy: 'allowed',
    completes: ['auto', 'cold', 'on', 'off', 'status'],
    run: fast,
  },
  {
    name: 'personality',
    needs: 'configure',
    takes: '[name | none]',
    summary: 'choose how it speaks',
    category: 'configuration',
    surfaces: ownSurfaces,
    busy: 'allowed',
    completes: 'personality',
    run: personality,
  },
  {
    name: 'skin',
    needs: 'configure',
    takes: '[name]',
    summary: 'choose the colours of the terminal chat',
    category: 'configuration',
    surfaces: terminals,
    busy: 'allowed',
    completes: ['default', 'forest', 'dusk', 'mono'],
    run: (invocation) => setting(invocation, { key: 'display.skin', what: 'Skin', values: ['default', 'forest', 'dusk', 'mono'] }),
  },
  {
    name: 'verbose',
    needs: 'converse',
    takes: '[off | new | all | verbose]',
    summary: 'how much of tools is shown; bare = the next of the four',
    category: 'configuration',
    surfaces: terminals,
    busy: 'allowed',
    local: true,
    completes: ['off', 'new', 'all', 'verbose'],
  },
  {
    name: 'busy',
    needs: 'configure',
    takes: '[queue | interrupt | steer]',
    summary: 'what a prompt does while a turn runs',
    category: 'configuration',
    surfaces: ownSurfaces,
    busy: 'allowed',
    completes: ['queue', 'interrupt', 'steer'],
    run: (invocation) =>
      setting(invocation, { key: 'display.busy_input_mode', what: 'Busy input', values: ['queue', 'interrupt', 'steer'], absent: 'queue' }),
  },
  {
    name: 'yolo',
    exact: true,
    needs: 'administer',
    takes: '[on [now] | off]',
    summary: 'run dangerous commands without asking, in every conversation of this profile',
    category: 'configuration',
    surfaces: ownSurfaces,
    busy: 'allowed',
    completes: ['on', 'off'],
    run: yolo,
  },
  {
    name: 'config',
    exact: true,
    needs: (args) => (/\s/.test(args.trim()) && !SHAPES_ANSWERS.test(args) ? 'administer' : 'configure'),
    takes: '[key [value]]',
    summary: 'show or set a key of config.yaml',
    category: 'configuration',
    surfaces: talking,
    busy: 'allowed',
    async run({ host, args, name }) {
      const [key, value] = split(args);
      if (!key) throw usage({ name, takes: '<key> [value]' }, 'which key? `agent config check` lists what is set');
      if (!value) return text(`${key}: ${shown((await host.call('config.get', { key })).value)}`);
      const set = await host.call('config.set', { key, value: scalar(value), scope: 'global' });
      return text([`${key}: ${shown(set.value)}`, set.warning].filter(Boolean).join('\n'));
    },
  },
];

async function model({ host, args }: Invocation): Promise<CommandResult> {
  if (!args || args === '--refresh') return modelChoices(host, args === '--refresh');
  // Where the owner keeps every pick for good, that of a chat is still its own.
  const scoped = may(host.principal, 'configure') || /(?:^|\s)--(?:session|once)(?:\s|$)/.test(args) ? args : `${args} --session`;
  const set = await host.call('config.set', { key: 'model', value: scoped });
  const where = { session: 'for this conversation', once: 'for the next turn', global: 'for every new conversation' }[set.scope] ?? '';
  const level = set.info?.reasoning_effort;
  return text(
    [`Model: ${shown(set.value)}${level ? `, reasoning ${level},` : ''} ${where}`.trim(), set.warning].filter(Boolean).join('\n'),
    set,
  );
}

async function modelChoices(host: Invocation['host'], refresh: boolean): Promise<CommandResult> {
  const { current, providers, aliases } = await host.call('model.options', refresh ? { refresh } : {});
  const now = current.model
    ? `Model: ${current.provider}:${current.model}${current.reasoning ? `, reasoning ${current.reasoning}` : ''}`
    : 'No model is in use.';
  const choices = providers
    .filter(({ usable }) => usable)
    .flatMap(({ name: provider, models }) => models.map(({ id }) => ({ label: `${provider}:${id}`, line: `/model ${provider}:${id}` })))
    .slice(0, CHOICES_MAX);
  const short = Object.entries(aliases).map(([alias, target]) => `${alias} = ${target}`);
  const missing = providers.filter(({ usable }) => !usable).map(({ name: provider, problem }) => `${provider}: ${problem}`);
  return {
    kind: 'choice',
    text: [now, ...(short.length ? [`Aliases: ${short.join(', ')}`] : []), ...missing].join('\n'),
    data: { current },
    choices,
  };
}

async function reasoning({ host, args, name }: Invocation): Promise<CommandResult> {
  const [word, rest] = split(args.toLowerCase());
  if (word === 'show' || word === 'hide') {
    await host.call('config.set', { key: 'display.show_reasoning', value: word === 'show', scope: 'global' });
    return text(`Reasoning is ${word === 'show' ? 'shown' : 'hidden'}.`, { show_reasoning: word === 'show' });
  }
  if (!word) return text(`Reasoning: ${shown((await host.call('config.get', { key: 'reasoning' })).value)} (${levels.join(', ')})`);
  if (!levels.includes(word)) throw usage({ name, takes: `[${levels.join(' | ')} | show | hide]` }, `there is no level "${word}"`);
  const set = await host.call('config.set', {
    key: 'reasoning',
    value: word,
    ...(rest === '--global' ? { scope: 'global' as const } : {}),
  });
  return text(
    [`Reasoning: ${shown(set.value)}${set.scope === 'global' ? ' for every conversation' : ''}`, set.warning].filter(Boolean).join('\n'),
  );
}

/** Interface spec: `auto`, `cold`, plus the static toggle; bare switches it over. */
async function fast({ host, args, name }: Invocation): Promise<CommandResult> {
  const word = { fast: 'on', normal: 'off' }[args.toLowerCase()] ?? args.toLowerCase();
  const state = (value: unknown) =>
    value === 'fast' || value === true ? 'on' : value === 'normal' || value === false || value === null ? 'off' : String(value);
  if (word === 'status') return text(`Fast: ${state((await host.call('config.get', { key: 'fast' })).value)}`);
  if (word && !['auto', 'cold', 'on', 'off'].includes(word))
    throw usage({ name, takes: '[auto | cold | on | off | status]' }, `there is no mode "${args}"`);
  const value = word || (state((await host.call('config.get', { key: 'fast' })).value) === 'off' ? 'on' : 'off');
  const set = await host.call('config.set', { key: 'fast', value });
  return text([`Fast: ${state(set.value)}`, set.warning].filter(Boolean).join('\n'));
}

async function personality({ host, args }: Invocation): Promise<CommandResult> {
  const known = host.personalities();
  const current = (await host.call('config.get', { key: 'display.personality' })).value;
  if (!args) {
    const rows = Object.entries(known).map(
      ([name, says]) => `${name === current ? '*' : ' '} ${name}  ${says.split('\n')[0]!.slice(0, 80)}`,
    );
    return text(rows.join('\n') || 'No personality is defined: see `personalities` in config.yaml.');
  }
  if (args !== 'none' && !Object.hasOwn(known, args))
    throw new AgentError('NOT_FOUND', `there is no personality "${args}"`, { fix: `one of ${[...Object.keys(known), 'none'].join(', ')}` });
  await host.call('config.set', { key: 'display.personality', value: args === 'none' ? '' : args, scope: 'global' });
  return text(args === 'none' ? 'No personality.' : `Personality: ${args}. New conversations have it.`);
}

async function yolo({ host, args, name }: Invocation): Promise<CommandResult> {
  const now = (await host.call('config.get', { key: 'approvals.mode' })).value;
  const [wanted, confirmed] = split(args.toLowerCase() || (now === 'off' ? 'off' : 'on'));
  if ((wanted !== 'on' && wanted !== 'off') || !/^(?:now)?$/.test(confirmed))
    throw usage({ name, takes: '[on [now] | off]' }, `"${args}" is neither on nor off`);
  if (wanted === 'on' && confirmed === '') {
    return {
      kind: 'choice',
      text: 'Dangerous commands of every conversation of this profile will run without approval, until `/yolo off`. Turn approvals off?',
      choices: [
        { label: 'Keep approvals', line: '' },
        { label: 'Turn approvals off', line: '/yolo on now' },
      ],
    };
  }
  await host.call('config.set', { key: 'approvals.mode', value: wanted === 'on' ? 'off' : 'manual', scope: 'global' });
  return text(
    wanted === 'on'
      ? 'Dangerous commands run without asking, in every conversation of this profile. What is never allowed stays refused. /yolo off ends it.'
      : 'Dangerous commands are asked about again.',
  );
}

async function setting(
  { host, args, name }: Invocation,
  { key, what, values, absent = values[0]! }: { key: string; what: string; values: string[]; absent?: string },
): Promise<CommandResult> {
  const word = args.toLowerCase();
  if (!word) return text(`${what}: ${shown((await host.call('config.get', { key })).value ?? absent)} (${values.join(', ')})`);
  if (!values.includes(word)) throw usage({ name, takes: `[${values.join(' | ')}]` }, `"${args}" is none of them`);
  await host.call('config.set', { key, value: word, scope: 'global' });
  return text(`${what}: ${word}`, { [key]: word });
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? 'not set' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** As config.yaml would read it. */
function scalar(value: string): string | number | boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  return /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}
