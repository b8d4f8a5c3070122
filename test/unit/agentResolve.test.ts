import t from 'tap';
import { resolveModel, usableProviders, type ResolveInput } from '../../agent/models/resolve.ts';
import { pauseMs, retryAfterMs } from '../../agent/models/retry.ts';
import { titleOf } from '../../agent/title.ts';

const given = (more: Partial<ResolveInput> & { secrets?: Record<string, string> } = {}): ResolveInput => ({
  secret: (name) => more.secrets?.[name],
  demo: false,
  envFile: '/home/u/.agent/.env',
  ...more,
});
const box = { base_url: 'http://127.0.0.1:8080/v1' };

const table: { name: string; input: ResolveInput; want: object }[] = [
  {
    name: 'nothing at all',
    input: given(),
    want: {
      kind: 'none',
      message: /no_provider_configured/,
      fix: /OPENAI_API_KEY=.*\/home\/u\/\.agent\/\.env.*agent config set providers/,
    },
  },
  { name: 'nothing, with the rehearsal on offer', input: given({ demo: true }), want: { kind: 'rehearsal', because: null } },
  {
    name: 'a local server without a key',
    input: given({ model: 'm', providers: { box } }),
    want: { kind: 'endpoint', settings: { provider: 'box', model: 'm', baseUrl: box.base_url, apiKey: undefined } },
  },
  {
    name: 'a configured provider stands over the rehearsal',
    input: given({ demo: true, model: 'm', providers: { box } }),
    want: { kind: 'endpoint', settings: { provider: 'box' } },
  },
  {
    name: 'the key comes from the secret it names',
    input: given({ model: 'm', providers: { box: { ...box, key_env: 'BOX_KEY' } }, secrets: { BOX_KEY: 'k' } }),
    want: { kind: 'endpoint', settings: { apiKey: 'k' } },
  },
  {
    name: 'a named provider without its key is not replaced by another',
    input: given({ provider: 'box', model: 'm', providers: { box: { ...box, key_env: 'BOX_KEY' }, other: box } }),
    want: { kind: 'none', because: /needs BOX_KEY/ },
  },
  {
    name: 'but by the rehearsal, which says why',
    input: given({ demo: true, provider: 'box', model: 'm', providers: { box: { ...box, key_env: 'BOX_KEY' } } }),
    want: { kind: 'rehearsal', because: /needs BOX_KEY/ },
  },
  {
    name: 'without a named one the first usable serves',
    input: given({ model: 'm', providers: { a: { ...box, key_env: 'A' }, b: box } }),
    want: { kind: 'endpoint', settings: { provider: 'b' } },
  },
  {
    name: 'the one that lists the model goes first',
    input: given({ model: 'm', providers: { a: box, b: { ...box, models: ['m'] } } }),
    want: { kind: 'endpoint', settings: { provider: 'b' } },
  },
  {
    name: 'a configured provider stands over the key of the host',
    input: given({ model: 'm', providers: { box }, secrets: { OPENAI_API_KEY: 'sk' } }),
    want: { kind: 'endpoint', settings: { provider: 'box' } },
  },
  {
    name: 'the key of the host alone',
    input: given({ secrets: { OPENAI_API_KEY: 'sk' } }),
    want: { kind: 'endpoint', settings: { provider: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: 'sk', model: 'gpt-5' } },
  },
  {
    name: 'the choice of a session stands over the configuration',
    input: given({ model: 'm', provider: 'a', providers: { a: box, b: box }, session: { model: 'n', provider: 'b' } }),
    want: { kind: 'endpoint', settings: { provider: 'b', model: 'n' } },
  },
  { name: 'the rehearsal named outright', input: given({ provider: 'demo', model: 'rehearsal' }), want: { kind: 'rehearsal' } },
  { name: 'a provider that is not there', input: given({ provider: 'nope' }), want: { kind: 'none', because: /not under providers/ } },
  {
    name: 'a kind that is not spoken',
    input: given({ provider: 'a', providers: { a: { kind: 'smoke-signals' } } }),
    want: { kind: 'none', because: /does not speak/ },
  },
  { name: 'no model chosen', input: given({ providers: { box } }), want: { kind: 'none', because: /set model\.default/ } },
  {
    name: 'the first model of the provider when none is chosen',
    input: given({ providers: { box: { ...box, models: ['small', 'large'] } } }),
    want: { kind: 'endpoint', settings: { model: 'small' } },
  },
  {
    name: 'headers are filled from secrets',
    input: given({
      model: 'm',
      providers: { box: { ...box, headers: { 'X-Key': '${BOX}', 'X-Other': '${env:NOT_SET}' } } },
      secrets: { BOX: 'v' },
    }),
    want: { kind: 'endpoint', settings: { headers: { 'X-Key': 'v', 'X-Other': '${env:NOT_SET}' } } },
  },
];

t.test('each row of provider resolution', async (t) => {
  for (const { name, input, want } of table) t.match(resolveModel(input), want, name);
  t.same(usableProviders(given({ providers: { a: box, b: { ...box, key_env: 'NONE' } }, secrets: { OPENAI_API_KEY: 'sk' } })), [
    'a',
    'openai',
  ]);
});

t.test('retries: how long to wait', async (t) => {
  t.equal(retryAfterMs({ 'retry-after': '2' }), 2_000);
  t.equal(retryAfterMs({ 'retry-after-ms': '150' }), 150);
  t.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 1970 00:00:05 GMT' }, 2_000), 3_000);
  t.equal(retryAfterMs({ 'retry-after': 'soon' }), undefined);
  t.equal(retryAfterMs(undefined), undefined);
  t.equal(pauseMs(0, 2_000), 2_000, 'what the provider asks for');
  t.equal(pauseMs(0, 3_600_000), undefined, 'an hour is reported, not waited for');
  t.same(
    [0, 1, 2, 9].map((attempt) => pauseMs(attempt, undefined, () => 1)),
    [500, 1_000, 2_000, 8_000],
  );
  t.equal(
    pauseMs(3, undefined, () => 0),
    0,
    'full jitter',
  );
});

t.test('a title is the first readable line, cut between words', async (t) => {
  t.same(
    ['hello', '## Fix the **login** page\n\ndetails', '\n\n  `npm ci` fails  ', 'word '.repeat(30), 'x'.repeat(80), '   '].map(titleOf),
    ['hello', 'Fix the login page', 'npm ci fails', 'word word word word word word word word word word…', `${'x'.repeat(50)}…`, undefined],
  );
});
