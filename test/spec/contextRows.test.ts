/** Rows of the interface spec about what a prompt is made of, and about skills. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { contextText } from '../../agent/context/contextText.ts';
import { contextBreakdown } from '../../ipc/contracts/rpcSessions.ts';
import { skillsList, skillView } from '../../ipc/contracts/rpcTools.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { connect } from '../harness/agentClient.ts';
import { cliService } from '../harness/cliService.ts';
import { errorOf } from '../harness/cli.ts';
import { freePort, testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const provider = await startOpenAi();
const skill = (front: string) => `---\ndescription: d\n${front}\n---\nDo it.\n`;
const ours = (text: string) => skill(`metadata: { agent: { ${text} } }`);
const home = testHome({
  'config.yaml': `model: { default: tiny-1, provider: box }\nproviders: { box: { base_url: "${provider.url}", context_window: { tiny-1: 1000 } } }\nskills: { upstream_base_url: "http://127.0.0.1:${await freePort()}" }\n`,
  'SOUL.md': 'You are Ada.\n',
  'skills/linux/SKILL.md': skill('platforms: [linux, macos]'),
  'skills/beyond/SKILL.md': skill('platforms: [windows]'),
  'skills/kanban/SKILL.md': skill('environments: [kanban]'),
  'skills/alone/SKILL.md': skill('environments: [supervisor]'),
  'skills/irconly/SKILL.md': ours('session_platforms: [irc]'),
  'skills/remote/SKILL.md': ours('upstream: { repo: acme/skills, path: a/b }'),
  'skills/brief/SKILL.md': ours(
    'blueprint: { key: brief, schedule: "every day at {at}", prompt: "News of {topic}", slots: { at: { kind: time, default: "07:30" }, topic: { kind: text, default: tea } } }',
  ),
});
const project = join(home.root, '..', 'project');
mkdirSync(project);
writeFileSync(join(project, 'AGENTS.md'), 'Use tabs.\n');
writeFileSync(join(project, 'CLAUDE.md'), 'Use spaces.\n');
const worker = await startWorker(home, 'agent');
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('rpc.10 session.context_breakdown answers categories and a context_files list with load status, size and token cost', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', cwd: project });
  await client.turn(session_id, 'hello');
  const answer = await client.link.call(contextBreakdown, { session_id });
  t.match(
    answer.categories.map(({ id }) => id),
    ['identity', 'guidance', 'skills', 'context_files', 'date', 'platform', 'tools', 'messages'],
  );
  for (const category of answer.categories) t.ok(category.bytes > 0 && category.tokens > 0, category.label);
  t.match(answer.context_files, [
    { label: 'SOUL.md', path: join(home.root, 'SOUL.md'), loaded: true, status: 'loaded', chars: 12 },
    { label: 'MEMORY.md', loaded: false, status: 'missing', chars: 0, est_tokens: 0 },
    { label: 'USER.md', loaded: false, status: 'missing' },
    { label: 'AGENTS.md', path: join(project, 'AGENTS.md'), loaded: true, status: 'loaded', chars: 9, est_tokens: 3 },
    { label: 'CLAUDE.md', loaded: false, status: 'shadowed by AGENTS.md' },
  ]);
  t.match(answer, { context_source: 'provider', model: 'tiny-1' });
});

t.test('slash.9 /context is a category table and a listing of the files, from the same numbers', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', cwd: project });
  await client.turn(session_id, 'hello');
  const answer = await client.link.call(contextBreakdown, { session_id });
  const text = contextText({ ...answer, context_max: 1_000, context_percent: 1.1 });
  t.match(text, /^tiny-1: ░{20} 11 of 1,000 tokens, 1\.1 % \(as the provider counted\)\n\nPart +Tokens +Size\n/);
  for (const { label, bytes } of answer.categories) t.ok(text.includes(label) && text.includes(bytes.toLocaleString('en-US')), label);
  for (const { path, status } of answer.context_files) t.ok(text.includes(`${path}: ${status}`), path);
  t.match(
    contextText(answer)
      .split('\n')
      .find((line) => line.startsWith('Total')),
    new RegExp(`~${answer.estimated_total.toLocaleString('en-US')} `),
  );
});

t.test('other.1 skill frontmatter: platforms, environments, session_platforms, upstream and blueprint', async (t) => {
  using client = await connect(worker);
  const hidden = async (platform?: string) => {
    const { skills } = await client.link.call(skillsList, platform ? { platform } : {});
    return Object.fromEntries(skills.map(({ name, hidden_because }) => [name, hidden_because?.split(':')[0] ?? null]));
  };
  const anywhere = {
    linux: null,
    beyond: 'platforms',
    kanban: 'environments',
    alone: 'environments',
    irconly: null,
    remote: null,
    brief: null,
  };
  t.same(await hidden(), anywhere, 'an unknown platform keeps it visible');
  t.same(await hidden('irc'), anywhere);
  t.same(await hidden('slack'), { ...anywhere, irconly: 'session_platforms' });
  t.match(
    (await client.link.call(skillsList, {})).skills.find(({ name }) => name === 'brief'),
    { has_blueprint: true },
  );
  await t.rejects(
    client.link.call(skillView, { name: 'remote' }),
    { code: 'SKILL_UNREACHABLE', message: /SKILL\.md of acme\/skills/ },
    'its files are fetched live',
  );
});

t.test('cli.8 prompt-size reports the fixed prompt budget; --platform and --json', async (t) => {
  await using service = cliService({ 'SOUL.md': 'You are Ada.\n' });
  const json = await service.agent('prompt-size', '--json');
  t.equal(json.code, 0, json.stderr);
  const size = JSON.parse(json.stdout) as {
    platform: string;
    total_bytes: number;
    total_tokens: number;
    categories: { id: string; bytes: number }[];
    tools: { name: string }[];
  };
  t.match(size, { platform: 'cli', categories: [{ id: 'identity' }], tools: [{ name: String, bytes: Number, tokens: Number }] });
  t.ok(size.total_bytes <= 24_000, `${size.total_bytes} bytes`);
  t.equal(
    size.total_bytes,
    size.categories.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const irc = JSON.parse((await service.agent('prompt-size', '--platform', 'irc', '--json')).stdout) as typeof size;
  t.equal(irc.platform, 'irc');
  t.notOk(
    irc.tools.some(({ name }) => name === 'read_file'),
    'the tools of that platform',
  );
  const text = await service.agent('prompt-size', '--cwd', project);
  t.match(text.stdout, /BYTES +TOKENS +PART\n[\s\S]*Total on cli\n[\s\S]*TOOL\n[\s\S]*loaded +.*project\/AGENTS\.md/);
  t.match(errorOf(await service.agent('prompt-size', '--cwd', '/nowhere', '--json')), { code: 'BAD_REQUEST' });
  t.match(
    (await service.status()).workers.map(({ slot }) => slot),
    ['agent'],
    'the agent worker alone was started',
  );
});
