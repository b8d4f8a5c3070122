/** The registry of slash commands: what a line means, and who may say it. */
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { slotValues } from '../../agent/commands/blueprint.ts';
import { completeLine } from '../../agent/commands/complete.ts';
import { dispatch } from '../../agent/commands/dispatch.ts';
import type { CommandHost, Surface } from '../../agent/commands/host.ts';
import { availableOn, commandWords, findCommand, registry } from '../../agent/commands/registry.ts';
import type { SkillBlueprint } from '../../agent/skills/blueprint.ts';

/** Answers of the host by method; a function gets the parameters. */
function hostOf(answers: Record<string, unknown> = {}, more: Partial<CommandHost> = {}): CommandHost & { calls: [string, unknown][] } {
  const calls: [string, unknown][] = [];
  const call = async (name: string, params: unknown): Promise<unknown> => {
    calls.push([name, params]);
    if (!(name in answers)) throw new Error(`${name} was not expected`);
    return answers[name];
  };
  return {
    calls,
    surface: 'cli',
    principal: { kind: 'owner' },
    session: { id: 'ses_1', title: null, platform: null },
    user: null,
    origin: null,
    busy: () => false,
    call: call as CommandHost['call'],
    askAgain: async () => null,
    startNew: async () => ({ sessionId: 'ses_2' }),
    findSession: () => undefined,
    sideAnswer: () => null,
    facts: () => ({ version: '1.2.3', profile: 'default', home: '/h', model: null, provider: null, scripted: false, cwd: '/', tools: 0 }),
    skillBlueprints: () => [],
    reloadEnv: () => 0,
    personalities: () => ({}),
    quickCommands: () => ({}),
    ...more,
  };
}

t.test('a beginning will do in any case; exact names and other names win; of several the first in order is meant', async (t) => {
  const meant = (word: string) => findCommand(word, availableOn('cli'))?.name;
  t.same(['model', 'MOD', 'q', 'bp', 'fork', 'st', 'sta', 'res', 'exit', 'ctx', 'reload', 'reload-m', 'reload_mcp', 'nothing'].map(meant), [
    'model',
    'model',
    'queue',
    'blueprint',
    'branch',
    'stop',
    'status',
    'resume',
    'quit',
    'context',
    'reload',
    'reload-mcp',
    'reload-mcp',
    undefined,
  ]);
});

t.test('every name and other name is there once; each command says what it does, and is run by somebody', async (t) => {
  const names = registry.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  t.equal(new Set(names).size, names.length);
  t.same(
    registry.filter(({ run, local }) => Boolean(run) === Boolean(local)).map(({ name }) => name),
    [],
  );
  t.same(
    registry.filter(({ summary }) => !/^[a-z].*[^.]$/.test(summary)).map(({ name }) => name),
    [],
  );
});

t.test('a path or a number is talk, an @name behind a command is dropped', async (t) => {
  t.same(
    ['/usr/bin/env', '/ 2', '/2', '//x', '/plan@bot tidy up', 'help'].map((line) => commandWords(line)),
    [undefined, undefined, undefined, undefined, { word: 'plan', args: 'tidy up' }, { word: 'help', args: '' }],
  );
});

t.test('what belongs to the owner of the machine is not for a chat', async (t) => {
  const surface: Surface = 'gateway';
  const principal = { kind: 'chat', platform: 'irc', scope: 'k' } as const;
  const inChat = availableOn(surface).map(({ name }) => name);
  t.same(
    ['yolo', 'reload', 'resume', 'sessions', 'history', 'memory', 'quit'].filter((name) => inChat.includes(name)),
    [],
  );
  for (const line of [
    '/yolo',
    '/config model.default',
    '/model x --global',
    '/reasoning high --global',
    '/reasoning hide',
    '/skills disable x',
    '/insights',
  ]) {
    const host = hostOf({}, { surface, principal });
    await t.rejects(dispatch(host, line), { code: /UNKNOWN_COMMAND|NOT_PERMITTED/ }, line);
    t.notOk(
      host.calls.some(([name]) => name === 'config.set' || name === 'skills.toggle'),
      `${line} changes nothing`,
    );
  }
  const owner = hostOf(
    { 'config.set': { value: 'high', scope: 'global', warning: null, info: null } },
    { surface, principal: { ...principal, kind: 'chat_owner' } },
  );
  await dispatch(owner, '/reasoning high --global');
  t.same(owner.calls, [['config.set', { key: 'reasoning', value: 'high', scope: 'global' }]], 'whom platforms.<p>.owners names may');
  const picks = hostOf({ 'config.set': { value: 'm', scope: 'session', warning: null, info: null } }, { surface, principal });
  await dispatch(picks, '/model m');
  t.same(picks.calls, [['config.set', { key: 'model', value: 'm --session' }]], 'a pick of a chat is its own');
});

