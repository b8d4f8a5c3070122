/** A conversation in safe mode ignores what config.yaml and the owner chose for all others. Each setting is proved by its effect. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sessionResume } from '../../ipc/contracts/rpc.ts';
import { approvalRules } from '../../ipc/contracts/rpcRequests.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { answerApproval, connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const call = (name: string, args: object) => ({ toolCalls: [{ name, args: JSON.stringify(args) }] });

t.test('model, provider, reasoning, instructions, toolsets and approvals.mode of config.yaml do not hold', async (t) => {
  await using first = await startOpenAi();
  await using second = await startOpenAi();
  using home = testHome({
    'config.yaml': `model: { default: big, provider: second }
providers: { first: { base_url: "${first.url}", models: [plain] }, second: { base_url: "${second.url}" } }
agent: { reasoning_effort: high, disabled_toolsets: [terminal], system_prompt: "Speak like a pirate." }
approvals: { mode: "off" }
quick_commands: { build: { type: exec, command: "true" } }
`,
  });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const usual = await client.create();
  await client.turn(usual, 'hi');
  t.equal(second.requests.length, 1, 'other conversations follow the configuration');
  t.match(JSON.stringify(second.requests[0]!.body), /pirate/);

  const safe = await client.create({ source: 'cli', safe_mode: true });
  t.match((await client.link.call(sessionResume, { session_id: safe })).info, {
    safe_mode: true,
    provider: 'first',
    model: 'plain',
    reasoning_effort: null,
    approval_mode: 'manual',
  });
  const dir = join(home.root, 'kept');
  mkdirSync(dir);
  writeFileSync(join(dir, 'file'), '');
  first.answer(call('terminal', { command: `rm -r ${dir}` }), { text: 'done' });
  const turn = client.turn(safe, 'clean up');
  t.match(await answerApproval(client, safe, 'deny'), { command: `rm -r ${dir}` });
  t.match((await turn).complete, { status: 'complete', text: 'done' });
  t.same(readdirSync(dir), ['file']);
  t.equal(second.requests.length, 1);
  t.notMatch(JSON.stringify(first.requests[0]!.body), /pirate/);
  t.notMatch(first.requests[0]!.body, { reasoning_effort: 'high' });
});

t.test('rules that were kept for good do not hold, and none are made', async (t) => {
  await using provider = await startOpenAi();
  using home = testHome({ 'config.yaml': `model: { default: m }\nproviders: { box: { base_url: "${provider.url}", models: [m] } }\n` });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const turn = async (session: string, choice: 'always' | 'session' | undefined) => {
    provider.answer(call('terminal', { command: 'pkill -f no-such-program-8842' }), { text: 'done' });
    const running = client.turn(session, 'stop it');
    const asked = choice && (await answerApproval(client, session, choice));
    t.match((await running).complete, { status: 'complete' });
    return asked?.choices;
  };
  const usual = await client.create();
  t.same(await turn(usual, 'always'), ['once', 'session', 'always', 'deny']);
  t.equal((await client.link.call(approvalRules, {})).rules.length, 1);
  await turn(await client.create(), undefined);

  const safe = await client.create({ source: 'cli', safe_mode: true });
  t.same(await turn(safe, 'session'), ['once', 'session', 'deny'], 'asked again, and never for good');
  await turn(safe, undefined);
  t.equal((await client.link.call(approvalRules, {})).rules.length, 1);
});
