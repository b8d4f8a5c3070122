import t from 'tap';
import { cliService } from '../harness/cliService.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';

await using openai = await startOpenAi();
await using service = cliService({
  '.env': 'GPT_KEY=sk-gpt-secret\n',
  'config.yaml': `model: { default: gpt-5, provider: gpt }
providers:
  gpt: { kind: openai, base_url: "${openai.url}", key_env: GPT_KEY }
  claude: { kind: anthropic, key_env: CLAUDE_KEY }
model_catalog: { detect_local: false }
`,
});

await t.test('cli.12 agent model shows, lists and sets models, with the reasoning level, for the main model and side tasks', async (t) => {
  const agent = (...args: string[]) => service.agent('model', ...args);
  const shown = async (...args: string[]) => JSON.parse((await agent(...args, '--json')).stdout) as object;
  t.match(await shown('show'), { provider: 'gpt', model: 'gpt-5', reasoning: { asked: null, sent: null } });
  t.match(await shown('set', 'gpt-5-mini', '--reasoning', 'max'), {
    provider: 'gpt',
    model: 'gpt-5-mini',
    reasoning: { asked: 'max', sent: 'high' },
  });
  t.match(await shown('set', 'gpt:gpt-4o', '--for', 'title', '--reasoning', 'low'), {
    model: 'gpt-5-mini',
    auxiliary: { title: { provider: 'gpt', model: 'gpt-4o', reasoning_effort: 'low' } },
  });
  t.match(await shown('list', '--all'), {
    providers: [
      { name: 'gpt', usable: true, models: [{ id: 'gpt-5', reasoning: ['minimal', 'low', 'medium', 'high'] }, { id: 'gpt-4o' }] },
      { name: 'claude', usable: false, problem: /needs CLAUDE_KEY/ },
    ],
  });
  const bad = await agent('set', 'gpt-5', '--reasoning', 'loads', '--json');
  t.match([bad.code, bad.stderr], [2, /MODEL_SWITCH_ERR_BAD_REASONING/]);
  const other = await agent('set', 'claude:claude-sonnet-5', '--for', 'title');
  t.match([other.code, other.stderr], [1, /claude\S* cannot be used: .*CLAUDE_KEY/]);
  const bare = await agent();
  t.match([bare.code, bare.stdout], [0, /gpt:gpt-5-mini/], 'without a terminal it asks nothing');
});