t.test('while a turn runs, what would pull the rug from under it is refused', async (t) => {
  const host = hostOf({ 'session.interrupt': { status: 'interrupted' } }, { busy: () => true });
  for (const line of ['/undo', '/retry', '/compress']) await t.rejects(dispatch(host, line), { code: 'BUSY' }, line);
  t.match(await dispatch(host, '/stop'), { text: 'Stopped.' });
});

t.test('/compress knows here, --keep and a focus', async (t) => {
  const cases: [string, unknown][] = [
    ['/compress', {}],
    ['/compress here', { keep: 2 }],
    ['/compress here 5', { keep: 5 }],
    ['/compress HERE 5 the plan', { keep: 5, focus: 'the plan' }],
    ['/compress --keep 0', { keep: 0 }],
    ['/compress --keep=3', { keep: 3 }],
    ['/compress file names and decisions', { focus: 'file names and decisions' }],
  ];
  for (const [line, want] of cases) {
    const host = hostOf({
      'session.compress': { status: 'aborted', note: 'Nothing to gain.', removed: 0, before_tokens: 1, after_tokens: 1 },
    });
    await dispatch(host, line);
    t.same(host.calls, [['session.compress', want]], line);
  }
});

t.test('a skill is a command; an alias of the user stands for a line; one that runs a program is refused; none for ever', async (t) => {
  const quickCommands = () => ({
    review: { type: 'alias' as const, target: 'plan review' },
    loop: { type: 'alias' as const, target: '/loop' },
    disk: { type: 'exec' as const, command: 'df -h' },
  });
  const skills = [
    { name: 'Gardening', description: 'grows things', category: 'x', enabled: true, hidden_because: null, has_blueprint: false },
  ];
  const host = hostOf(
    { 'skills.list': { skills, problems: [] }, 'prompt.submit': { status: 'streaming', message_id: 7 } },
    { quickCommands },
  );
  t.match(await dispatch(host, '/gardening the roses'), { kind: 'prompt', messageId: 7 });
  t.match(host.calls.at(-1), ['prompt.submit', { text: /skill "Gardening"[\s\S]*the roses/ }]);
  await dispatch(host, '/review the fence');
  t.match(host.calls.at(-1), ['prompt.submit', { text: /Task: review the fence/ }]);
  await t.rejects(dispatch(host, '/disk'), { code: 'USAGE', message: /runs a program/ });
  await t.rejects(dispatch(host, '/loop'), { code: 'USAGE' });
  t.match((await completeLine(host, '/gar')).items, [{ text: '/Gardening ', label: '/Gardening' }]);
});

t.test('completion: names, fixed words, and lists of the host; a list that cannot be had offers nothing', async (t) => {
  const host = hostOf({
    'skills.list': { skills: [], problems: [] },
    'session.queue': { queued: [{ id: 1, text: 'first' }] },
    'model.options': {
      current: {},
      providers: [{ name: 'openai', usable: true, problem: null, models: [{ id: 'gpt-5' }] }],
      aliases: { fast: 'openai:gpt-5-mini' },
    },
  });
  const texts = async (line: string) => {
    const { replace_from, items } = await completeLine(host, line);
    return [replace_from, ...items.map(({ text }) => text)];
  };
  t.same(await texts('/vers'), [0, '/version']);
  t.same(await texts('/fast c'), [6, 'cold']);
  t.same(await texts('/queue '), [7, 'list', 'edit', 'rm', 'move', 'clear', 'add']);
  t.same(await texts('/queue rm '), [10, '1']);
  t.same(await texts('/model g'), [7, 'openai:gpt-5']);
  t.same(await texts('/model x --reasoning hi'), [21, 'high']);
  t.same(await texts('/cron rm '), [9]);
  t.same(await texts('hello'), [5]);
});

t.test('values of a blueprint: quotes, and words that go on with the last one', async (t) => {
  t.same(slotValues('what="a \\"b\\" c" when=2h'), { what: 'a "b" c', when: '2h' });
  t.same(slotValues('what=feed the cat when=30m'), { what: 'feed the cat', when: '30m' });
  t.throws(() => slotValues('feed'), { code: 'USAGE' });
});

