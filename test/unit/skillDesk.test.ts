/** Skills of a profile with its settings: what a session gets, what is written, what waits for review. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ToolRun } from '../../agent/ports.ts';
import type { StagedSkill } from '../../agent/skills/skillEdit.ts';
import type { Config } from '../../state/config/schema.ts';
import { createSkillDesk, type SkillDesk } from '../../services/agent/skills.ts';
import type { SessionRecord } from '../../services/agent/store.ts';
import type { WorkerContext } from '../../services/worker.ts';
import { testHome, type TestHome } from '../harness/home.ts';

const run: ToolRun = { callId: 'c', signal: new AbortController().signal, progress: () => {} };
const session = { id: 'ses_1', platform: null, safe_mode: 0 } as SessionRecord;

function desk(home: TestHome, config: Config = {}, staged?: StagedSkill[]): SkillDesk {
  const context = {
    home,
    paths: home,
    external: true,
    config: () => ({ config, unknown: [] }),
    secrets: () => ({ get: (name: string) => (name === 'HAVE_KEY' ? 'x' : undefined), names: () => [], values: () => [] }),
    log: { warn() {} },
    signal: new AbortController().signal,
  } as unknown as WorkerContext;
  return createSkillDesk(context, staged ? { stage: (change) => `stg_${staged.push(change)}` } : {});
}
const call = (from: SkillDesk, name: string, args: Record<string, unknown>) =>
  from
    .tools(session)
    .find((tool) => tool.name === name)!
    .run(args, run);
const skill = (name: string, more = '') => `---\nname: ${name}\ndescription: d\n${more}---\nDo it.\n`;

t.test('the agent makes, changes and removes skills; what it removed is kept aside', async (t) => {
  using home = testHome();
  const skills = desk(home);
  await call(skills, 'skill_manage', { action: 'create', name: 'brew', category: 'home', content: skill('brew') });
  const path = join(home.skills, 'home', 'brew', 'SKILL.md');
  t.equal(readFileSync(path, 'utf8'), skill('brew'));
  t.match(await call(skills, 'skill_manage', { action: 'patch', name: 'brew', old_string: 'Do it.', new_string: 'Boil.' }), {
    text: /^Changed: brew\./,
  });
  t.match(readFileSync(path, 'utf8'), /Boil\./);
  t.match(await call(skills, 'skill_manage', { action: 'edit', name: 'brew', file: 'references/tea.md', content: 'green' }), {
    text: /^Created: brew\/references\/tea\.md/,
  });
  t.match(await call(skills, 'skill_view', { name: 'brew' }), {
    text: /Boil\.[\s\S]*\[files, read with skill_view: references\/tea\.md\]/,
  });
  t.match(await call(skills, 'skill_manage', { action: 'delete', name: 'brew' }), { text: /^Removed: brew\./ });
  t.notOk(existsSync(path));
  const [kept] = readdirSync(join(home.skills, '.deleted'));
  t.ok(existsSync(join(home.skills, '.deleted', kept!, 'SKILL.md')));
  t.equal(skills.state().skills.size, 0, 'what was removed is not found again');
});

t.test('with memory.write_approval a change waits for its owner; without a place to wait it is refused', async (t) => {
  using home = testHome({ 'skills/a/SKILL.md': skill('a') });
  const config: Config = { memory: { write_approval: true } };
  const staged: StagedSkill[] = [];
  const skills = desk(home, config, staged);
  t.match(await call(skills, 'skill_manage', { action: 'patch', name: 'a', old_string: 'Do it.', new_string: 'Do more.' }), {
    text: /waits for the user's review \(stg_1\)/,
    isError: false,
  });
  await call(skills, 'skill_manage', { action: 'delete', name: 'a' });
  t.match(staged, [
    { kind: 'skill', name: 'a', action: 'patch', sessionId: 'ses_1', write: { path: 'a/SKILL.md', content: /Do more\./ } },
    { action: 'delete', write: { path: 'a', content: null } },
  ]);
  t.equal(readFileSync(join(home.skills, 'a', 'SKILL.md'), 'utf8'), skill('a'), 'nothing is written');
  await t.rejects(call(desk(home, config), 'skill_manage', { action: 'delete', name: 'a' }), { code: 'TOOL_REFUSED' });
});

t.test('a session gets what fits it: toolsets, platform, safe mode', async (t) => {
  using home = testHome({
    'skills/web/SKILL.md': skill('web', 'metadata: { agent: { requires_toolsets: [web] } }\n'),
    'skills/board/SKILL.md': skill('board', 'environments: [kanban]\n'),
    'skills/irc/SKILL.md': skill('irc', 'metadata: { agent: { session_platforms: [irc] } }\n'),
  });
  const skills = desk(home);
  const names = (to: Parameters<SkillDesk['offered']>[0]) =>
    skills
      .offered(to)
      .map(({ name }) => name)
      .toSorted((a, b) => (a < b ? -1 : 1));
  t.same(names({ platform: null, safe_mode: 0 }), ['irc', 'web'], 'toolsets that are not known are not asked about');
  t.same(names({ platform: 'slack', safe_mode: 0, toolsets: new Set(['terminal']) }), []);
  t.same(names({ platform: 'irc', safe_mode: 0, toolsets: new Set(['web', 'kanban']) }), ['board', 'irc', 'web']);
  t.same(names({ platform: null, safe_mode: 1 }), []);
  t.same(skills.tools({ ...session, safe_mode: 1 }), []);
  skills.remember('ses_1', new Set(['terminal']));
  t.match(await call(skills, 'skills_list', {}), { text: /^irc \(general\): d$/ });
  await t.rejects(call(skills, 'skills_list', { category: 'none' }), { code: 'NOT_FOUND' });
});

t.test('what a skill needs and .env does not have is said by name', async (t) => {
  using home = testHome({ 'skills/api/SKILL.md': skill('api', 'required_environment_variables: [HAVE_KEY, MISSING_KEY]\n') });
  const { text } = await call(desk(home), 'skill_view', { name: 'api' });
  t.match(text, /It needs MISSING_KEY, which \.env does not have/);
  t.notMatch(text, /needs.*HAVE_KEY/);
});

t.test('blueprints come from the skills that are offered', async (t) => {
  const blueprint =
    'metadata: { agent: { blueprint: { schedule: "every day at {at}", slots: { at: { kind: time, default: "07:30" } } } } }\n';
  using home = testHome({ 'skills/news/SKILL.md': skill('news', blueprint), 'skills/off/SKILL.md': skill('off', blueprint) });
  t.match(desk(home, { skills: { disabled: ['off'] } }).blueprints(), [
    { skill: 'news', blueprint: { key: 'news', slots: { at: { kind: 'time', default: '07:30' } } } },
  ]);
  t.equal(desk(home).blueprints().length, 2);
});
