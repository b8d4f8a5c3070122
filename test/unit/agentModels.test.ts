import t from 'tap';
import { findLocalServers, listModels } from '../../agent/models/catalog.ts';
import { mergedFacts, tableFacts, writtenFacts } from '../../agent/models/facts.ts';
import { localKinds, type ProviderKind } from '../../agent/models/kinds.ts';
import { parseModelName } from '../../agent/models/modelName.ts';
import { clampLevel, levelsOf } from '../../agent/models/reasoning.ts';
import { resolveModel, resolveNamed, type ResolveInput } from '../../agent/models/resolve.ts';
import { isWelcome } from '../../agent/models/routes.ts';
import { parseModelWords } from '../../services/agent/modelSwitch.ts';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import { startGoogle } from '../fakes/googleServer.ts';
import { startOpenAiWith } from '../fakes/openaiServer.ts';
import { settingsFor } from '../harness/modelChain.ts';

const given = ({ secrets = {}, ...more }: Partial<ResolveInput> & { secrets?: Record<string, string> } = {}): ResolveInput => ({
  secret: (name) => secrets[name],
  demo: false,
  envFile: '.env',
  ...more,
});

t.test('each way to name a model', async (t) => {
  const names = {
    providers: { box: {}, 'my-lab': { kind: 'openai-compatible' } },
    aliases: { fast: 'box:tiny', sonnet: 'my-lab:own', loop: 'pool', pool: 'loop' },
  };
  const table: [string, string | undefined, string][] = [
    ['gpt-5', undefined, 'gpt-5'],
    ['box:large', 'box', 'large'],
    ['openai:gpt-5', 'openai', 'gpt-5'],
    ['qwen3:8b', undefined, 'qwen3:8b'],
    ['ollama:qwen3:8b', 'ollama', 'qwen3:8b'],
    ['maker/model:free', undefined, 'maker/model:free'],
    ['custom:large', 'box', 'large'],
    ['custom:my-lab:large', 'my-lab', 'large'],
    ['fast', 'box', 'tiny'],
    ['sonnet', 'my-lab', 'own'],
    ['opus', 'anthropic', 'claude-opus-5'],
    ['loop', undefined, 'loop'],
    ['box:', 'box', ''],
  ];
  t.same(
    table.map(([text]) => [text, parseModelName(text, names).provider, parseModelName(text, names).model]),
    table,
  );
});

t.test(
  'hosts with a key alone: the maker of the wanted model goes first; a found server comes after them, the rehearsal last',
  async (t) => {
    const keys = { OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: 'a', GEMINI_API_KEY: 'g', OPENROUTER_API_KEY: 'r' };
    const detected = [{ kind: 'ollama' as const, baseUrl: 'http://127.0.0.1:11434/v1', models: ['qwen3:8b'] }];
    const found = (input: ResolveInput) => {
      const resolution = resolveModel(input);
      return resolution.kind === 'endpoint' ? `${resolution.settings.provider}:${resolution.settings.model}` : resolution.kind;
    };
    t.same(
      [
        found(given({ secrets: keys })),
        found(given({ secrets: keys, model: 'claude-opus-5' })),
        found(given({ secrets: keys, model: 'gemini-2.5-flash' })),
        found(given({ secrets: keys, model: 'maker/model' })),
        found(given({ secrets: { GEMINI_API_KEY: 'g' } })),
        found(given({ secrets: keys, detected })),
        found(given({ detected, demo: true })),
        found(given({ detected, model: 'gpt-5' })),
        found(given({ demo: true })),
      ],
      [
        'openai:gpt-5',
        'anthropic:claude-opus-5',
        'google:gemini-2.5-flash',
        'openrouter:maker/model',
        'google:gemini-flash-latest',
        'openai:gpt-5',
        'ollama:qwen3:8b',
        'ollama:qwen3:8b',
        'rehearsal',
      ],
    );
  },
);

t.test('a pool is the key of the provider and those beside it; what is not set or is there twice does not count', async (t) => {
  const providers = { box: { base_url: 'http://h/v1', key_env: 'K1', pool: ['K2', 'K3', 'K4'], models: ['m'] } };
  const settings = resolveNamed('box', given({ providers, secrets: { K1: 'one', K2: 'two', K4: 'one' } }));
  t.match(settings, { apiKey: 'one', keys: [{ env: 'K1' }, { env: 'K2' }] });
  t.match(resolveNamed('box:other', given({ providers, secrets: { K2: 'two' } })), { model: 'other', apiKey: 'two', keyEnv: 'K2' });
  t.match(resolveNamed('box', given({ providers })), /needs K1/);
});