const asked = { help: null, optional: false, options: [] };
const tea = {
  key: 'tea',
  title: 'Tea',
  description: 'Says that it is ready.',
  fields: [
    { ...asked, name: 'what', label: 'Which tea?', default: null },
    {
      ...asked,
      name: 'days',
      label: 'When?',
      default: 'day',
      options: ['weekday', 'day'].map((value) => ({ value, label: `every ${value}` })),
    },
    { ...asked, name: 'schedule', label: 'Another schedule', default: null, optional: true },
    { ...asked, name: 'deliver', label: 'Where to?', default: 'local' },
  ],
};
const job = { id: 'job_1', name: 'Tea', schedule: { display: '5m' }, next_run_at: null };
const news: SkillBlueprint = {
  skill: 'news',
  description: 'Reads the news.',
  blueprint: {
    key: 'news',
    title: 'News',
    schedule: 'every {days} at {at}',
    prompt: 'News of {topic}',
    slots: {
      at: { kind: 'time', default: '07:30' },
      days: { kind: 'weekdays', default: ['mon', 'tue', 'wed', 'thu', 'fri'] },
      topic: { kind: 'enum', default: 'tea', options: ['tea', 'cats'], label: 'Of what?' },
    },
  },
};
const offering = (more: Partial<CommandHost> = {}, preview: unknown = { name: 'Tea' }) =>
  hostOf(
    {
      'cron.blueprints': { blueprints: [tea] },
      'cron.blueprints.preview': preview,
      'cron.blueprints.instantiate': { job },
      'cron.create': { job },
    },
    { skillBlueprints: () => [news], ...more },
  );

t.test('blueprints of the cron worker and of skills stand in one list; a skill may put its own in the place of one', async (t) => {
  const keys = async (host: CommandHost) =>
    ((await dispatch(host, '/bp')).data as { blueprints: { key: string; skill: string | null }[] }).blueprints;
  t.match(await keys(offering()), [
    { key: 'tea', skill: null },
    { key: 'news', skill: 'news' },
  ]);
  const own = offering({ skillBlueprints: () => [{ ...news, blueprint: { ...news.blueprint, key: 'tea' } }] });
  t.match(await keys(own), [{ key: 'tea', skill: 'news' }]);
  t.same((await keys(own)).length, 1);
  const texts = async (line: string) => (await completeLine(offering(), line)).items.map(({ text }) => text);
  t.same(await texts('/bp '), ['tea', 'news']);
  t.same(await texts('/bp tea what=x '), ['days=', 'schedule=', 'deliver=']);
});

t.test('a blueprint is asked for field by field, its default first; what the cron worker refuses is asked again', async (t) => {
  const host = offering();
  t.match(await dispatch(host, '/bp tea'), { kind: 'choice', text: 'Tea: Which tea?', args: '/blueprint tea what=', choices: [] });
  const second = await dispatch(host, '/bp tea what="green one" ...');
  t.same(second.choices, [
    { label: 'every day', line: '/blueprint tea what="green one" days=day' },
    { label: 'every weekday', line: '/blueprint tea what="green one" days=weekday' },
  ]);
  await dispatch(offering({ origin: 'irc:#room' }), second.choices![0]!.line);
  const errors = [{ path: 'values.days', message: 'one of day, weekday' }];
  const refusing = offering({
    call: async (name: string, params: unknown) => {
      if (name === 'cron.blueprints.preview') throw new AgentError('INVALID_PARAMS', 'no', { facts: { errors } });
      return offering().call(name as never, params as never);
    },
  });
  t.match(await dispatch(refusing, '/bp tea what=x days=never ...'), {
    kind: 'choice',
    text: '“never” will not do: one of day, weekday\nTea: When?',
    args: '/blueprint tea what=x days=',
  });
});

t.test('the cron worker makes the job of a blueprint, and its result goes where it was asked for', async (t) => {
  const made = async (line: string, more: Partial<CommandHost> = {}) => {
    const host = offering(more);
    t.match(await dispatch(host, line), { kind: 'text', text: 'Made the job “Tea” (job_1): 5m. /cron lists it.' });
    return host.calls.at(-1);
  };
  const values = { what: 'x', schedule: '5m' };
  t.same(await made('/bp tea what=x schedule=5m'), ['cron.blueprints.instantiate', { blueprint: 'tea', values }]);
  t.same(await made('/bp tea what=x schedule=5m', { origin: 'irc:#room' }), [
    'cron.blueprints.instantiate',
    { blueprint: 'tea', values: { deliver: 'irc:#room', ...values } },
  ]);
  t.same(await made('/bp news topic=cats'), [
    'cron.create',
    { name: 'News', schedule: 'every weekday at 07:30', prompt: 'News of cats', deliver: 'local' },
  ]);
  t.same(await made('/bp news days=mon,sat at=18:00'), [
    'cron.create',
    { name: 'News', schedule: 'every mon,sat at 18:00', prompt: 'News of tea', deliver: 'local' },
  ]);
  t.match(await made('/bp news schedule="every 2h"'), ['cron.create', { schedule: 'every 2h' }]);
});

t.test('with the cron worker down, /blueprint says what to start', async (t) => {
  const down = new AgentError('PEER_UNREACHABLE', 'the cron worker does not answer', { fix: 'agent start cron' });
  const host = offering({ call: () => Promise.reject(down) });
  await t.rejects(dispatch(host, '/bp'), { code: 'PEER_UNREACHABLE', fix: /agent start cron/ });
  t.same((await completeLine(host, '/bp t')).items, []);
});