t.test('reasoning levels: the nearest that a model has, lower before higher', async (t) => {
  const table: [ProviderKind, string, string, string | undefined][] = [
    ['openai', 'gpt-5', 'none', 'minimal'],
    ['openai', 'gpt-5', 'xhigh', 'high'],
    ['openai', 'gpt-5.2', 'max', 'xhigh'],
    ['openai', 'gpt-5-pro', 'low', 'high'],
    ['openai', 'gpt-4o', 'high', undefined],
    ['openai-chat', 'o3', 'minimal', 'low'],
    ['anthropic', 'claude-sonnet-4-5', 'max', 'max'],
    ['anthropic', 'claude-opus-4-6', 'xhigh', 'high'],
    ['anthropic', 'claude-3-haiku-20240307', 'low', undefined],
    ['google', 'gemini-2.5-pro', 'none', 'minimal'],
    ['google', 'gemini-3-pro-preview', 'medium', 'low'],
    ['openrouter', 'maker/any', 'max', 'xhigh'],
    ['ollama', 'qwen3:8b', 'max', 'high'],
    ['ollama', 'gpt-oss:20b', 'none', 'low'],
  ];
  t.same(
    table.map(([kind, model, level]) => [kind, model, level, clampLevel(level, levelsOf(kind, model))]),
    table,
  );
  t.equal(clampLevel('loads', levelsOf('openai', 'gpt-5')), undefined);
});

t.test('lists of models are read in each shape, with what they say of a model', async (t) => {
  const signal = new AbortController().signal;
  await using claude = await startAnthropic();
  await using gemini = await startGoogle();
  await using router = await startOpenAiWith([
    {
      id: 'maker/model',
      name: 'Model',
      context_length: 64_000,
      pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
      architecture: { input_modalities: ['text', 'image'] },
      supported_parameters: ['tools'],
      top_provider: { max_completion_tokens: 8_000 },
    },
    { id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } },
  ]);
  t.match(await listModels(settingsFor('anthropic', claude.url), signal), [
    { id: 'claude-sonnet-4-5', name: 'Claude Sonnet 4.5' },
    { id: 'claude-next', contextWindow: 500_000 },
  ]);
  t.match(await listModels(settingsFor('google', gemini.url), signal), [
    { id: 'gemini-2.5-flash', contextWindow: 1_048_576, maxOutput: 65_536 },
  ]);
  t.match(await listModels(settingsFor('openrouter', router.url), signal), [
    {
      id: 'maker/model',
      contextWindow: 64_000,
      maxOutput: 8_000,
      vision: true,
      tools: true,
      price: { input: 1, output: 2, cacheRead: 0.1 },
    },
    { id: 'openrouter/auto', price: null },
  ]);
});

t.test('servers on this machine are found where they say what they are; anybody else on those ports is left alone', async (t) => {
  const signal = new AbortController().signal;
  await using llama = await startOpenAiWith([{ id: 'own-model', object: 'model', owned_by: 'llamacpp', meta: { n_ctx_train: 4_096 } }]);
  await using stranger = await startOpenAiWith([{ id: 'gpt-5', object: 'model', owned_by: 'openai' }]);
  const port = (url: string) => Number(new URL(url).port);
  const nowhere = 9;
  const look = (ports: Partial<Record<ProviderKind, number>>) => findLocalServers(signal, (kind) => ports[kind] ?? nowhere);
  t.same(await look({ llamacpp: port(llama.url) }), [{ kind: 'llamacpp', baseUrl: llama.url, models: ['own-model'] }]);
  t.same(await look({ llamacpp: port(stranger.url), ollama: port(stranger.url) }), []);
  t.same(await look({ lmstudio: port(stranger.url) }), [{ kind: 'lmstudio', baseUrl: stranger.url, models: ['gpt-5'] }]);
  t.same(localKinds, ['ollama', 'lmstudio', 'llamacpp']);
});

t.test('windows and prices: the configuration stands over the provider, and that over the built-in table', async (t) => {
  const written = writtenFacts({ context_window: { m: 1_000 }, prices: { m: { input: 1, output: 2 } } }, 'm');
  t.match(mergedFacts(written, { contextWindow: 2_000, maxOutput: 500 }, { contextWindow: 3_000, vision: true }), {
    contextWindow: 1_000,
    maxOutput: 500,
    vision: true,
    price: { input: 1, output: 2, cacheRead: null },
  });
  t.match(
    await tableFacts('anthropic', 'claude-sonnet-4'),
    { contextWindow: 200_000, price: { input: 3, output: 15, cacheRead: 0.3 } },
    'by its dated name',
  );
  t.match(await tableFacts('openai', 'gpt-5-2025-08-07'), { contextWindow: 400_000 }, 'without its date');
  t.same(await tableFacts('llamacpp', 'own-model'), { contextWindow: null });
  t.match(await tableFacts('anthropic', 'claude-sonnet-9'), { contextWindow: 200_000 }, 'younger than the table');
});

t.test('words of a model switch', async (t) => {
  t.match(parseModelWords('gpt-5 --provider box --reasoning=high --global'), {
    name: 'gpt-5',
    provider: 'box',
    reasoning: 'high',
    scope: 'global',
  });
  t.match(parseModelWords('--reasoning low'), { name: '', reasoning: 'low', scope: undefined });
  for (const text of ['gpt-5 --provider', 'one two', 'gpt-5 --loud']) t.throws(() => parseModelWords(text), { code: 'BAD_REQUEST' }, text);
});

t.test('the host of the free tier is told by its name alone', async (t) => {
  const hosts = new Set(['welcome.example']);
  t.same(
    ['https://welcome.example/v1', 'https://WELCOME.example:8443/v1', 'https://welcome.example.evil/v1', 'not a url'].map((baseUrl) =>
      isWelcome({ baseUrl }, hosts),
    ),
    [true, true, false, false],
  );
});
